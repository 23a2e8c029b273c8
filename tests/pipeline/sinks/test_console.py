"""What a terminal gets, what a pipe gets, and what neither ever gets."""

import io
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
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
    tool_calls,
)
from pipeline import decode, replay
from pipeline.sinks import console
from pipeline.sinks._plain import PlainConsole


def stream(*events: Event) -> Observable[Event]:
    return reactivex.from_iterable(events)


ESCAPES = re.compile(r"\x1b\[[\d;]*m")
CALL = ToolCall(0, 0, "call_1", "now", "{}", complete=True)


def clock(*times: float) -> Callable[[], float]:
    """The given times, the last one for ever."""
    left = list(times)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


class Terminal:
    """A terminal of ours: what was written to it, with and without its styles."""

    def __init__(self, width: int = 80, **options: Any) -> None:
        self.file = io.StringIO()
        given: dict[str, Any] = {
            "force_terminal": True,
            "color_system": "standard",
            "_environ": {},
            "legacy_windows": False,
        }
        self.console = Console(file=self.file, width=width, **given | options)

    def sink(self, **options: Any) -> PlainConsole:
        sink = console(console=self.console, **{"clock": None} | options)
        assert isinstance(sink, PlainConsole)
        return sink

    def show(self, *events: Event, **options: Any) -> str:
        stream(*events).subscribe(self.sink(**options))
        return self.text

    @property
    def raw(self) -> str:
        return self.file.getvalue()

    @property
    def text(self) -> str:
        return ESCAPES.sub("", self.raw)


def piped(*events: Event, **options: Any) -> str:
    file = io.StringIO()
    stream(*events).subscribe(console(file, **{"clock": None} | options))
    return file.getvalue()


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


# ---------------------------------------------------------------------------------------------------- a terminal


def test_text_is_written_as_it_comes(terminal: Terminal) -> None:
    sink = terminal.sink()
    for upto, delta in enumerate(["It ", "is", " 21 °C", ".\n\n", "Sunny"]):
        sink.on_next(TextDelta(delta))
        assert terminal.text == "".join(["It ", "is", " 21 °C", ".\n\n", "Sunny"][: upto + 1])
    sink.on_completed()
    assert terminal.text.endswith("Sunny\n")


