"""show() in a cell of a kernel in this process."""

from __future__ import annotations

import threading

import pytest
import reactivex
from reactivex import operators as rx
from reactivex.disposable import Disposable
from reactivex.subject import Subject

from operators import (
    AudioDelta,
    Event,
    Finish,
    Gap,
    ReasoningDelta,
    RefusalDelta,
    RoundStarted,
    StreamError,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    TruncatedError,
    Usage,
)
from pipeline.notebook import Answer, last, show
from pipeline.notebook._view import View
from tests.pipeline.notebook.cells import latest
from tests.support.timing import LONG

HELLO: list[Event] = [TextDelta("Hello "), TextDelta("*you*"), Finish("stop"), Usage(3, 2, 5)]


def of(*events: Event) -> reactivex.Observable[Event]:
    return reactivex.from_iterable(events)


def test_a_stream_is_shown_in_its_cell_between_what_the_cell_prints(cells):
    shown = cells.run("print('before')\nanswer = show(stream)\nprint('after')", show=show, stream=of(*HELLO))
    assert [one.kind for one in shown] == ["stdout", "display_data", "stdout"]
    assert shown[1].plain.startswith("Hello *you*\n\nstop · 3 tokens in, 2 out")
    assert "<p>Hello <em>you</em></p>" in shown[1].html


def test_an_answer_is_not_shown_twice_in_its_cell_but_again_in_a_later_one(cells):
    [first] = cells.run("answer = show(stream)\nanswer", show=show, stream=of(*HELLO))
    [again] = cells.run("answer")
    assert again.data == first.data


def test_what_has_come_can_be_read_from_the_answer(cells):
    cells.run("answer = show(stream)", show=show, stream=of(ReasoningDelta("Hm"), *HELLO))
    answer: Answer = cells.shell.user_ns["answer"]
    assert (answer.text, answer.message.reasoning, answer.message.finish_reason) == ("Hello *you*", "Hm", "stop")
    assert next(type(timed.event) for timed in answer.events) is ReasoningDelta
    assert [timed.at for timed in answer.events] == sorted(timed.at for timed in answer.events)
    assert (answer.ended, answer.cut, answer.error, answer.conversation) == (True, False, None, None)
    assert repr(answer) == "<answer: 1 message, completed>"
    assert last() is answer


def test_a_stream_that_breaks_says_so_and_is_no_exception(cells):
    broken = reactivex.concat(of(TextDelta("Half")), reactivex.throw(TruncatedError("the body ended <early>")))
    [shown, result] = cells.run("answer = show(stream)\nanswer.error", show=show, stream=broken)
    assert shown.plain.startswith("Half\n\nerror: the body ended <early> (truncated)")
    assert "the body ended &lt;early&gt; (truncated)" in shown.html
    assert "TruncatedError" in result.plain
    answer: Answer = cells.shell.user_ns["answer"]
    assert isinstance(answer.error, StreamError)
    assert answer.text == "Half"
    assert not answer.cut
    assert "broken by TruncatedError" in repr(answer)


def test_reasoning_is_open_while_it_grows_and_folded_away_when_it_is_over(cells):
    [shown] = cells.run("show(stream)", show=show, stream=of(ReasoningDelta("I must think"), *HELLO))
    assert "<details " in shown.html
    assert " open>" not in shown.html
    assert "Reasoning, 3 words" in shown.html
    assert shown.plain.startswith("┊ I must think\n\nHello")


def test_reasoning_can_be_left_out(cells):
    [shown] = cells.run("show(stream, reasoning=False)", show=show, stream=of(ReasoningDelta("I must think"), *HELLO))
    assert "think" not in shown.html + shown.plain


def test_a_tool_call_is_shown_with_its_result_and_what_it_was_called_with(cells):
    call = ToolCall(key=0, index=0, id="a", name="forecast", arguments='{"city": "Bern", "days": 2}', complete=True)
    failed = ToolCall(key=1, index=1, id="b", name="search", arguments="{}", complete=True)
    stream = of(
        RoundStarted(1),
        *(
            ToolCallDelta(key=one.key, index=one.index, id=one.id, name=one.name, arguments=one.arguments)
            for one in (call, failed)
        ),
        Finish("tool_calls"),
        call,
        failed,
        ToolResult(call=call, content="sunny <b>", error=None),
        ToolResult(call=failed, content="", error="no such index"),
        RoundStarted(2),
        TextDelta("Sunny."),
        Finish("stop"),
    )
    [shown] = cells.run("show(stream)", show=show, stream=stream)
    assert "city: &quot;Bern&quot;\ndays: 2" in shown.html
    assert shown.html.index("forecast") < shown.html.index("✓") < shown.html.index("search") < shown.html.index("✗")
    assert "sunny &lt;b&gt;" in shown.html
    assert "→ forecast(" in shown.plain
    assert "← sunny <b>" in shown.plain
    assert "✗ no such index" in shown.plain
    assert "unfinished" not in shown.html


def test_a_call_that_was_never_finished_says_so(cells):
    stream = of(ToolCallDelta(key=0, index=0, id="a", name="search", arguments='{"q": "ha'), Finish("length"))
    [shown] = cells.run("show(stream)", show=show, stream=stream)
    assert "unfinished" in shown.html
    assert '→ search({"q": "ha)  (unfinished)' in shown.plain


