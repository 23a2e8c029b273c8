"""The live view, looked at through a terminal emulator: what is on the screen at a moment, and what stays."""

import gc
import io
import re
import threading
from importlib.resources import files

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from operators import (
    ApiError,
    AudioDelta,
    Conversation,
    Event,
    Finish,
    Gap,
    HttpError,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Retrying,
    RoundStarted,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    Unknown,
    Usage,
)
from pipeline import decode, replay
from pipeline.sinks import console
from pipeline.sinks._live import LiveConsole
from pipeline.sinks._plain import PlainConsole
from pipeline.sinks._tally import Prices
from tests.pipeline.sinks._terminal import Emulated, View
from tests.support.timing import wait_until, wait_while

CALL = ToolCall(0, 0, "call_1", "now", "{}", complete=True)


def texts(text: str, size: int = 4) -> list[Event]:
    return [TextDelta(text[at : at + size]) for at in range(0, len(text), size)]


# ---------------------------------------------------------------------------------------------------- text


def test_the_open_block_grows_over_a_status_line() -> None:
    view = View()
    view.show(TextDelta("Hello "), TextDelta("**wor"))
    assert view.shown == ["Hello **wor", "", "0.2 s · ~2 tokens · ~10 tokens/s"]
    view.show(TextDelta("ld**"))
    assert view.shown == ["Hello world", "", "0.3 s · ~3 tokens · ~10 tokens/s"]
    assert view.end() == "Hello world\n\n0.10 s to first token · 0.3 s in all"


def test_what_is_done_scrolls_away_and_stays() -> None:
    view = View(rows=8)
    view.show(*texts("\n\n".join(f"Paragraph number {number}." for number in range(20))))
    assert len(view.shown) <= 8
    assert view.end().startswith("\n\n".join(f"Paragraph number {number}." for number in range(20)))


def test_words_are_not_broken() -> None:
    view = View(columns=20)
    assert view.show(*texts("These words are too long for one line of it.")).end().split("\n")[:3] == [
        "These words are too",
        "long for one line of",
        "it.",
    ]


def test_on_a_wide_terminal_lines_have_a_measure() -> None:
    view = View(columns=200)
    view.show(TextDelta("word " * 60))
    assert all(len(row) <= 100 for row in view.end().split("\n"))


def test_an_open_block_higher_than_the_screen_is_seen_from_below() -> None:
    view = View(rows=6)
    view.show(*(TextDelta(f"line {number}  \n") for number in range(30)))
    assert view.shown[:3] == ["line 27", "line 28", "line 29"]
    assert view.end().split("\n")[:30] == [f"line {number}" for number in range(30)]


def test_frames_are_coalesced() -> None:
    view = View()
    for number in range(5000):
        view.show(TextDelta(f"word{number} "), pace=0.001)
    frames = len(view.file.frames)
    assert frames <= 5 * 15 + 1
    view.end()
    assert "word4999" in view.text
    assert len(view.raw) < 4 * len("word1234 ") * 5000


def test_a_frame_that_shows_nothing_new_is_not_written() -> None:
    view = View(timed=False).show(TextDelta("a"))
    frames = len(view.file.frames)
    view.sink._tick()
    view.sink._tick()
    assert len(view.file.frames) <= frames + 1


def test_nothing_that_stands_is_erased_or_written_again() -> None:
    view = View().show(*texts("One two three four five six seven eight nine ten eleven twelve. " * 2), pace=1)
    view.tick(1)
    last = view.file.frames[-1]
    assert "twelve" not in last
    assert last.count("\x1b[2K") <= 1  # the status
    assert not re.search(r"\x1b\[\d*[JH]", view.raw)  # no screen is cleared, nor what stands below


