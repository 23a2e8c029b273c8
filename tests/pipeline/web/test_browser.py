"""The page in a real Chromium: what a reader sees, and what a hostile answer cannot do."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from operators import (
    ApiError,
    Finish,
    ReasoningDelta,
    Retrying,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    Usage,
)
from pipeline.sinks._visible import visible
from pipeline.web import Page, WebSink
from tests.support.timing import SOON

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
CALL = ToolCall(0, 0, "call_1", "get_weather", '{"city": "Paris", "days": [1, 2]}', complete=True)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """A tab of the browser, and all that it must not do."""

    def __init__(self, browser: Any, url: str, **options: Any) -> None:
        self.context = browser.new_context(**({"viewport": {"width": 1200, "height": 800}} | options))
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * SOON)
        self.wrong: list[str] = []
        origin = "http://" + urlsplit(url).netloc
        self.listens = True
        self.page.on("dialog", self._met)
        self.page.on("pageerror", lambda error: self._note("error", error))
        self.page.on("console", lambda said: self._note("console", said.text) if self.listens else None)
        self.page.on(
            "request", lambda asked: None if asked.url.startswith(origin) else self._note("request", asked.url)
        )
        self.context.on("page", lambda opened: self._note("page", opened.url))
        self.page.goto(url)

    def _note(self, what: str, which: object) -> None:
        self.wrong.append(f"{what}: {which}")

    def _met(self, dialog: Any) -> None:
        self._note("dialog", dialog.message)
        dialog.dismiss()

    def sees(self, where: str, text: str) -> None:
        """Wait until it does."""
        self.page.wait_for_function(
            "([where, text]) => document.querySelector(where)?.textContent.includes(text)", arg=[where, text]
        )

    def text(self, where: str) -> str:
        found: str = self.page.inner_text(where)
        return found

    def asks(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


@pytest.fixture
def tab(browser: Any, page: Page, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Opens tabs; at the end none of them has done what it must not."""
    opened: list[Tab] = []

    def make(inside: str = "", *, url: str = "", **options: Any) -> Tab:
        opened.append(Tab(browser, (url or page.url) + inside, **options))
        return opened[-1]

    yield make
    wrong = [what for one in opened for what in one.wrong]
    for one in opened:
        one.context.close()
    assert wrong == []


def say(sink: WebSink, text: str) -> None:
    for word in re.findall(r"\s*\S+\s*", text):
        sink.on_next(TextDelta(word))


# ------------------------------------------------------------------------------------------------------------ streaming


def test_all_of_a_stream_appears_while_it_runs(page: Page, tab: Any) -> None:
    one = tab()
    one.sees("#connection", "Live")
    sink = page.sink("a question")
    sink.on_next(Started("id", "gpt-x"))
    one.sees("#title", "a question · gpt-x")
    sink.on_next(ReasoningDelta("Let me think."))
    one.sees("#answer .reasoning", "Let me think.")
    sink.on_next(ToolCallDelta(0, 0, "call_1", "get_weather", '{"city": "Pa'))
    one.sees("#answer .call .name", "get_weather")
    one.sees("#answer .call .body", '{\n  "city": "Pa')
    sink.on_next(ToolCallDelta(0, arguments='ris", "days": [1, 2]}'))
    one.sees("#answer .call .body", '"days": [\n    1,\n    2\n  ]\n}')
    one.sees("#answer .call .state", "growing")
    sink.on_next(CALL)
    one.sees("#answer .call .state", "complete")
    sink.on_next(ToolResult(CALL, "sunny"))
    one.sees("#answer .call .result", "sunny")
    for word in ("It ", "is **sun", "ny** ", "today."):
        sink.on_next(TextDelta(word))
    one.sees("#answer", "It is sunny today.")
    assert one.text("#answer strong") == "sunny"
    one.sees("#facts", "streaming")
    sink.on_next(Finish("stop"))
    sink.on_next(Usage(1234, 56, 1290))
    sink.on_completed()
    one.sees("#facts", "completed")
    one.sees("#facts", "1,234 in, 56 out")
    one.sees("#found", "12")
    assert "12 events · first token after" in one.text("#timeline-text")