def test_it_is_flushed_as_it_comes() -> None:
    flushed: list[str] = []

    class File(io.StringIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    sink = console(File(), clock=None)
    sink.on_next(TextDelta("a"))
    sink.on_next(TextDelta("b"))
    assert flushed == ["a", "ab"]


def test_reasoning_is_dimmed_and_stands_apart(terminal: Terminal) -> None:
    text = terminal.show(ReasoningDelta("Hm.\n"), ReasoningDelta("So?"), TextDelta("\n\nYes."))
    assert text == "Hm.\nSo?\n\nYes.\n"
    assert "\x1b[2mHm." in terminal.raw
    assert "\x1b[2mSo?" in terminal.raw
    assert terminal.raw.endswith("Yes.\n")


def test_a_call_grows(terminal: Terminal) -> None:
    sink = terminal.sink()
    pieces = [("get_", ""), ("weather", ""), ("", '{"city"'), ("", ': "Paris"}')]
    seen = []
    for name, arguments in pieces:
        sink.on_next(ToolCallDelta(0, 0, "call_1", name, arguments))
        seen.append(terminal.text)
    assert seen == [
        "→ get_",
        "→ get_weather",
        '→ get_weather({"city"',
        '→ get_weather({"city": "Paris"}',
    ]
    sink.on_next(Finish("tool_calls"))
    sink.on_completed()
    assert terminal.text == '→ get_weather({"city": "Paris"})\n\ntool_calls\n'


def test_calls_stand_under_each_other_and_are_not_shown_twice(terminal: Terminal) -> None:
    events = (
        TextDelta("Let me look."),
        ToolCallDelta(0, 0, "a", "now"),
        ToolCallDelta(1, 1, "b", "add", '{"a":1}'),
        Finish("tool_calls"),
    )
    stream(*events).pipe(tool_calls()).subscribe(terminal.sink(show_footer=False))
    assert terminal.text == 'Let me look.\n\n→ now()\n→ add({"a":1})\n'


def test_blank_lines_are_not_doubled(terminal: Terminal) -> None:
    assert terminal.show(TextDelta("\n\na\n\n"), CALL, TextDelta("\n"), TextDelta("\nb\n")) == "a\n\n→ now({})\n\nb\n"


def test_a_call_that_comes_whole_is_shown(terminal: Terminal) -> None:
    assert terminal.show(CALL) == "→ now({})\n"


def test_a_conversation(terminal: Terminal) -> None:
    assert terminal.show(
        RoundStarted(1),
        Started("a"),
        ToolCallDelta(0, 0, "call_1", "now", "{}"),
        Finish("tool_calls"),
        Usage(10, 1, 11),
        CALL,
        ToolResult(CALL, "12:00"),
        ToolResult(CALL, "", "no such tool"),
        RoundStarted(2),
        TextDelta("It is noon."),
        Finish("stop"),
        Usage(20, 2, 22),
        Conversation([], Usage(30, 3, 33)),
    ) == ("→ now({})\n← now: 12:00\n← now failed: no such tool\n\nIt is noon.\n\nstop · 30 tokens in, 3 out\n")


def test_a_long_result_is_cut(terminal: Terminal) -> None:
    assert terminal.show(ToolResult(CALL, "x" * 12_345)) == f"← now: {'x' * 400}… (12,345 characters)\n"


def test_several_choices_stay_readable(terminal: Terminal) -> None:
    said: list[Event] = [Started(), Started(choice=1)]
    for letter in "abc":
        said += [TextDelta(letter, 0), TextDelta(letter.upper(), 1)]
    text = terminal.show(*said, Finish("stop", 0), Finish("length", 1))
    assert text == "[choice 0]\nabc\n\n[choice 1]\nABC\n\n0: stop, 1: length\n"


def test_what_is_said_of_the_stream_stands_on_lines_of_its_own(terminal: Terminal) -> None:
    assert terminal.show(
        Retrying(2, 1.5, "429: slow down, sk-abcdefgh"),
        TextDelta("Half"),
        Restarted(),
        TextDelta("Whole"),
        Gap(1234),
        TextDelta("end"),
        RefusalDelta("No."),
        Unknown({"x": 1}),
        Unknown(b"{oops\x1b"),
        AudioDelta(transcript="Spoken."),
        AudioDelta(data="AAAA"),
    ) == (
        "retrying in 1.5 s, attempt 2: 429: slow down, ***\n\nHalf\n\nstarting again: what stands above is void\n\n"
        "Whole\n\n1,234 events left out here\n\nend\n\nNo.\n\nnot decoded: b'{oops\\x1b'\n\nSpoken.\n"
    )


def test_an_error_is_shown_under_what_came_before() -> None:
    terminal = Terminal(width=40)
    sink = terminal.sink()
    sink.on_next(TextDelta("Half an ans"))
    sink.on_error(
        HttpError("slow down, my friend, and come again later", status=429, request_id="req_1", retry_after=5.0)
    )
    assert terminal.text == (
        "Half an ans\n\n"
        "error: slow down, my friend, and come\n"
        "again later (http, status 429, retry\n"
        "after 5.0, request id req_1)\n"
    )


def test_any_other_error_is_shown_too(terminal: Terminal) -> None:
    sink = terminal.sink()
    sink.on_error(ValueError("Bearer abc is [bold]wrong[/bold]\x1b[0m"))
    assert terminal.text == "error: ValueError: Bearer *** is [bold]wrong[/bold]␛[0m\n"


def test_leaving_is_said_once_and_keeps_what_came(terminal: Terminal) -> None:
    sink = terminal.sink()
    sink.on_next(TextDelta("Half"))
    sink.on_next(TextDelta("waits", 1))
    sink.dispose()
    sink.dispose()
    sink.on_next(TextDelta("late"))
    assert terminal.text == "Half\n\n[choice 1]\nwaits\n\ncancelled\n"


# ---------------------------------------------------------------------------------------------------- the footer


def test_the_footer(terminal: Terminal) -> None:
    events = (TextDelta("a"), TextDelta("b"), Finish("stop"), Usage(1200, 21, 1221))
    text = terminal.show(*events, clock=clock(10.0, 10.25, 12.25))
    assert text == "ab\n\nstop · 1,200 tokens in, 21 out · 0.25 s to first token · 10.0 tokens/s\n"
    assert "\x1b[2mstop" in terminal.raw


def test_the_footer_breaks_between_its_parts() -> None:
    terminal = Terminal(width=40)
    events = (TextDelta("a"), TextDelta("b"), Finish("stop"), Usage(1200, 21, 1221))
    text = terminal.show(*events, clock=clock(10.0, 10.25, 12.25))
    assert text == "ab\n\nstop · 1,200 tokens in, 21 out\n0.25 s to first token · 10.0 tokens/s\n"


def test_the_footer_has_only_what_is_known(terminal: Terminal) -> None:
    assert terminal.show(TextDelta("a"), Finish("stop")) == "a\n\nstop\n"
    assert Terminal().show(TextDelta("a"), Usage(None, 1, None)) == "a\n\n1 token out\n"
    assert Terminal().show(Usage(1, None, None), Finish("stop")) == "stop · 1 token in\n"
    assert Terminal().show(TextDelta("a")) == "a\n"
    assert Terminal().show() == ""


def test_rates_are_over_the_time_in_which_tokens_came(terminal: Terminal) -> None:
    events = (
        *(RoundStarted(1), TextDelta("a"), TextDelta("b"), Usage(1, 101, 102)),
        *(RoundStarted(2), TextDelta("a"), TextDelta("b"), Usage(1, 101, 102)),
    )
    text = terminal.show(*events, clock=clock(0, 1, 2, 50, 51))
    assert "2 tokens in, 202 out · 1.00 s to first token · 100 tokens/s" in text


def test_a_restart_counts_anew(terminal: Terminal) -> None:
    events = (TextDelta("a"), Usage(1, 1, 2), Restarted(), TextDelta("b"), Usage(5, 5, 10), Finish("stop"))
    assert "stop · 5 tokens in, 5 out · 3.00 s to first token\n" in terminal.show(*events, clock=clock(0, 1, 3))


def test_no_footer(terminal: Terminal) -> None:
    assert terminal.show(TextDelta("a"), Finish("stop"), show_footer=False) == "a\n"


# ---------------------------------------------------------------------------------------------------- pipes

ANSWER: tuple[Event, ...] = (
    Started("a", "m"),
    ReasoningDelta("Hm"),
    TextDelta("\n Hi\r"),
    TextDelta("\n\tthere"),
    ToolCallDelta(0, 0, "a", "f", "{}"),
    Finish("stop"),
    Usage(1, 2, 3),
)


def test_a_pipe_gets_the_answer_as_it_came() -> None:
    assert piped(*ANSWER) == "\n Hi\r\n\tthere\n"
    assert piped(TextDelta("line\n")) == "line\n"
    assert piped() == ""
    assert piped(TextDelta("a"), CALL, ToolResult(CALL, "12:00"), TextDelta("b")) == "ab\n"


def test_a_pipe_gets_the_rest_when_it_is_asked_for() -> None:
    text = piped(*ANSWER, show_reasoning=True, show_calls=True, show_footer=True)
    assert text == "[reasoning]\nHm\n\n[answer]\n Hi\r\n\tthere\n\n→ f({})\n\nstop · 1 token in, 2 out\n"


def test_what_went_wrong_goes_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    file, errors = io.StringIO(), io.StringIO()
    sink = console(file, errors=errors)
    sink.on_next(Retrying(2, 0.5, "busy"))
    sink.on_next(TextDelta("Half"))
    sink.on_error(ApiError("overloaded\x1b[31m"))
    assert file.getvalue() == "Half\n"
    assert errors.getvalue() == "retrying in 0.5 s, attempt 2: busy\nerror: overloaded\ufffd[31m (api)\n"
    console(io.StringIO()).on_error(ApiError("on stderr"))
    assert capsys.readouterr() == ("", "error: on stderr (api)\n")


def test_choices_and_rounds_are_told_apart_in_a_pipe() -> None:
    assert piped(Started(), TextDelta("a"), TextDelta("b", 1), Finish("stop")) == "a\n\n[choice 1]\nb\n"
    assert piped(RoundStarted(1), TextDelta("a"), RoundStarted(2), TextDelta("b")) == "a\n\nb\n"


def test_it_writes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    stream(TextDelta("Hi")).subscribe(console())
    assert capsys.readouterr() == ("Hi\n", "")


def test_a_pipe_whose_reader_has_gone_is_the_callers_business() -> None:
    class Gone(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        stream(TextDelta("Hi")).subscribe(console(Gone()))


def test_what_the_encoding_lacks_is_no_error() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", newline="")
    stream(TextDelta("21 °C"), CALL).subscribe(console(file, show_calls=True))
    assert raw.getvalue() == b"21 \\xb0C\n\n-> now({})\n"


# ---------------------------------------------------------------------------------------------------- colours


def test_no_color_leaves_colours_out() -> None:
    terminal = Terminal(_environ={"NO_COLOR": "1"})
    terminal.show(ReasoningDelta("Hm"), CALL, ToolResult(CALL, "x"), Retrying(2, 1, "y"), Finish("stop"))
    assert not re.search(r"\x1b\[[\d;]*\b(3\d|4\d|9\d)\b", terminal.raw)


def test_a_dumb_terminal_gets_no_escapes_and_can_still_be_read() -> None:
    terminal = Terminal(color_system=None)
    terminal.show(ReasoningDelta("Hm"), TextDelta("Hi"))
    assert terminal.raw == "[reasoning]\nHm\n\n[answer]\nHi\n"


def test_colour_can_be_forced_into_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[2mHm" in piped(ReasoningDelta("Hm"), TextDelta("Hi"))


# ---------------------------------------------------------------------------------------------------- hostile output

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m[red]x[/red][link=http://evil]y[/link]:smile:\u202eabc\x08\x08\rover\x00\x1b"


@given(st.text() | st.just(HOSTILE), st.booleans())
def test_nothing_a_model_says_is_obeyed(text: str, in_terminal: bool) -> None:
    call = ToolCall(7, 7, text, text, text, complete=True)
    events: tuple[Event, ...] = (
        Started(text, text, text),
        ReasoningDelta(text),
        TextDelta(text),
        RefusalDelta(text),
        ToolCallDelta(0, 0, text, text, text),
        call,
        ToolResult(call, text),
        ToolResult(call, text, text),
        Retrying(2, 1.0, text),
        Finish(text),
    )
    terminal = Terminal(force_terminal=in_terminal, color_system="standard" if in_terminal else None)
    errors = io.StringIO()
    sink = terminal.sink(show_reasoning=True, show_calls=True, show_footer=True, errors=errors)
    for event in events:
        sink.on_next(event)
    sink.on_error(ApiError(text, code=text))
    for written in (terminal.text, errors.getvalue()):
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)", written)


def test_markup_stays_text(terminal: Terminal) -> None:
    assert "[red]x[/red][link=http://evil]y[/link]:smile:" in terminal.show(TextDelta(HOSTILE))


def test_a_trick_that_is_cut_in_two_is_none(terminal: Terminal) -> None:
    pieces = [TextDelta(piece) for piece in ("safe\r", "EVIL", "\x1b", "[2J", "crlf\r", "\nend\r")]
    assert terminal.show(*pieces) == "safe␍EVIL␛[2Jcrlf\r\nend␍\n"


# ---------------------------------------------------------------------------------------------------- real bodies


RECORDED = {entry.name: entry.read_bytes() for entry in (files("pipeline.embedded") / "recorded").iterdir()}


@pytest.mark.parametrize("name", sorted(RECORDED))
@pytest.mark.parametrize("width", [40, 80])
def test_recorded_bodies(name: str, width: int) -> None:
    terminal = Terminal(width)
    replay(RECORDED[name], 64).pipe(decode()).subscribe(terminal.sink())
    lines = terminal.text.split("\n")
    assert lines[-1] == ""
    assert lines[-3] == ""
    assert re.fullmatch(r"(stop|tool_calls) · \d+ tokens in, \d+ out", lines[-2])
    assert "\n\n\n" not in terminal.text
