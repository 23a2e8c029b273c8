"""Event → functions of yours."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from reactivex import Observer, abc
from reactivex.subject import Subject

from operators import (
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    tool_calls,
    watched_by,
)
from pipeline._makes_sink import makes_sink
from pipeline.sinks._one_stream import OneStream


class Callbacks(OneStream):
    """The observer that `callbacks()` makes."""

    made_by = "callbacks()"


@makes_sink
def callbacks(
    *,
    on_started: Callable[[Started], object] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_refusal: Callable[[str], object] | None = None,
    on_tool_call_delta: Callable[[ToolCallDelta], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_finish: Callable[[str], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_event: Callable[[Event], object] | None = None,
    on_error: Callable[[Exception], object] | None = None,
    on_done: Callable[[], object] | None = None,
    choice: int | None = 0,
) -> Observer[Event]:
    """From events to calls of the functions given, each with what it is named for.

    on_text, on_reasoning and on_refusal get what is new of the text; on_finish the finish_reason; on_tool_call each finished
    call as a whole, once, when the stream or the round ends, with or without `tool_calls()` above. on_event gets every
    event, before the function of its own. on_done is called when the stream has completed, on_error when it broke: one
    of them, once, at the end. Without on_error the error is raised to whoever produces the events.

    Only one `choice` is told, but for on_event, which sees all; None tells of every choice. What a function raises
    goes to the producer and ends the stream. Raises TypeError for coroutine functions: they would never be awaited.

    >>> import reactivex
    >>> from operators import TextDelta
    >>> said = reactivex.of(TextDelta("H"), TextDelta("i"))
    >>> said.subscribe(callbacks(on_text=print, on_done=lambda: print("done"))) and None
    H
    i
    done
    """
    functions: dict[str, Callable[..., object] | None] = {
        "on_started": on_started,
        "on_text": on_text,
        "on_reasoning": on_reasoning,
        "on_refusal": on_refusal,
        "on_tool_call_delta": on_tool_call_delta,
        "on_tool_call": on_tool_call,
        "on_finish": on_finish,
        "on_usage": on_usage,
        "on_event": on_event,
        "on_error": on_error,
        "on_done": on_done,
    }
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise TypeError(f"{name} is to be a function, not {type(function).__name__}")
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{name} is called, not awaited: give it a plain function, which may start a task")

    told: dict[type, tuple[Callable[[Any], object] | None, str | None]] = {
        Started: (on_started, None),
        TextDelta: (on_text, "text"),
        ReasoningDelta: (on_reasoning, "text"),
        RefusalDelta: (on_refusal, "text"),
        ToolCallDelta: (on_tool_call_delta, None),
        ToolCall: (on_tool_call, None),
        Finish: (on_finish, "reason"),
        Usage: (on_usage, None),
    }
    wanted = {kind: (function, field) for kind, (function, field) in told.items() if function is not None}

    def on_next(event: Event) -> None:
        if on_event is not None:
            on_event(event)
        found = wanted.get(type(event))
        if found is None or (choice is not None and getattr(event, "choice", choice) != choice):
            return
        function, field = found
        argument = event if field is None else getattr(event, field)
        if argument != "":  # reasoning that only the provider can read
            function(argument)

    return _through_tool_calls(Observer(on_next, on_error, on_done))  # type: ignore[arg-type]


def _through_tool_calls(observer: abc.ObserverBase[Event]) -> Observer[Event]:
    """The observer, with `tool_calls()` above it: an operator as a part of a sink."""
    events: Subject[Event] = Subject()
    with watched_by(None):  # those who look on see the stream, and not how a sink is made
        events.pipe(tool_calls()).subscribe(observer)
    return Callbacks(events.on_next, events.on_error, events.on_completed)