def test_a_gap_that_goes_on_is_told_too(page: Page, tab: Any) -> None:
    page.sink("one").on_next(TextDelta("Hm"))
    one = tab()
    one.sees("#timeline-text", "nothing for ")
    assert "no gap" not in one.text("#timeline-text")


def test_retries_and_errors_are_said_plainly(page: Page, tab: Any) -> None:
    sink = page.sink("breaks")
    sink.on_next(Retrying(2, 0.5, "HTTP 503"))
    sink.on_next(TextDelta("Half an ans"))
    sink.on_error(ApiError("overloaded", code=529))
    one = tab()
    one.sees("#answer .error", "The stream broke: api · code 529")
    assert "Attempt 2 in 0.5 s, because of: HTTP 503" in one.text("#answer")
    assert "Half an ans" in one.text("#answer")
    assert "broken: api" in one.text("#facts")
    assert "1 retry" in one.text("#timeline-text")


def test_nothing_moves_while_a_stream_runs(page: Page, tab: Any) -> None:
    one = tab()
    one.sees("#connection", "Live")
    places = "[...document.querySelectorAll('#facts dd, #timeline, #answer-pane, #events-pane, #events, #streams')].map(e => { const r = e.getBoundingClientRect(); return [e.id, r.x, r.y, r.width, r.height].join(' '); })"
    before = one.asks(places)
    sink = page.sink("a question with a rather long title " * 5)
    for at in range(60):
        sink.on_next(TextDelta(f"paragraph {at} " * 20 + "\n\n"))
    one.sees("#answer", "paragraph 59")
    sink.on_next(Usage(1, 2, 3))
    sink.on_completed()
    one.sees("#facts", "completed")
    assert one.asks(places) == before
    at_end = "(b => b.scrollHeight - b.scrollTop - b.clientHeight < 40)(document.getElementById('answer'))"
    assert one.asks(at_end)


def test_who_scrolls_up_stays_there(page: Page, tab: Any) -> None:
    one = tab()
    sink = page.sink("long")
    say(sink, "word\n\n" * 200)
    one.sees("#found", "200")
    one.asks(
        "new Promise(done => { const box = document.getElementById('answer'); box.onscroll = done; box.scrollTop = 100; })"
    )
    say(sink, "more\n\n" * 200)
    one.sees("#found", "400")
    assert one.asks("document.getElementById('answer').scrollTop") == 100


def test_a_late_joiner_sees_the_whole_answer_and_then_what_comes(page: Page, tab: Any) -> None:
    sink = page.sink("one")
    said = " ".join(f"w{at}" for at in range(3000))
    say(sink, said)
    one = tab()
    one.sees("#answer", "w2999")
    assert one.asks("document.querySelector('#answer .body').textContent") == said
    sink.on_next(TextDelta(" and more"))
    one.sees("#answer", "w2999 and more")


# ---------------------------------------------------------------------------------------------------------- connections


class Wire:
    """A port that leads to the server, and can be cut."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._ends: list[socket.socket] = []
        self.whole = True
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                if not self.whole:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._to))
                self._ends += [near, far]
                threading.Thread(target=self._carry, args=(near, far), daemon=True).start()
                threading.Thread(target=self._carry, args=(far, near), daemon=True).start()

    def _carry(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                to.sendall(data)
        for end in (source, to):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        self.whole = False
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut()
        for end in (self._listening, *self._ends):
            end.close()


def test_a_connection_that_broke_is_made_again_and_nothing_is_lost_or_doubled(page: Page, tab: Any) -> None:
    url = urlsplit(page.url)
    wire = Wire(url.port or 0)
    sink = page.sink("one")
    sink.on_next(TextDelta("before 🌤 "))
    one = tab(url=f"http://127.0.0.1:{wire.port}{url.path}")
    one.sees("#answer", "before")
    one.listens = False  # the browser says on its console that it could not connect
    one.asks("document.querySelector('#answer .part').mark = 'the same element'")
    wire.cut()
    one.sees("#connection", "lost")
    sink.on_next(TextDelta("while away "))
    wire.whole = True
    one.sees("#connection", "Live")
    one.sees("#answer", "while away")
    sink.on_next(TextDelta("after"))
    one.sees("#answer", "after")
    assert one.text("#answer") == "before 🌤 while away after"
    assert one.text("#found") == "3"
    assert one.asks("document.querySelector('#answer .part').mark") == "the same element"
    wire.close()


def test_a_page_that_was_closed_says_so_and_keeps_what_it_has(page: Page, tab: Any) -> None:
    page.sink("one").on_next(TextDelta("kept"))
    one = tab()
    one.sees("#answer", "kept")
    page.close()
    one.sees("#connection", "Closed by the program")
    assert one.text("#answer") == "kept"


# -------------------------------------------------------------------------------------------------------------- hostile

HOSTILE = """<script>window.ran = 1; alert(1)</script>