def test_a_long_block_of_code_costs_what_is_new() -> None:
    view = View(rows=10)
    view.show(TextDelta("```python\n"))
    written = len(view.raw)
    costs = []
    for at in range(10, 50):
        view.show(TextDelta("".join(f"x{at}_{number} = {number}\n" for number in range(100))))
        costs.append(len(view.raw) - written)
        written = len(view.raw)
    assert max(costs[20:]) < 1.1 * max(costs[:20])
    lines = view.end().split("\n")
    assert lines[1:4001] == [f"x{at}_{number} = {number}" for at in range(10, 50) for number in range(100)]


def test_a_long_line_of_reasoning_is_broken_at_words() -> None:
    view = View().show(*[ReasoningDelta("word " * 100)] * 20, ReasoningDelta("x" * 5000))
    found = view.end().replace("┊", " ").split()
    assert found[:2000] == ["word"] * 2000
    assert "".join(found[2000:-8]).startswith("x" * 4990)


def test_a_result_that_waits_for_a_call_above_is_shown_below_it() -> None:
    view = View(columns=20).show(ToolCallDelta(0, name="a"), ToolCallDelta(1, name="b", arguments="{}"))
    assert view.shown[:4] == [
        "╭─ a ───────────────",
        "╰───────────────────",
        "╭─ b ───────────────",
        "╰───────────────────",
    ]
    view.show(ToolCallDelta(0, arguments="{}"), ToolResult(CALL, "12:00"))
    assert view.end().split("\n")[3:6] == ["╰───────────────────", "", "✓ now  12:00"]


def test_a_call_without_a_name_yet() -> None:
    assert View(columns=20).show(ToolCallDelta(0)).shown[0] == "╭─ … ───────────────"


# ---------------------------------------------------------------------------------------------------- the status line


def test_a_spinner_until_the_first_token() -> None:
    view = View()
    pictures = {view.tick(0.11).shown[0] for _ in range(20)}
    assert len({picture[0] for picture in pictures}) == 10
    assert all(re.fullmatch(r". waiting · \d\.\d s", picture) for picture in pictures)
    assert "⠙ waiting · 1.1 s" in View().tick(1.1).shown
    view.show(Started("a"), ReasoningDelta("Hm"))
    assert "waiting" not in view.shown[-1]


def test_a_stall_is_said() -> None:
    view = View().show(TextDelta("a")).tick(5)
    assert view.shown[-1][1:] == " nothing for 5 s · 5.1 s · ~1 token"
    assert view.show(TextDelta("b")).shown[-1].startswith("5.2 s")


def test_what_tools_run_is_said() -> None:
    call = ToolCallDelta(0, 0, "a", "now", "{}")
    view = View(timed=False).show(RoundStarted(1), call, Finish("tool_calls"), CALL).tick()
    assert view.shown[-1].endswith(" running now · ~1 token")
    view.show(ToolResult(CALL, "12:00")).tick()
    assert "running" not in view.shown[-1]
    assert "waiting" in view.show(RoundStarted(2)).tick().shown[-1]
    alone = View(timed=False).show(call, Finish("tool_calls"), CALL).tick()
    assert "running" not in alone.shown[-1]


def test_retrying_and_starting_again_are_waiting() -> None:
    view = View().show(Retrying(2, 1.5, "429: slow down, sk-abcdefgh")).tick()
    assert view.shown[0] == "retrying in 1.5 s, attempt 2: 429: slow down, ***"
    assert "retrying" in view.shown[-1]
    assert "waiting" in view.show(TextDelta("a"), Restarted()).tick().shown[-1]


def test_the_status_has_what_there_is_room_for() -> None:
    view = View(columns=40, prices=Prices(1, 2)).show(*texts("abcdefgh" * 100)).tick()
    assert all(len(row) <= 37 for row in view.shown[-1:])
    narrow = View(columns=5).tick(3.21)
    assert narrow.shown == ["⠹"]


def test_prices() -> None:
    view = View(prices=Prices(1, 2, "€")).show(*texts("abcdefgh"))
    assert view.shown[-1] == "0.2 s · ~2 tokens · ~10 tokens/s · ~€0.000004"
    view.show(Usage(500_000, 750_000), Finish("stop"))
    assert "750,000 tokens" in view.shown[-1]
    assert view.end().endswith("€2.00")


