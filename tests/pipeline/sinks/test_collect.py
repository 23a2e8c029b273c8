"""What has come can be read at any time."""

import threading

import pytest
import reactivex
from reactivex import Observable
from reactivex.subject import Subject

from operators import (
    ApiError,
    Conversation,
    Event,
    Finish,
    Message,
    Restarted,
    RoundStarted,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from pipeline.sinks import collect


def stream(*events: Event) -> Observable[Event]:
    return reactivex.from_iterable(events)


CALL = ToolCallDelta(0, 0, "a", "f", "{}")


def test_it_grows() -> None:
    sink = collect()
    assert (sink.messages, sink.text, sink.ended, sink.error) == ((), "", False, None)
    sink.on_next(TextDelta("Hel"))
    assert (sink.messages, sink.text) == ((Message(text="Hel"),), "Hel")
    sink.on_next(TextDelta("lo"))
    sink.on_next(Finish("stop"))
    sink.on_next(Usage(1, 2, 3))
    assert not sink.ended
    sink.on_completed()
    assert sink.ended
    assert sink.messages == (Message(text="Hello", finish_reason="stop", usage=Usage(1, 2, 3)),)
    assert repr(sink) == "<collected: 1 messages, completed>"


def test_it_can_be_read_after_a_cancel() -> None:
    events: Subject[Event] = Subject()
    sink = collect()
    subscription = events.subscribe(sink)
    for event in (TextDelta("Hel"), CALL, TextDelta("other", 1)):
        events.on_next(event)
    subscription.dispose()
    events.on_next(TextDelta("lo"))
    assert not sink.ended
    assert [message.text for message in sink.messages] == ["Hel", "other"]
    assert [call.complete for call in sink.messages[0].tool_calls] == [False]
    assert "running" in repr(sink)


def test_calls_are_complete_when_the_stream_is() -> None:
    sink = collect()
    stream(CALL, Finish("tool_calls")).subscribe(sink)
    assert sink.messages[0].tool_calls == (ToolCall(0, 0, "a", "f", "{}", complete=True),)


def test_an_error_is_kept_and_gets_its_partial() -> None:
    sink, error = collect(), ApiError("busy")
    reactivex.concat(stream(TextDelta("Hel"), CALL), reactivex.throw(error)).subscribe(sink)
    assert sink.ended
    assert sink.error is error
    assert error.partial == sink.messages
    assert not sink.messages[0].tool_calls[0].complete
    assert "broken by ApiError('busy')" in repr(sink)


def test_a_partial_that_is_there_stays() -> None:
    before = (Message(text="all of it"),)
    error = ApiError("busy", partial=before)
    collect().on_error(error)
    assert error.partial is before
    other = collect()
    other.on_error(ValueError("mine"))
    assert isinstance(other.error, ValueError)


def test_rounds_follow_each_other_and_restarts_begin_anew() -> None:
    sink = collect()
    for event in (RoundStarted(1), CALL, RoundStarted(2), TextDelta("vo"), Restarted(), TextDelta("Noon")):
        sink.on_next(event)
    assert [(message.text, len(message.tool_calls)) for message in sink.messages] == [("", 1), ("Noon", 0)]
    assert sink.messages[0].tool_calls[0].complete
    assert sink.text == "Noon"
    sink.on_next(Conversation([{"role": "user"}]))
    assert sink.conversation == [{"role": "user"}]


@pytest.mark.parametrize("count", [20_000])
def test_reading_from_another_thread_loses_nothing(count: int) -> None:
    sink = collect()
    reading = threading.Event()

    def read() -> None:
        while not reading.is_set():
            assert set(sink.text) <= {"x"}
            assert len(sink.messages) <= 3

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(count):
            sink.on_next(TextDelta("x", number % 3))
    finally:
        reading.set()
        reader.join()
    assert sum(len(message.text) for message in sink.messages) == count
