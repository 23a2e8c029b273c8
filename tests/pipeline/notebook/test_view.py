"""What is drawn of a stream, again and again."""

from __future__ import annotations

import time

import pytest

from operators import Event, ReasoningDelta, Restarted, Retrying, RoundStarted, TextDelta, ToolCall, ToolResult
from pipeline.notebook import _view
from pipeline.notebook._view import View
from pipeline.plots import Timed
from tests.pipeline.notebook.cells import Cells, Shown


def drawn(cells: Cells, events: list[Event], *, every: int = 1) -> list[Shown]:
    """What a cell shows of these, when a frame is drawn after `every` so many."""

    def go() -> View:
        view = View(reasoning=True, live=True)
        for number, event in enumerate(events, 1):
            view.add(Timed(number / 100, event))
            if number % every == 0:
                view._draw()
        view.end(None, "")
        return view

    shown = cells.run("view = go()", go=go)
    [whole] = cells.run("display(view.bundle(), raw=True)")
    words = "".join(event.text for event in events if isinstance(event, TextDelta)).split()
    assert " ".join("\n".join(one.plain for one in shown).split()[: len(words)]) == " ".join(words)
    assert " ".join(whole.plain.split()[: len(words)]) == " ".join(words)
    return shown


@pytest.mark.parametrize("every", [2, 7, 60])
def test_a_long_answer_goes_on_in_another_output_and_nothing_of_it_is_lost(cells, every, monkeypatch):
    monkeypatch.setattr(_view, "LONG", 3000)
    pieces = [TextDelta(piece) for n in range(40) for piece in (f"Paragraph {n} ", "of *many* " * 20, "words\n\n")]
    shown = drawn(cells, [*pieces], every=every)
    assert len(shown) >= 3
    html = "".join(one.html for one in shown)
    assert [html.count(f"<p>Paragraph {n} ") for n in range(40)] == [1] * 40


def test_a_frame_costs_the_same_however_long_the_answer_is(cells, monkeypatch):
    monkeypatch.setattr(_view, "LONG", 2000)
    pieces: list[Event] = [TextDelta(f"Paragraph {n} " + "of *many* words " * 10 + "\n\n") for n in range(100)]
    drawn(cells, pieces)
    sizes = [
        len(message["content"]["data"]["text/html"])
        for message in cells.messages
        if message["msg_type"] == "update_display_data"
    ]
    assert max(sizes, default=0) < 2 * _view.LONG


def test_one_block_that_grows_without_end_is_still_whole(cells):
    code = ["```python\n", *(f"line_{n} = {n}\n" for n in range(3000)), "```\n", "Done."]
    html = "".join(one.html for one in drawn(cells, [TextDelta(piece) for piece in code], every=200))
    assert "line_0 = 0\n" in html
    assert "line_2999 = 2999\n" in html
    assert html.count("<pre ") == 1
    assert "<p>Done.</p>" in html


def test_what_came_before_a_restart_is_crossed_out(cells):
    before: list[Event] = [TextDelta("wrong way"), Retrying(2, 0.5, "it broke"), Restarted(), TextDelta("right")]
    [shown] = cells.run("go()", go=lambda: _ended(before))
    assert "line-through" in shown.html
    assert shown.html.index("wrong way") < shown.html.index("began anew") < shown.html.index("<p>right</p>")
    assert "Attempt 2 in 0.5 s, because of: it broke" in shown.plain


def test_only_the_end_of_reasoning_that_still_grows_is_drawn_but_all_of_it_at_last(cells):
    thought = "".join(f"thought {n} " for n in range(1000))

    def go() -> None:
        view = View(reasoning=True, live=True)
        view.add(Timed(0, ReasoningDelta(thought)))
        view._draw()
        view.end(None, "")

    [shown] = cells.run("go()", go=go)
    [first] = [message for message in cells.messages if message["msg_type"] == "display_data"]
    live = first["content"]["data"]["text/html"]
    assert "thought 999" in live
    assert "thought 1 " not in live
    assert " open>" in live
    assert "thought 1 " in shown.html
    assert "thought 999" in shown.html


def test_a_silence_is_told(cells, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    view = View(reasoning=True, live=False)
    view.add(Timed(0, TextDelta("some")))
    now[0] += 1
    assert "nothing for" not in view.bundle()["text/plain"]
    now[0] += 4
    assert view.bundle()["text/plain"] == "some\n\n● · 5.0 s · ~1 token · nothing for 5 s"
    view.add(Timed(5, TextDelta(" more")))
    assert "nothing for" not in view.bundle()["text/plain"]


def test_blocks_that_are_over_stay_above_and_a_call_stands_above_its_result(cells, monkeypatch):
    monkeypatch.setattr(_view, "LONG", 500)
    call = ToolCall(key=0, index=0, id="a", name="find", arguments='{"q": "x"}', complete=True)
    events: list[Event] = [
        ReasoningDelta("thinking " * 100),
        TextDelta("before " * 100),
        call,
        ToolResult(call=call, content="found " * 100, error=None),
        RoundStarted(2),
        TextDelta("after " * 100),
    ]
    shown = cells.run("go()", go=lambda: _ended(events, live=True))
    html = "".join(one.html for one in shown)
    assert len(shown) >= 3
    assert [html.count(word) for word in ("thinking", "before", "found", "after", ">find<", "Round 2")] == [100] * 4 + [
        1,
        1,
    ]
    places = [html.index(word) for word in ("thinking", "before", ">find<", "found", "Round 2", "after")]
    assert places == sorted(places)


def _ended(events: list[Event], *, live: bool = False) -> None:
    view = View(reasoning=True, live=live)
    for event in events:
        view.add(Timed(0, event))
        if live:
            view._draw()
    view.end(None, "")