def test_no_footer() -> None:
    view = View(show_footer=False).show(TextDelta("a"), Finish("stop"))
    assert view.shown == ["a"]
    assert view.end() == "a"


def test_choices_that_wait_are_said() -> None:
    view = View(timed=False).show(Started(), TextDelta("a"), TextDelta("b", 1)).tick()
    assert view.shown[-1] == "~2 tokens · 1 more choice"
    assert "2 more choices" in view.show(TextDelta("c", 2)).tick().shown[-1]


# ---------------------------------------------------------------------------------------------------- everything else


def test_reasoning_is_dimmed_behind_a_bar() -> None:
    view = View(columns=20, timed=False).show(ReasoningDelta("\nI should think of it.\n\nSo"), TextDelta("Yes."))
    assert view.end() == "┊ I should think of\n┊ it.\n┊\n┊ So\n\nYes."
    assert "\x1b[2m┊ \x1b[0m\x1b[2mI should" in view.raw


def test_folded_reasoning_shows_its_end_then_how_long_it_was() -> None:
    view = View(show_reasoning="folded").show(*(ReasoningDelta(f"thought {number}\n") for number in range(9)))
    assert view.shown[:-1] == ["┊ thought 6", "┊ thought 7", "┊ thought 8", ""]
    assert "thinking" in view.shown[-1]
    view.show(TextDelta("So."))
    assert view.end().startswith("┊ thought for 0.9 s, 18 words\n\nSo.")
    view = View(show_reasoning="folded").show(ReasoningDelta(" "), ReasoningDelta("a b"), TextDelta("c"))
    assert view.end().startswith("┊ thought for 0.2 s, 2 words")
    one = View(show_reasoning="folded", timed=False).show(ReasoningDelta("Hm"), ReasoningDelta("m "), TextDelta("Ok"))
    assert one.end() == "┊ thought, 1 word\n\nOk"


def test_hidden_reasoning_is_thinking() -> None:
    view = View(show_reasoning=False).show(ReasoningDelta("secret")).tick()
    assert "thinking" in view.shown[-1]
    assert "secret" not in view.end()


def test_calls_are_panels_that_grow() -> None:
    view = View(columns=24)
    view.show(ToolCallDelta(0, 0, "a", "get_"), ToolCallDelta(0, name="weather"))
    assert view.shown[:2] == ["╭─ get_weather ─────────", "╰───────────────────────"]
    view.show(ToolCallDelta(0, arguments='{"city":"Par'))
    assert view.shown[:3] == ["╭─ get_weather ─────────", '│ city: "Par', "╰───────────────────────"]
    view.show(ToolCallDelta(0, arguments='is","days":3}'), Finish("tool_calls"))
    assert view.end().split("\n")[:4] == [
        "╭─ get_weather ─────────",
        '│ city: "Paris"',
        "│ days: 3",
        "╰───────────────────────",
    ]


def test_interleaved_calls_grow_side_by_side_and_stay_in_order() -> None:
    view = View(columns=20)
    view.show(ToolCallDelta(0, name="a"), ToolCallDelta(1, name="b"))
    for piece in ('{"x": "', "y", '"}'):
        view.show(ToolCallDelta(0, arguments=piece), ToolCallDelta(1, arguments=piece))
    panel = ['│ x: "y"', "╰───────────────────"]
    assert view.shown[:6] == ["╭─ a ───────────────", *panel, "╭─ b ───────────────", *panel]
    shown = view.shown[:6]
    assert view.end().split("\n")[:6] == shown


def test_a_call_that_was_cut_is_unfinished() -> None:
    view = View(columns=20, timed=False).show(ToolCallDelta(0, name="a", arguments='{"x": "y'), Finish("length"))
    assert view.end().split("\n")[:3] == ["╭─ a ───────────────", '│ x: "y', "╰─ unfinished"]
    assert View(columns=20, timed=False).show(ToolCallDelta(0, name="now")).end().split("\n") == [
        "╭─ now ─────────────",
        "╰───────────────────",
    ]