<img src="http://evil.example/x.png" onerror="window.ran = 1"> ![a picture](http://evil.example/y.png)

[one](javascript:window.ran=1) [two](JaVaScRiPt:alert(1)) [three](data:text/html,<script>alert(1)</script>) [four](/x)
[five]( javascript:alert(1)) [six](<javascript:alert(1)>) <javascript:alert(1)> [seven](java&#115;cript:alert(1))

| <b>head</b> | `<i>code</i>` |
|---|---|
| <svg onload=alert(1)> | [x](javascript:alert(1)) |

- <iframe src="javascript:alert(1)"></iframe>

> <object data="javascript:alert(1)">

```html
<style>body { display: none }</style>
```

\x1b[31mred\x07 \u202egnp.exe\u202c \u2066isolated\u2069 back\rover nul\x00 end
"""


def test_a_hostile_answer_stays_text(page: Page, tab: Any) -> None:
    bad = '<img src=x onerror="window.ran=1">'
    sink = page.sink(f"title {bad}")
    sink.on_next(Started(bad, f"model {bad}", bad))
    sink.on_next(ReasoningDelta(HOSTILE))
    sink.on_next(TextDelta(HOSTILE))
    sink.on_next(ToolCallDelta(0, 0, f"id {bad}", f"name {bad}", json.dumps({bad: bad})))
    call = ToolCall(0, 0, bad, f"name {bad}", json.dumps({bad: bad}), complete=True)
    sink.on_next(ToolResult(call, f"result {bad}", f"error {bad}"))
    sink.on_next(Retrying(2, 1, f"retry {bad}"))
    sink.on_next(Finish(f"finish {bad}"))
    sink.on_error(ApiError(f"message {bad}", code=f"code {bad}"))
    one = tab()
    one.sees("#answer .error", f"message {bad}")
    for where, text in {
        "#title": f"title {bad} · model {bad}",
        "#facts": f"finish {bad}",
        "#answer .call .name": f"name {bad}",
        "#answer .result": f"error {bad}",
        "#answer .retry": f"retry {bad}",
        "#answer .error .label": f"code {bad}",
        "#answer .part": "<script>window.ran = 1; alert(1)</script>",
    }.items():
        assert text in one.text(where)
    one.press("e", "End", "Home", "ArrowDown")
    one.sees("#detail", "ReasoningDelta")
    one.press("m")
    one.sees("#answer .block.text .plain", "<script>window.ran = 1; alert(1)</script>")
    one.press("m")
    one.sees("#answer", "window.ran")
    for shown in ("␛[31mred␇ ⟨U+202E⟩gnp.exe⟨U+202C⟩ ⟨U+2066⟩isolated⟨U+2069⟩ back␍over nul␀ end",):
        assert shown in one.text("#answer .block.text")
    assert one.asks("window.ran") is None
    assert (
        one.asks("document.querySelectorAll('img, iframe, object, svg, style, script:not([src=\"main.js\"])').length")
        == 0
    )
    leading = one.asks("[...document.querySelectorAll('a')].map(link => [link.protocol, link.rel])")
    assert {protocol for protocol, _ in leading} <= {"http:", "https:"}
    assert {rel for _, rel in leading} <= {"noopener noreferrer nofollow"}
    assert "⟨" not in one.asks("document.body.dataset.pane")


def test_the_policy_runs_no_script_that_stands_in_the_page(page: Page, tab: Any) -> None:
    one = tab()
    one.listens = False
    refused = one.asks(
        """() => { try { document.getElementById('answer').innerHTML = '<b>x</b>'; return 'taken'; } catch (error) { return error.name; } }"""
    )
    assert refused == "TypeError"


def test_a_line_of_a_megabyte_and_ten_thousand_events_leave_the_page_quick(page: Page, tab: Any) -> None:
    sink = page.sink("much")
    for at in range(12_000):
        sink.on_next(TextDelta(f"w{at} "))
    one = tab()
    one.sees("#found", "10,000")
    one.asks(
        "window.slow = []; new PerformanceObserver(l => window.slow.push(...l.getEntries().map(e => e.duration))).observe({entryTypes: ['longtask']})"
    )
    for _ in range(20):
        sink.on_next(TextDelta("x" * 50_000))
        one.page.wait_for_timeout(20)
    sink.on_next(TextDelta(" the end"))
    one.sees("#answer", "the end")
    assert one.asks("document.getElementById('answer').textContent.length") > 1_000_000
    assert one.asks("document.getElementById('rows').childElementCount") < 100
    assert one.asks("document.querySelectorAll('*').length") < 1_500
    assert max(one.asks("window.slow"), default=0) < 1_000
    one.page.fill("#search", "w11999")
    one.sees("#found", "1 of 10,000")


# -------------------------------------------------------------------------------------------------- finding one's way


def test_several_streams_by_mouse_and_keys(page: Page, tab: Any) -> None:
    for name in ("one", "two", "three"):
        sink = page.sink(name)
        sink.on_next(TextDelta(f"answer {name}"))
    one = tab()
    one.sees("#answer", "answer three")
    assert one.text("#stream-list").split()[::4] == ["three", "two", "one"]
    one.press("j")
    one.sees("#answer", "answer two")
    one.press("j")
    one.sees("#answer", "answer one")
    one.press("j", "k")
    one.sees("#answer", "answer two")
    assert one.page.url.endswith("#stream-2")
    page.sink("four").on_next(TextDelta("answer four"))
    one.sees("#stream-list", "four")
    assert "answer two" in one.text("#answer")
    one.press("n")
    one.sees("#answer", "answer four")
    one.page.click("#stream-list button:has-text('one')")
    one.sees("#answer", "answer one")
    assert one.page.get_attribute("#stream-list button:has-text('one')", "aria-current") == "true"
    one.page.reload()
    one.sees("#answer", "answer one")
    one.page.check("#follow")
    one.sees("#answer", "answer four")


def test_filters_and_search(page: Page, tab: Any) -> None:
    sink = page.sink("one")
    sink.on_next(Started("id", "m"))
    for at in range(40):
        sink.on_next(ReasoningDelta(f"thought {at} "))
        sink.on_next(TextDelta(f"Word {at} "))
    one = tab()
    one.sees("#found", "81")
    chip = one.page.locator("#filters button", has_text="ReasoningDelta")
    chip.click()
    one.sees("#found", "41 of 81")
    assert chip.get_attribute("aria-pressed") == "false"
    sink.on_next(ReasoningDelta("unseen"))
    sink.on_next(TextDelta("seen"))
    one.sees("#found", "42 of 83")
    one.press("/")
    one.page.keyboard.type("word 3")
    one.sees("#found", "11 of 83")
    assert "Word 39" in one.text("#events")
    one.press("Escape")
    one.sees("#found", "42 of 83")
    chip.click()
    one.sees("#found", "83")


def test_what_is_found_is_there_at_once_without_an_empty_frame(page: Page, tab: Any) -> None:
    sink = page.sink("one")
    for at in range(400):
        sink.on_next(TextDelta(f"Word {at} "))
    one = tab()
    one.sees("#found", "400")
    shown = one.asks(
        """() => {
            const search = document.querySelector("#search");
            search.value = "word 39";
            search.dispatchEvent(new Event("input"));
            return document.querySelector("#rows").textContent;
        }"""
    )
    assert "Word 399" in shown
    assert "Word 398" in shown
    assert "Word 380" not in shown


def test_the_keys(page: Page, tab: Any) -> None:
    sink = page.sink("one")
    for word in ("*first*", " second"):
        sink.on_next(ReasoningDelta("thought"))
        sink.on_next(TextDelta(word))
    one = tab()
    one.sees("#found", "4")
    one.press("?")
    assert one.page.is_visible("#help")
    assert "next, previous stream" in one.text("#help")
    one.press("Escape")
    assert not one.page.is_visible("#help")
    one.press("e", "Home", "ArrowDown")
    one.sees("#detail", '"*first*"')
    chosen = one.page.get_attribute("#events", "aria-activedescendant")
    assert one.page.get_attribute(f"#{chosen}", "aria-selected") == "true"
    one.press("End")
    one.sees("#detail", '" second"')
    one.press("Escape")
    assert not one.page.is_visible("#detail")
    one.press("a")
    assert one.asks("document.activeElement.id") == "answer"
    assert one.page.locator("#answer em").count() == 1
    one.press("m")
    assert one.page.locator("#answer em").count() == 0
    one.press("m", "r")
    assert one.asks("[...document.querySelectorAll('details')].some(one => one.open)") is False


def test_the_order_of_focus_is_the_order_on_the_page_and_all_have_names(page: Page, tab: Any) -> None:
    page.sink("one").on_next(TextDelta("a"))
    one = tab()
    one.sees("#answer", "a")
    order = []
    for _ in range(10):
        one.press("Tab")
        order.append(one.asks("(e => e.id || e.textContent)(document.activeElement)"))
    assert order[:2] == ["help-button", "follow"]
    assert order[2].startswith("one")
    assert order[3:] == ["markdown", "reasoning", "answer", "search", "TextDelta 1", "events", order[-1]]
    nameless = one.asks(
        "[...document.querySelectorAll('button, input, [role], nav, main > section')].filter(e => !(e.textContent.trim() || e.labels?.length || e.ariaLabel || e.getAttribute('aria-labelledby'))).map(e => e.id)"
    )
    assert nameless == []


@pytest.mark.parametrize("width", [360, 1600])
def test_it_can_be_read_at_any_width(page: Page, tab: Any, width: int) -> None:
    sink = page.sink("a rather long title of a stream that does not fit")
    say(sink, "some words " * 100)
    sink.on_next(TextDelta("\n\n```\n" + "a long line of code " * 30 + "\n```\n\n" + "unbroken" * 100))
    one = tab(viewport={"width": width, "height": 740})
    one.sees("#answer", "unbroken")
    assert one.asks("document.documentElement.scrollWidth") <= width
    assert one.asks("(box => box.scrollWidth <= box.clientWidth)(document.getElementById('answer'))")
    assert one.page.is_visible("#events-pane") == (width == 1600)
    if width == 360:
        one.page.click("#tabs button:has-text('Events')")
        assert one.page.is_visible("#events-pane")
        assert not one.page.is_visible("#answer-pane")


def test_light_and_dark(page: Page, tab: Any) -> None:
    page.sink("one").on_next(TextDelta("a"))
    shades = {}
    for scheme in ("light", "dark"):
        one = tab(color_scheme=scheme)
        one.sees("#answer", "a")
        ground, text = one.asks("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
        shades[scheme] = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ground, text)]
    assert shades["light"][0] > 3 * shades["light"][1]
    assert 3 * shades["dark"][0] < shades["dark"][1]


# -------------------------------------------------------------------------------------------------- secrets, and modules


def test_no_secret_reaches_the_page(page: Page, tab: Any) -> None:
    key = "marked-key-4711"  # as the fixture has it in the environment
    sink = page.sink(f"asked with {key}")
    sink.on_next(Started("id", f"model {key}"))
    for piece in ("your key is mark", "ed-key", "-4711", ". "):
        sink.on_next(TextDelta(piece))
    for piece in ("your key is mark", "ed-key", "-4711", ". "):
        sink.on_next(ToolCallDelta(0, 0, "a", "f", piece))
    sink.on_next(ToolResult(CALL, f"tool saw {key}", f"failed with {key}"))
    sink.on_next(Retrying(2, 1, f"401 for Bearer {key}, sk-other-key-1234"))
    sink.on_error(ApiError(f"Incorrect API key provided: {key}", code=key, param=key))
    one = tab()
    one.sees("#answer .error", "Incorrect API key provided: ***")
    one.press("e", "Home")
    for _ in range(13):
        one.press("ArrowDown")
        assert key not in one.text("#detail")
    shown = one.page.content()
    assert "your key is ***************." in one.asks("document.querySelector('#answer .block.text').textContent")
    assert key not in shown
    assert "sk-other" not in shown
    told = one.asks(
        "fetch('updates').then(async answer => { const reader = answer.body.getReader(); let text = ''; while (!text.includes('Incorrect API key')) text += new TextDecoder().decode((await reader.read()).value); reader.cancel(); return text; })"
    )
    assert "your key is" in told
    assert key not in told


def test_what_is_made_visible_is_the_same_as_on_a_terminal(tab: Any) -> None:
    one = tab()
    codes = [*range(0xD800), *range(0xE000, 0x10000), 0x1F324, 0xE0041, 0x10FFFF]
    theirs = one.asks(
        "async codes => { const { visible } = await import('./visible.js'); return codes.filter(code => visible('a' + String.fromCodePoint(code) + 'b') !== 'a' + String.fromCodePoint(code) + 'b').map(code => [code, visible(String.fromCodePoint(code))]); }",
        codes,
    )
    ours = [[code, visible(chr(code))] for code in codes if visible(f"a{chr(code)}b") != f"a{chr(code)}b"]
    assert theirs == ours


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": []},
        [[], {}, [1, [2, {"a": {"b": None}}]]],
        {"text": 'a "quoted" \\ text: {not, [open]}', "n": -1.5e3, "t": True},
        "just a string",
        {"deep": [{"er": [{"still": "ü🌤"}]}]},
    ],
)
def test_arguments_that_come_in_pieces_look_as_those_that_came_whole(tab: Any, value: Any) -> None:
    one = tab()
    written, whole, verbatim = one.asks(
        """async value => {
            const { Pretty } = await import('./pretty.js');
            const made = (text) => { const pretty = new Pretty(); return [...text].map(piece => pretty.feed(piece)).join(''); };
            const json = JSON.stringify(value);
            return [made(json), JSON.stringify(JSON.parse(json), null, 2), made('plain {text, "as it" is}')];
        }""",
        value,
    )
    assert written == whole
    assert verbatim == 'plain {text, "as it" is}'


GROWING = r"""# Title with `code`

A *b* **c** ***d*** ~~e~~ snake_case_word 2 * 3 * 4 \*no\*
line two

1. one
2. two
   - nested

> quote
> more

```py
x = 1

# not a title
```
after
| a | b |
|---|:-:|
| 1 | `|` |

---

see https://example.org/a_b_c. And [l](https://x.example/y)

**open and `never closed [nor this](
"""


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_markdown_that_grows_becomes_what_it_would_have_been_at_once(tab: Any, size: int) -> None:
    one = tab()
    source = GROWING
    grown, whole = one.asks(
        """async ([source, size]) => {
            const { Markdown } = await import('./markdown.js');
            const grown = document.createElement('div'), whole = document.createElement('div');
            const growing = new Markdown(grown);
            for (let at = size; at < source.length + size; at += size) growing.update(source.slice(0, at));
            new Markdown(whole).update(source);
            return [grown.innerHTML, whole.innerHTML];
        }""",
        [source, size],
    )
    assert grown == whole
    for made in (
        "<h4>Title with <code>code</code></h4>",
        "A <em>b</em> <strong>c</strong> <strong><em>d</em></strong> <del>e</del> snake_case_word 2 * 3 * 4 *no*<br>line two",
        '<li>two<ul dir="auto"><li>nested</li></ul></li>',
        "<code>x = 1\n\n# not a title</code>",
        "https://example.org/a_b_c</a>. And",
        "**open and `never closed [nor this](",
    ):
        assert made in whole
