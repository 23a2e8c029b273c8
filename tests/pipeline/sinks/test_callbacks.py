"""Each function gets what it is named for."""

import asyncio
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex.subject import Subject

from operators import (
    ApiError,
    Event,
    Finish,
    Lanes,
    ReasoningDelta,
    RefusalDelta,
    RoundStarted,
    Spy,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    tool_calls,
    watched_by,
)
from pipeline.sinks import callbacks


def stream(*events: Event) -> Observable[Event]:
    return reactivex.from_iterable(events)


SAID: list[Event] = [
    Started("c1", "m"),
    ReasoningDelta("Hm"),
    ReasoningDelta("", extra={"reasoning_details": []}),
    TextDelta("Hi"),
    RefusalDelta("No"),
    ToolCallDelta(0, 0, "a", "f"),
    ToolCallDelta(0, 0, "a", arguments="{}"),
    Finish("tool_calls"),
    Usage(1, 2, 3),
]
CALL = ToolCall(0, 0, "a", "f", "{}", complete=True)


def recording(*names: str) -> tuple[dict[str, Any], list[Any]]:
    calls: list[Any] = []
    names = names or (
        "started",
        "text",
        "reasoning",
        "refusal",
        "tool_call_delta",
        "tool_call",
        "finish",
        "usage",
        "error",
    )
    on: dict[str, Any] = {f"on_{name}": lambda value, name=name: calls.append((name, value)) for name in names}
    return on | {"on_done": lambda: calls.append("done")}, calls


@pytest.mark.parametrize("above", [[], [tool_calls()]], ids=["alone", "under tool_calls()"])
def test_each_function_gets_its_own(above: list[Any]) -> None:
    on, calls = recording()
    stream(*SAID).pipe(*above).subscribe(callbacks(**on))
    assert calls == [
        ("started", SAID[0]),
        ("reasoning", "Hm"),
        ("text", "Hi"),
        ("refusal", "No"),
        ("tool_call_delta", SAID[5]),
        ("tool_call_delta", SAID[6]),
        ("finish", "tool_calls"),
        ("usage", SAID[8]),
        ("tool_call", CALL),
        "done",
    ]


def test_on_event_sees_every_event_first() -> None:
    calls: list[Any] = []
    sink = callbacks(on_event=lambda event: calls.append(type(event).__name__), on_text=calls.append)
    stream(TextDelta("Hi"), Finish("stop"), TextDelta("other", 1)).subscribe(sink)
    assert calls == ["TextDelta", "Hi", "Finish", "TextDelta"]


def test_a_call_that_is_not_finished_is_not_told() -> None:
    on, calls = recording("tool_call")
    stream(ToolCallDelta(0, 0, "a", "f", '{"a'), Finish("length")).subscribe(callbacks(**on))
    assert calls == ["done"]


def test_calls_come_with_each_round() -> None:
    on, calls = recording("tool_call")
    delta = ToolCallDelta(0, 0, "a", "f", "{}")
    stream(RoundStarted(1), delta, RoundStarted(2), delta).subscribe(callbacks(**on))
    assert calls == [("tool_call", CALL), ("tool_call", CALL), "done"]


def test_one_choice_or_all() -> None:
    said = stream(TextDelta("a"), TextDelta("b", 1), Usage(1, 2, 3))
    for choice, expected in ((0, ["a"]), (1, ["b"]), (None, ["a", "b"])):
        texts: list[Any] = []
        usages: list[Any] = []
        said.subscribe(callbacks(on_text=texts.append, on_usage=usages.append, choice=choice))
        assert texts == expected
        assert len(usages) == 1


def test_an_error_goes_to_on_error_or_to_the_producer() -> None:
    on, calls = recording("text", "error")
    broken = reactivex.concat(stream(TextDelta("Hi")), reactivex.throw(ApiError("busy")))
    broken.subscribe(callbacks(**on))
    assert [name for name, _ in calls] == ["text", "error"]
    events: Subject[Event] = Subject()
    events.subscribe(callbacks(on_text=print))
    with pytest.raises(ApiError, match="busy"):
        events.on_error(ApiError("busy"))


def test_what_a_function_raises_goes_to_the_producer() -> None:
    on, calls = recording("error")
    events: Subject[Event] = Subject()
    events.subscribe(callbacks(on_text=lambda text: 1 / 0, **on))
    with pytest.raises(ZeroDivisionError):
        events.on_next(TextDelta("Hi"))
    assert calls == []


def test_functions_that_would_not_be_called_are_refused() -> None:
    async def on_text(text: str) -> None: ...

    with pytest.raises(TypeError, match="on_text is called, not awaited"):
        callbacks(on_text=on_text)
    with pytest.raises(TypeError, match="on_done is to be a function, not str"):
        callbacks(on_done="done")  # type: ignore[arg-type]


def test_it_can_start_tasks() -> None:
    async def main() -> list[str]:
        queue: asyncio.Queue[str] = asyncio.Queue()
        stream(TextDelta("Hi")).subscribe(callbacks(on_text=queue.put_nowait))
        return [await queue.get()]

    assert asyncio.run(main()) == ["Hi"]


def test_how_it_is_made_is_seen_by_no_spy() -> None:
    chains: list[tuple[str, ...]] = []

    class Looking(Spy):
        def chain(self, stages: tuple[str, ...]) -> Lanes | None:
            chains.append(stages)
            return None

    with watched_by(Looking()):
        stream(*SAID).pipe(tool_calls()).subscribe(callbacks())
    assert chains == [("tool_calls()",)]