def test_a_call_that_comes_whole_is_shown_once() -> None:
    view = View(columns=20, timed=False).show(CALL, CALL, ToolResult(CALL, "x" * 500), ToolResult(CALL, "", "no"))
    text = view.end()
    assert text.startswith("╭─ now ─────────────\n╰───────────────────\n\n✓ now\n  xx")
    assert "… (500" in text
    assert text.endswith("\n✗ now  failed: no")


def test_calls_may_be_left_out() -> None:
    view = View(show_calls=False, timed=False)
    assert view.show(ToolCallDelta(0, name="a"), CALL, ToolResult(CALL, "x"), TextDelta("b")).end() == "b"


def test_a_conversation() -> None:
    view = View(timed=False)
    view.show(
        RoundStarted(1),
        Started("a"),
        TextDelta("Let me look."),
        ToolCallDelta(0, 0, "call_1", "now", "{}"),
        Finish("tool_calls"),
        Usage(10, 1, 11),
        CALL,
        ToolResult(CALL, "12:00"),
        RoundStarted(2),
        ToolCallDelta(0, 0, "call_2", "now", "{}"),
        TextDelta("It is noon."),
        Finish("stop"),
        Usage(20, 2, 22),
        Conversation([], Usage(30, 3, 33)),
    )
    rule = "─" * 53
    panel = f"╭─ now {rule}\n╰{'─' * 59}"
    assert view.end() == (
        f"Let me look.\n\n{panel}\n\n✓ now  12:00\n\n{panel}\n\nIt is noon.\n\nstop · 30 tokens in, 3 out"
    )


def test_several_choices_stay_readable() -> None:
    view = View(timed=False).show(Started(), Started(choice=1))
    for letter in "abc":
        view.show(TextDelta(letter, 0), TextDelta(letter.upper(), 1))
    view.show(Finish("stop", 0), Finish("length", 1))
    assert view.end() == "choice 0\n\nabc\n\nchoice 1\n\nABC\n\n0: stop, 1: length"


def test_what_is_said_of_the_stream() -> None:
    view = View(timed=False).show(
        TextDelta("Half"),
        Restarted(),
        TextDelta("Whole"),
        Gap(1234),
        TextDelta("end"),
        RefusalDelta("No."),
        Unknown({"x": 1}),
        Unknown(b"{oops"),
        ReasoningDelta(""),
        AudioDelta(transcript="Spoken."),
        AudioDelta(data="AAAA"),
    )
    assert view.end() == (
        "Half\n\nstarting again: what stands above is void\n\nWhole\n\n1,234 events left out here\n\nend\n\nNo.\n\n"
        "not decoded: b'{oops'\n\nSpoken."
    )


def test_an_error_stands_under_what_came_before() -> None:
    view = View(timed=False).show(TextDelta("Half an ans"), Finish("stop"))
    view.sink.on_error(HttpError("slow down", status=429, request_id="req_1"))
    assert view.text == "Half an ans\n\nerror: slow down (http, status 429, request id req_1)"
    timed = View().show(TextDelta("Half"), Usage(1, 2, 3))
    timed.sink.on_error(ApiError("no"))
    assert timed.text == "Half\n\nerror: no (api)\n\n1 token in, 2 out · 0.10 s to first token"


def test_leaving_is_said_once_and_keeps_what_came() -> None:
    view = View().show(TextDelta("Half"), TextDelta("waits", 1))
    view.sink.dispose()
    view.sink.dispose()
    view.sink.on_next(TextDelta("late"))
    assert view.text == "Half\n\nchoice 1\n\nwaits\n\ncancelled"
    assert view.file.screen.cursor.x == 0


