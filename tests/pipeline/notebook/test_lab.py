"""A real JupyterLab in a real browser: live text, interrupt, Stop, the timeline, and a model that is hostile."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.pipeline.notebook.hostile import ATTACKS
from tests.pipeline.wire import DONE, Call, Script, WireServer, event, text
from tests.support.timing import LONG

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SETUP = """
import httpx
from pipeline import Retry, completion, show
from pipeline.notebook import timeline
body = {{"model": "m", "messages": [{{"role": "user", "content": "hi"}}]}}
options = dict(base_url={url!r}, api_key="", retry=Retry(attempts=1))
client = httpx.AsyncClient()
"""
SYNC = "answer = show(completion(body, **options))\nprint('went ' + 'on')"
ASYNC = "answer = await show(completion(body, client=client, **options))\nprint('went ' + 'on')"
CELLS = {
    "setup": SETUP,
    "sync": SYNC,
    "async": ASYNC,
    "live": "answer = show(completion(body, **options), timeline=True)",
    "timeline": "timeline(answer)",
    "again": "answer",
}
NUMBERS = {name: number for number, name in enumerate(CELLS)}
BOTH = pytest.mark.parametrize("shown", [NUMBERS["sync"], NUMBERS["async"]], ids=["sync", "async"])


class Stage(NamedTuple):
    """A notebook that is open, and the server that its cells ask: it does what the test says."""

    page: Any
    server: WireServer

    def plays(self, script: Script) -> None:
        self.server.gone.clear()
        self.server.scripts = (script,)

    def run(self, name: str) -> Any:
        return self.page.run(NUMBERS[name])

    def ran(self, name: str) -> Any:
        return self.page.ran(NUMBERS[name])


@pytest.fixture(scope="module")
def stage(chromium, tmp_path_factory) -> Iterator[Stage]:
    """One page for all tests: to open JupyterLab takes longer than most of them."""
    from tests.pipeline.notebook.lab import Page, browser, jupyterlab

    root = tmp_path_factory.mktemp("lab")
    with WireServer(hanging) as server, jupyterlab(root) as lab, browser(chromium) as running:
        cells = [cell.format(url=server.url) if cell is SETUP else cell for cell in CELLS.values()]
        page = Page(running, lab, lab.write("a.ipynb", *cells))
        page.ran(0)
        yield Stage(page, server)
        assert page.elsewhere == []
        assert page.dialogs == []


class Held:
    """Says half of an answer, and the rest when it is let go, or nothing more."""

    def __init__(self) -> None:
        self.free = threading.Event()

    def __call__(self, call: Call) -> None:
        call.head()
        call.send(text("Half of **it**"))
        if self.free.wait(LONG):
            call.send(text(", and all", "stop"), DONE)
            call.end()


def hanging(call: Call) -> None:
    """Hangs for as long as a browser may take to come by a button."""
    call.head()
    call.send(text("Half of **it**"))
    for _ in range(6):
        with contextlib.suppress(AssertionError):
            return call.until_gone()
    raise AssertionError("the client has not left")


@BOTH
def test_text_is_seen_while_its_cell_runs(stage, shown):
    held = Held()
    stage.plays(held)
    cell = stage.page.run(shown)
    cell.locator("strong", has_text="it").wait_for()
    assert "[*]" in cell.locator(".jp-InputPrompt").inner_text()
    held.free.set()
    stage.page.over(shown)
    cell.get_by_text("Half of it, and all").wait_for()
    cell.get_by_text("went on").wait_for()


@BOTH
def test_the_interrupt_button_closes_the_connection(stage, shown):
    stage.plays(hanging)
    cell = stage.page.run(shown)
    cell.locator("strong", has_text="it").wait_for()
    stage.page.interrupt()
    cell.get_by_text("✂ interrupted").wait_for()
    assert stage.server.gone.wait(LONG)
    stage.page.over(shown)
    assert cell.get_by_text("Half of it").count() == 1
    assert cell.get_by_text("went on").count() == 0


@BOTH
def test_the_stop_button_closes_the_connection_and_the_cell_goes_on(stage, shown):
    stage.plays(hanging)
    cell = stage.page.run(shown)
    button = cell.get_by_role("button", name="Stop")
    button.wait_for()
    button.press("Enter")  # which JupyterLab would take for itself
    cell.get_by_text("✂ stopped").wait_for()
    assert stage.server.gone.wait(LONG)
    cell.get_by_text("went on").wait_for()
    assert button.count() == 0


def test_the_timeline_tells_what_is_under_the_pointer_and_plays_again(stage):
    words = [text(f"word{number} ") for number in range(20)]
    stage.plays(lambda call: call.answer(*words, text(None, "stop"), DONE))
    stage.ran("sync")
    cell = stage.ran("timeline")
    clock, panel = cell.locator(".rxchat-clock"), cell.locator(".rxchat-panel")
    count = 22  # Started, twenty words, Finish
    clock.get_by_text(f"{count} of {count} · Finish").wait_for()
    assert "word0 word1" in panel.inner_text()
    assert cell.locator(".jp-RenderedSVG").count() == 1  # the picture that stays when there is no kernel
    assert not cell.locator(".jp-RenderedSVG").is_visible()

    slider = cell.locator(".rxchat-range")
    slider.press("Home")
    clock.get_by_text(f"1 of {count} · Started").wait_for()
    assert "word" not in panel.inner_text()
    slider.press("ArrowRight")
    clock.get_by_text(f"2 of {count} · TextDelta").wait_for()
    assert "word0" in panel.inner_text()
    assert "word1" not in panel.inner_text()

    canvas, tip = cell.locator("canvas"), cell.locator(".rxchat-tip")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert "TextDelta" in hovered(stage.page, box, 39, tip)  # the second lane
    stage.page.page.mouse.move(box["x"] + 20, box["y"] + 39)
    assert not tip.is_visible()

    cell.get_by_role("button", name="Replay").click()
    clock.get_by_text(f"{count} of {count}").wait_for()
    cell.get_by_role("button", name="Replay").wait_for()
    stage.page.page.mouse.click(box["x"] + 140, box["y"] + 13)
    clock.get_by_text(f"1 of {count} · Started").wait_for()


def hovered(page: Any, box: Any, y: float, tip: Any) -> str:
    """What is told on a lane; its marks are looked for from left to right."""
    for x in range(134, int(box["width"]), 6):
        page.page.mouse.move(box["x"] + x, box["y"] + y)
        if tip.is_visible():
            return str(tip.inner_text())
    return ""


def test_a_timeline_is_drawn_while_a_stream_runs_and_its_picture_stays(stage):
    held = Held()
    stage.plays(held)
    cell = stage.run("live")
    cell.locator(".rxchat-panel").get_by_text("Half of").wait_for()
    assert "[*]" in cell.locator(".jp-InputPrompt").inner_text()
    held.free.set()
    stage.page.over(NUMBERS["live"])
    cell.locator(".jp-RenderedSVG").wait_for()
    assert cell.locator("canvas").count() == 0


def test_whatever_a_model_says_runs_nothing_and_loads_nothing(stage):
    attack = "\n\n".join(ATTACKS)

    def script(call: Call) -> None:
        def delta(**said: Any) -> bytes:
            return event({"id": "c1", "model": attack, "choices": [{"index": 0, "delta": said}]})

        function = {"name": "<img src=x onerror=window.hit=1>", "arguments": attack}
        call.answer(
            delta(reasoning_content=attack),
            *(delta(content=one + "\n\n") for one in ATTACKS),
            delta(tool_calls=[{"index": 0, "id": "a", "type": "function", "function": function}]),
            text(None, "stop"),
            DONE,
        )

    stage.plays(script)
    stage.ran("live")
    cell = stage.ran("timeline")
    cell.locator(".rxchat-panel").get_by_text("<script>").first.wait_for()
    canvas, tip = cell.locator("canvas"), cell.locator(".rxchat-tip")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    told = [hovered(stage.page, box, lane, tip) for lane in (39, 65, 91)]
    assert any("<script>" in said for said in told)

    again = stage.ran("again")
    again.locator("summary").first.click()
    again.get_by_text("<script>window.hit=1</script>").first.wait_for()
    for outputs in (again.locator(".jp-OutputArea-output"), cell.locator(".jp-OutputArea-output")):
        loading = "script, iframe, object, embed, form, svg, style, img:not([src^='data:image/svg'])"
        assert outputs.locator(loading).count() == 0
        assert outputs.locator("mjx-container, .MathJax").count() == 0
        for link in outputs.locator("a").all():
            assert (link.get_attribute("href") or "").lower().startswith(("http://", "https://", "mailto:"))
    assert stage.page.page.evaluate("[typeof window.hit, window.frames.length]") == ["undefined", 0]


def test_a_saved_notebook_reads_well_when_it_is_opened_again(stage):
    stage.plays(lambda call: call.answer(text("Half of **it**"), text(", and all", "stop"), DONE))
    stage.ran("sync")
    stage.ran("timeline").locator("canvas").wait_for()
    stage.page.save()
    again = stage.page.reopened()
    again.cell(NUMBERS["sync"]).get_by_text("Half of it, and all").wait_for()
    again.cell(NUMBERS["timeline"]).locator(".jp-RenderedSVG").wait_for()
    again.close()
