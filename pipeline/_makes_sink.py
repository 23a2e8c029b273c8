"""Functions that make a sink, told apart from sinks: a function is one too, so that a forgotten () would go unnoticed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeGuard, TypeVar

from operators._stream_event import StreamEvent

P = ParamSpec("P")
T = TypeVar("T")


def makes_sink(make: Callable[P, T]) -> Callable[P, T]:
    """The same function, which says so when it is called as a sink is, with an event.

    >>> from operators import TextDelta
    >>> @makes_sink
    ... def printer(file=None): ...
    >>> printer(TextDelta("Hi"))
    Traceback (most recent call last):
    TypeError: printer() makes a sink and is none: was () forgotten?
    """

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> T:
        if args and isinstance(args[0], StreamEvent):
            raise no_sink(made)
        return make(*args, **kwargs)

    made.makes_sink = True  # type: ignore[attr-defined]
    return made


def is_maker(function: object) -> TypeGuard[Callable[..., object]]:
    return getattr(function, "makes_sink", None) is True


def no_sink(maker: Callable[..., object]) -> TypeError:
    return TypeError(f"{maker.__name__}() makes a sink and is none: was () forgotten?")
