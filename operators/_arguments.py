"""Event → Event: tool arguments, or JSON in the text, alive while they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from operators._argument_events import (
    ArgumentClosed,
    ArgumentDelta,
    ArgumentOpened,
    ArgumentsChecked,
    ArgumentsInvalid,
)
from operators._calls import CUT
from operators._events import Event, Finish, Restarted, RoundStarted, TextDelta, ToolCallDelta
from operators._json_scan import JsonScan, Step
from operators._no_events import NO_EVENTS, no_event
from operators._operator import Operator, Out, Stage, operator

_Told: TypeAlias = ArgumentOpened | ArgumentDelta | ArgumentClosed | ArgumentsInvalid | ArgumentsChecked
_EVENTS: dict[str, Callable[..., _Told]] = {
    "opened": ArgumentOpened,
    "grew": ArgumentDelta,
    "closed": ArgumentClosed,
    "invalid": ArgumentsInvalid,
}


def arguments(
    *,
    of: type[ToolCallDelta | TextDelta] = ToolCallDelta,
    type: Any = None,  # noqa: A002  # what every library calls it
) -> Operator[Event, Event]:
    r"""From events to the same events and, after each piece of a tool call's arguments, what it did to their values.

    ArgumentOpened: an object or a list began. ArgumentDelta: a string grew. ArgumentClosed: a value is whole; at the
    empty path it is all of the arguments. Each says where (`path`, or `where` as in `$.items[2].name`), and
    `event.partial()` is the whole value so far, made only when asked for. A piece costs its own length, whatever came before.

    Arguments that are no JSON give one ArgumentsInvalid, and nothing more for that call; never an error. White space may
    stand anywhere, NaN and raw control characters are accepted, a half of a surrogate pair becomes U+FFFD. A call that
    has no arguments at the end has `{}`. After a cut (`length`, a filter, an error from above) nothing is added to
    what came; at any other end what is still open is invalid. Arguments of custom tools are no JSON and are left alone.

    `of=TextDelta` reads the answer's text instead, for structured output (`response_format`); its events have the key
    None. `type` is what the whole is to be: all that msgspec converts to (Struct, dataclass, TypedDict …) or a pydantic
    model, or for tool calls a mapping from the tool's name to one. ArgumentsChecked follows, with the converted value or the error.

    A new round ends the calls of the last one, a restart drops them. Ends as the stream above does. Raises ValueError
    when called with another `of`, or with a mapping for text; TypeError for a type that msgspec does not know.

        ToolCallDelta(0,arguments='{"a":"x')                                                          ToolCallDelta(0,arguments='y"}')                                                                                        |
        arguments()
        (ToolCallDelta(0,arguments='{"a":"x') ArgumentOpened((),'object') ArgumentDelta(('a',),'x'))  (ToolCallDelta(0,arguments='y"}') ArgumentDelta(('a',),'y') ArgumentClosed(('a',),'xy') ArgumentClosed((),{'a':'xy'}))  |

    >>> import reactivex
    >>> from operators import ToolCallDelta
    >>> pieces = [ToolCallDelta(0, 0, "c", "send"), ToolCallDelta(0, 0, "c", "", '{"to": "J'), ToolCallDelta(0, 0, "c", "", 'o"}')]
    >>> def show(event):
    ...     if isinstance(event, ArgumentDelta):
    ...         print(event.where, "grew by", event.text, event.partial())
    ...     elif isinstance(event, ArgumentClosed):
    ...         print(event.where, "is", event.value)
    >>> reactivex.of(*pieces).pipe(arguments()).subscribe(show) and None
    $.to grew by J {'to': 'J'}
    $.to grew by o {'to': 'Jo'}
    $.to is Jo
    $ is {'to': 'Jo'}
    """
    if of not in {ToolCallDelta, TextDelta}:
        raise ValueError(f"arguments(of=…) takes ToolCallDelta or TextDelta; got {of!r}")
    if of is TextDelta and isinstance(type, Mapping):
        raise ValueError("arguments(of=TextDelta, type=…) takes one type; a mapping goes by the names of tools")
    for kind in type.values() if isinstance(type, Mapping) else (type,):
        if not hasattr(kind, "model_validate"):
            msgspec.json.Decoder(kind)
    return Operator((f"arguments(of={of.__name__})",), _arguments(of, type).kernels)


class _Growing:
    """The arguments of one call, or the text of one choice."""

    __slots__ = ("choice", "custom", "key", "name", "scan")

    def __init__(self, key: int | None, choice: int) -> None:
        self.key, self.choice = key, choice
        self.name = ""
        self.custom = False
        self.scan = JsonScan()


@operator
def _arguments(out: Out[Event], of: type, wanted: Any) -> Stage[Event]:
    growing: dict[tuple[int | None, int], _Growing] = {}
    cut: set[int] = set()

    def on_next(event: Event) -> None:
        kind = type(event)
        if kind is RoundStarted:
            end()
        out.on_next(event)
        if kind is of:
            add(event)
        elif kind is Finish:
            assert isinstance(event, Finish)
            if event.reason.lower() in CUT:
                cut.add(event.choice)
        elif kind is RoundStarted or kind is Restarted:
            growing.clear()
            cut.clear()
        elif kind in NO_EVENTS:
            raise no_event("arguments()", event)

    def add(event: Event) -> None:
        if isinstance(event, TextDelta):
            read(find(None, event.choice), event.text)
        else:
            assert isinstance(event, ToolCallDelta)
            call = find(event.key, event.choice)
            call.name += event.name
            call.custom = call.custom or bool(event.extra and event.extra.get("type") == "custom")
            if event.arguments and not call.custom:
                read(call, event.arguments)

    def find(key: int | None, choice: int) -> _Growing:
        found = growing.get((key, choice))
        if found is None:
            found = growing[key, choice] = _Growing(key, choice)
        return found

    def read(call: _Growing, text: str) -> None:
        for step in call.scan.feed(text):
            tell(call, step)

    def tell(call: _Growing, step: Step) -> None:
        kind, path, what = step
        hand_on(_EVENTS[kind](path, what, call.key, call.choice), call)
        if kind == "closed" and not path:
            expected = wanted.get(call.name) if isinstance(wanted, Mapping) else wanted
            if expected is not None:
                hand_on(ArgumentsChecked(*_converted(what, expected), call.key, call.choice), call)

    def hand_on(event: _Told, call: _Growing) -> None:
        vars(event)["_scan"] = call.scan
        out.on_next(event)

    def end() -> None:
        for call in growing.values():
            if call.choice in cut or call.custom:
                continue
            if call.key is not None and not call.scan.begun:
                read(call, "{}")
            for step in call.scan.end():
                tell(call, step)

    yield on_next
    end()


def _converted(value: Any, expected: Any) -> tuple[Any, str | None]:
    """The value as the type, or the value as it is and why it is not that."""
    validate = getattr(expected, "model_validate", None)
    try:
        return (validate(value) if validate else msgspec.convert(value, expected)), None
    except Exception as error:  # a type's own hooks may raise anything
        return value, str(error)