def test_several_choices_are_told_apart(cells):
    stream = of(TextDelta("one", choice=0), TextDelta("two", choice=1), Finish("stop", choice=0))
    [shown] = cells.run("show(stream)", show=show, stream=stream)
    assert shown.plain.startswith("one\n\nchoice 1:\n\ntwo")


def test_what_an_operator_raises_breaks_the_stream(cells):
    def raising(*_: object) -> None:
        raise ZeroDivisionError("by the user's own operator")

    [shown] = cells.run("answer = show(stream)", show=show, stream=of(*HELLO).pipe(rx.do_action(raising)))
    assert shown.plain == "error: ZeroDivisionError: by the user's own operator"
    assert isinstance(cells.shell.user_ns["answer"].error, ZeroDivisionError)


class Elsewhere(BaseException):
    """Neither an error nor an interrupt."""


@pytest.mark.parametrize(
    ("raised", "mark"),
    [(KeyboardInterrupt, "interrupted"), (Elsewhere, "left by Elsewhere")],
    ids=["interrupt", "another"],
)
def test_an_interrupt_leaves_the_stream_and_is_raised_on(cells, raised, mark):
    def subscribe(observer, scheduler=None):
        observer.on_next(TextDelta("some"))
        raise raised

    shown = cells.run("show(stream)", show=show, stream=reactivex.create(subscribe))
    assert shown[0].plain.startswith(f"some\n\n✂ {mark}")
    assert shown[-1].plain.startswith(raised.__name__)
    assert (latest().cut, latest().ended, latest().text) == (True, True, "some")


def test_stopping_from_inside_leaves_the_stream(cells):
    left = threading.Event()

    def subscribe(observer, scheduler=None):
        observer.on_next(TextDelta("some"))
        latest().stop()
        observer.on_next(TextDelta(" more"))
        return Disposable(left.set)

    [shown] = cells.run("answer = show(stream)", show=show, stream=reactivex.create(subscribe))
    assert shown.plain.startswith("some\n\n✂ stopped")
    assert left.is_set()
    answer: Answer = cells.shell.user_ns["answer"]
    assert (answer.cut, answer.text, answer.error) == (True, "some", None)
    assert repr(answer) == "<answer: 1 message, cut>"


def test_stopping_from_another_thread_is_over_when_show_returns(cells, monkeypatch):
    ending = threading.Event()
    end = View.end

    def slowly(view, error, mark):
        ending.set()
        threading.Event().wait(0.2)  # for so long the last frame takes
        end(view, error, mark)

    def subscribe(observer, scheduler=None):
        observer.on_next(TextDelta("some"))
        threading.Thread(target=latest().stop).start()
        assert ending.wait(LONG)
        return Disposable()

    monkeypatch.setattr(View, "end", slowly)
    [shown, state] = cells.run("show(stream).ended", show=show, stream=reactivex.create(subscribe))
    assert shown.plain.startswith("some\n\n✂ stopped")
    assert state.plain == "True"


def test_a_stream_that_nobody_awaits_is_left_when_its_cell_ends(cells):
    stream: Subject[Event] = Subject()
    [before, out] = cells.run("answer = show(stream)\nprint(repr(answer))", show=show, stream=stream)
    assert "running" in out.plain
    assert "await show(" in before.plain
    assert not stream.observers
    assert cells.shell.user_ns["answer"].cut


@pytest.mark.parametrize("wrong", [1, b"data: {}", None])
def test_what_is_no_event_is_a_type_error(cells, wrong):
    [shown, error] = cells.run("show(stream)", show=show, stream=reactivex.of(wrong))
    assert "could not be shown" in shown.plain
    assert error.plain == f"TypeError: show() shows events, not {type(wrong).__name__}: is a decode() missing?"


def test_what_is_no_observable_is_a_type_error_and_nothing_is_shown(cells):
    [error] = cells.run("show('text')", show=show)
    assert error.plain == "TypeError: show() shows an Observable of events, not str"


def test_a_timeline_is_drawn_below_and_stays_as_a_picture(cells):
    shown = cells.run("answer = show(stream, timeline=True)", show=show, stream=of(*HELLO))
    assert [list(one.data) for one in shown] == [["text/html", "text/plain"], ["image/svg+xml", "text/plain"]]
    assert shown[1].plain.startswith("<timeline: 4 events in ")


def test_a_refusal_an_audio_transcript_and_what_was_left_out_are_told(cells):
    stream = of(
        RefusalDelta("I <cannot>."),
        AudioDelta(id="x", data="", transcript="la la", expires_at=None, choice=0),
        Gap(1200),
        Finish("stop"),
    )
    [shown] = cells.run("show(stream)", show=show, stream=stream)
    assert "Refused: I &lt;cannot&gt;." in shown.html
    assert "la la" in shown.html
    assert "1,200 events were left out" in shown.html
    assert "[I <cannot>.]" in shown.plain


@pytest.mark.parametrize(
    "arguments", ["[1, 2]", "{}", '{"a": ', "x" * 30_000, "[" * 100_000], ids=lambda text: text[:6]
)
def test_arguments_that_are_no_object_are_shown_as_they_came(cells, arguments):
    call = ToolCall(key=0, index=0, id="a", name="f", arguments=arguments, complete=False)
    [shown] = cells.run("show(stream)", show=show, stream=of(call, Finish("stop")))
    assert arguments[:100].replace('"', "&quot;") in shown.html
    assert len(shown.html) < 25_000
