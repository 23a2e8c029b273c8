"""Event → Event: only what is new, where a provider repeats all that it has said."""

from __future__ import annotations

from msgspec.structs import replace

from operators._events import (
    Event,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    RoundStarted,
    TextDelta,
    ToolCallDelta,
)
from operators._no_events import NO_EVENTS, no_event
from operators._operator import Out, Stage, operator


class _Said:
    """What one channel has said. Kept in parts, so that a delta costs its own length and never that of the whole."""

    __slots__ = ("_length", "_parts", "id")

    def __init__(self) -> None:
        self.id: str | None = None
        self._parts: list[str] = []
        self._length = 0

    def news(self, text: str) -> str:
        """What is new in the text; a text that does not begin with all that came before is new as a whole."""
        if len(text) >= self._length:  # a shorter one cannot begin with it, and is not compared
            before = "".join(self._parts)
            if text.startswith(before):
                new = text[self._length :]
                self._parts, self._length = [text], len(text)
                return new
        self._parts.append(text)
        self._length += len(text)
        return text


@operator
def cumulative(out: Out[Event]) -> Stage[Event]:
    r"""From events that each repeat the whole so far to events that hold only what is new.

    For providers whose chunks are cumulative (DashScope without `incremental_output`, some gateways and local servers).
    It concerns text, reasoning and refusal of each choice and the arguments of each tool call. What adds nothing is left
    out, so a text that comes twice counts once. A delta that does not begin with all that came before is an increment
    like any other: a provider that mixes the two loses nothing. Yet increments may look like repeats ("ha", "ha"), so
    this is for providers that are known to repeat.

    Keeps what was said, once. A new round and a restart begin afresh. Goes right below `deltas()`; ends as the stream
    above does; raises TypeError for bytes and text, which are no events.

        TextDelta('H')  TextDelta('Hi')  TextDelta('Hi')  |
        cumulative()
        TextDelta('H')  TextDelta('i')   -                |

    >>> import reactivex
    >>> from operators import TextDelta
    >>> reactivex.of(TextDelta("H"), TextDelta("Hi"), TextDelta("Hi!")).pipe(cumulative()).subscribe(print) and None
    TextDelta(text='H', choice=0)
    TextDelta(text='i', choice=0)
    TextDelta(text='!', choice=0)
    """
    said: dict[tuple[object, ...], _Said] = {}

    def on_next(event: Event) -> None:
        if isinstance(event, (TextDelta, ReasoningDelta, RefusalDelta)):
            new = said_in(type(event), event.choice).news(event.text)
            if new or (isinstance(event, ReasoningDelta) and event.extra):
                out.on_next(event if new == event.text else replace(event, text=new))
        elif isinstance(event, ToolCallDelta):
            call = said_in(ToolCallDelta, event.choice, event.key)
            new = call.news(event.arguments) if event.arguments else ""
            if new or event.name or event.extra or event.id != call.id or not event.arguments:
                out.on_next(event if new == event.arguments else replace(event, arguments=new))
            call.id = event.id
        else:
            if isinstance(event, (RoundStarted, Restarted)):
                said.clear()
            elif type(event) in NO_EVENTS:
                raise no_event("cumulative()", event)
            out.on_next(event)

    def said_in(*channel: object) -> _Said:
        found = said.get(channel)
        if found is None:
            found = said[channel] = _Said()
        return found

    yield on_next
