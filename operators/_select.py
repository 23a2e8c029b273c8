"""Event → Event: only these types."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from operators._no_events import NO_EVENTS, no_event
from operators._operator import Operator, Out, Stage, operator

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")


@operator
def _select(out: Out[Any], *types: type[Any]) -> Stage[Any]:
    unsure = True  # whether events come at all

    def on_next(event: Any) -> None:
        nonlocal unsure
        if isinstance(event, types):
            out.on_next(event)
        elif unsure:
            unsure = False
            if type(event) in NO_EVENTS:
                raise no_event("select()", event)

    yield on_next


@overload
def select(a: type[A], /) -> Operator[Any, A]: ...
@overload
def select(a: type[A], b: type[B], /) -> Operator[Any, A | B]: ...
@overload
def select(a: type[A], b: type[B], c: type[C], /) -> Operator[Any, A | B | C]: ...
@overload
def select(a: type[A], b: type[B], c: type[C], d: type[D], /) -> Operator[Any, A | B | C | D]: ...
@overload
def select(a: type[A], b: type[B], c: type[C], d: type[D], e: type[E], /) -> Operator[Any, A | B | C | D | E]: ...
@overload
def select(*types: type[Any]) -> Operator[Any, Any]: ...
def select(*types: type[Any]) -> Operator[Any, Any]:
    r"""From events to those of these types alone, typed as such. Ends as the stream above does.

    Raises TypeError when called without types or with something that is none, and for bytes and text that come and are no
    events.

        TextDelta('Hi')  Finish('stop')  |
        select(TextDelta)
        TextDelta('Hi')  -               |

    >>> import reactivex
    >>> from operators import Finish, TextDelta
    >>> reactivex.of(TextDelta("Hi"), Finish("stop")).pipe(select(TextDelta)).subscribe(print) and None
    TextDelta(text='Hi', choice=0)
    """
    if not types:
        raise TypeError("select() takes event types, as in select(TextDelta); got none")
    for kind in types:
        if not isinstance(kind, type):
            raise TypeError(f"select() takes event types, as in select(TextDelta); got {kind!r}")
    made = _select(*types)
    return Operator((f"select({', '.join(kind.__name__ for kind in types)})",), made.kernels)