def test_nothing_at_all() -> None:
    assert View().end() == ""


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("name", sorted(entry.name for entry in (files("pipeline.embedded") / "recorded").iterdir()))
def test_recorded_bodies(name: str, columns: int) -> None:
    view = View(columns, timed=False)
    body = (files("pipeline.embedded") / "recorded" / name).read_bytes()
    replay(body, 64).pipe(decode()).subscribe(view.sink)
    assert re.search(r"(stop|tool_calls) · \d+ tokens in, \d+ out$", view.text)
    assert "\n\n\n" not in view.text


# ---------------------------------------------------------------------------------------------------- terminals


@pytest.mark.parametrize(("columns", "rows"), [(40, 20), (100, 20), (60, 6), (25, 8), (60, 40)])
def test_a_resize_in_mid_stream_leaves_nothing_behind(columns: int, rows: int) -> None:
    view = View(rows=20, timed=False).show(TextDelta("First of all.\n\nSome words that stand in the open block, "))
    view.resize(columns, rows)
    view.show(TextDelta("and more of them.\n\nLast."), Finish("stop"))
    assert " ".join(view.end().split()) == (
        "First of all. Some words that stand in the open block, and more of them. Last. stop"
    )


@given(st.integers(1, 12), st.integers(1, 5))
def test_no_terminal_is_too_small(columns: int, rows: int) -> None:
    view = View(columns, rows)
    view.show(
        ReasoningDelta("Why not?"), *texts("# A\n\n- b\n\n| c | d |\n|---|---|\n| e | f |\n\n```x\ng\n```\n> h\n---\ni")
    )
    view.show(ToolCallDelta(0, name="a long name", arguments='{"a": [1, 2, 3]}'), CALL, ToolResult(CALL, "x"), Gap(3))
    view.sink.on_error(ApiError("no"))
    assert "error:no(api)" in "".join(view.text.split())


def test_no_color() -> None:
    view = View(environ={"NO_COLOR": "1"})
    view.show(*texts("# A `b`\n\n```python\ndef c(): 'x'\n```\n"), CALL, ToolResult(CALL, "x"), Retrying(2, 1, "y"))
    view.end()
    assert not re.search(r"\x1b\[[\d;]*\b(3\d|4\d|9\d)m", view.raw)
    plain = View()
    plain.console._color_system = None
    sink = LiveConsole(plain.console, ticks=False, clock=None)
    sink.on_next(TextDelta("**a** `b`"))
    sink.on_completed()
    assert not re.search(r"\x1b\[[\d;]*m", plain.raw)


def test_console_is_live_where_it_can_be() -> None:
    def made(file: io.StringIO, **options: object) -> type:
        given = {"force_terminal": True, "_environ": {}, "legacy_windows": False} | options
        sink = console(console=Console(file=file, **given))  # type: ignore[arg-type]
        sink.dispose()
        return type(sink)

    assert made(Emulated()) is LiveConsole
    assert made(Emulated(), _environ={"TERM": "dumb"}) is PlainConsole
    assert made(io.StringIO()) is PlainConsole  # colour may be forced into it, but it cannot go back

    class Latin(Emulated):
        encoding = "latin-1"

    assert made(Latin()) is PlainConsole
    assert isinstance(console(console=Console(file=Emulated(), force_terminal=True), live=False), PlainConsole)


def test_what_is_asked_for_is_what_is_shown() -> None:
    file = Emulated()
    paper = Console(file=file, force_terminal=True, width=60, height=20, _environ={}, legacy_windows=False)
    options = {"show_reasoning": False, "show_calls": False, "show_footer": False, "prices": (1, 2)}
    said: tuple[Event, ...] = (ReasoningDelta("Hm"), TextDelta("Hi"), CALL, Finish("stop"), Usage(1, 2))
    reactivex.of(*said).subscribe(console(console=paper, clock=None, **options))  # type: ignore[arg-type]
    assert file.text == "Hi"
    reactivex.of(*said).subscribe(console(console=paper, clock=None, prices=(1, 2, "€")))
    assert file.text.endswith("stop · 1 token in, 2 out · €0.000005")


# ---------------------------------------------------------------------------------------------------- threads


def tickers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "rxchat console"]


