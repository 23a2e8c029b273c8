"""What a stream can be shared to: observers, functions and coroutine functions, as three calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from reactivex.internal import noop

from pipeline._makes_sink import is_maker, no_sink


class Observing(Protocol):
    """An observer. Its methods may be coroutine functions."""

    def on_next(self, value: Any, /) -> object: ...
    def on_error(self, error: Exception, /) -> object: ...
    def on_completed(self) -> object: ...


Sink: TypeAlias = Observing | Callable[[Any], object]
"""An observer, or a function that is called with each event and not told of the end."""


class Calls(NamedTuple):
    """A sink as the three calls that can be made on it."""

    name: str
    on_next: Callable[[Any], Any]
    on_error: Callable[[Exception], Any]
    on_completed: Callable[[], Any]

    @property
    def is_async(self) -> bool:
        return any(_is_async(call) for call in self[1:])


def as_calls(sink: Sink) -> Calls:
    if isinstance(sink, type) or not (callable(sink) or hasattr(sink, "on_next")):
        raise TypeError(f"a sink is an observer or a function of an event, not {sink!r}")
    if is_maker(sink):
        raise no_sink(sink)
    observer: Any = sink
    if hasattr(sink, "on_next"):
        return Calls(type(sink).__name__, observer.on_next, observer.on_error, observer.on_completed)
    return Calls(getattr(sink, "__name__", type(sink).__name__), observer, noop, noop)


def _is_async(call: Any) -> bool:
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