def live(file: io.StringIO | None = None) -> LiveConsole:
    paper = Console(
        file=file or Emulated(), force_terminal=True, width=60, height=20, _environ={}, legacy_windows=False
    )
    return LiveConsole(paper, reflows=False)


def test_the_spinner_turns_by_itself_and_ends_with_the_stream() -> None:
    file = Emulated()
    sink = live(file)
    wait_until(lambda: len(file.frames) >= 3)
    assert "waiting" in file.text
    sink.on_completed()
    assert not tickers()
    assert file.text == ""


@pytest.mark.parametrize("way", ["error", "dispose", "with", "raises"])
def test_it_ends_however_the_stream_ends(way: str) -> None:
    sink = live()
    if way == "error":
        sink.on_error(ApiError("no"))
    elif way == "dispose":
        sink.dispose()
    elif way == "with":
        with pytest.raises(KeyboardInterrupt), sink:
            raise KeyboardInterrupt
    else:
        sink._show = None  # type: ignore[assignment, method-assign]
        sink._turns._show = None  # type: ignore[assignment]
        with pytest.raises(TypeError):
            sink.on_next(TextDelta("a"))
    assert not tickers()
    assert sink.is_stopped


def test_it_ends_when_nobody_holds_the_sink() -> None:
    file = Emulated()
    sink = live(file)
    sink.on_next(TextDelta("a"))
    del sink
    gc.collect()
    wait_while(tickers)


def test_it_ends_when_an_interpreter_has_shown_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = live()
    monkeypatch.setattr("sys.last_value", KeyboardInterrupt(), raising=False)
    wait_while(tickers)
    assert not sink.is_stopped


def test_what_the_terminal_raises_reaches_the_producer() -> None:
    class Gone(Emulated):
        def write(self, text: str) -> int:
            raise OSError(5, "the terminal has gone")

    sink = live(Gone())
    wait_while(tickers)
    with pytest.raises(OSError, match="gone"):
        sink.on_next(TextDelta("a"))
    assert sink.is_stopped


def test_a_tick_after_the_end_does_nothing() -> None:
    view = View().show(TextDelta("a"))
    view.end()
    frames = len(view.file.frames)
    assert view.sink._tick() is False
    assert len(view.file.frames) == frames


# ---------------------------------------------------------------------------------------------------- hostile output

HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m[red]x[/red][link=http://evil]y[/link]:smile:\u202eabc\x08\x08\rover\x00\x1b"
    "[z](javascript:alert) [w](https://x/\x1b]8;;) &#27;[2J &#x202e;rtl &#13;cr ![i](data:x)\n```\x1b[2J\n\x1b[2J\n```\n"
)
OURS = re.compile(r"\x1b\[(?:[\d;]*m|2K|J|\d*A|\?2026[hl]|\?25[hl]|\?7[hl])|\r(?=\x1b|[^\n])")
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@given(
    st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n`*|>-#[]()&;\\\x1b\x9b")) | st.just(HOSTILE)
)
def test_nothing_a_model_says_is_obeyed(text: str) -> None:
    call = ToolCall(7, 7, text, text, text, complete=True)
    view = View(timed=False)
    view.show(
        Started(text, text, text),
        ReasoningDelta(text),
        TextDelta(text),
        RefusalDelta(text),
        ToolCallDelta(0, 0, text, text, text),
        ToolCallDelta(1, 1, text, text, f'{{"{text}": "{text}"'),
        call,
        ToolResult(call, text),
        ToolResult(call, text, text),
        Retrying(2, 1.0, text),
        Finish(text),
    )
    view.sink.on_error(ApiError(text, code=text))
    for frame in view.file.frames:
        assert not UNSAFE.search(OURS.sub("", frame)), frame


def test_no_link_is_hidden() -> None:
    view = View(timed=False).show(TextDelta("[bank](https://evil.example) <https://x.y> [j](javascript:alert)"))
    assert view.end() == "bank (https://evil.example) https://x.y\n[j](javascript:alert)"
    assert "\x1b]" not in view.raw
