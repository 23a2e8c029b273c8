"""bytes → Event: a chain from bytes to events, with a plain path past it for what nearly all chunks are.

The chain stays as it is and decides everything. Two stages are put around it: the one in front hands on reads, but
where an event is nothing but one more piece of text or of reasoning (`data: {…}` and a blank line; one choice; a delta with
one key that says something), it makes the TextDelta or ReasoningDelta itself and passes it to the one behind.

It does so only while the chain can have nothing to add: at the end of an event, after one that went through the chain and
came out as one event, the same that the plain path makes of it, in a stream whose id and model are known; for each
choice by itself. Anything else goes through the chain, and so does what follows, until that is so again. Whoever
looks on is shown the chain alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct, defstruct, field

from operators._chunks import Choice, Chunk, Delta
from operators._events import Event, ReasoningDelta, Started, TextDelta
from operators._json_depth import SHALLOW, too_deep
from operators._operator import Detour, Operator, Out, Stage

_HELD = 4096  # bytes of an unfinished event that are held back; a longer one goes through the chain as it comes
_SAYS: dict[str, type[TextDelta | ReasoningDelta]] = {
    "content": TextDelta,
    "reasoning_content": ReasoningDelta,
    "reasoning": ReasoningDelta,
}
_NOT_PLAIN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@cache
def _decoder(key: str) -> Callable[[bytes], Any]:
    """Decodes a chunk of one choice whose delta has text under a key, and nothing else that the chain would look at."""
    delta: Any = _struct(Delta, ("text", str, field(name=key)), but={"role", key})
    choice: Any = _struct(Choice, ("delta", delta), ("index", int), but={"delta", "index", "message"})
    return msgspec.json.Decoder(
        _struct(Chunk, ("choices", tuple[choice]), but={"id", "model", "choices", "unknown", "lenient"})
    ).decode


def _struct(like: type[Struct], *required: Any, but: set[str]) -> type[Struct]:
    """A struct that must have some fields, and nothing in all the others that another one has."""
    empty = ((name, Literal[""] | None, None) for name in like.__struct_fields__ if name not in but)
    return defstruct(like.__name__, [*required, *empty], gc=False)


class _PlainPath(Detour[bytes, Event]):
    def behind(self, out: Out[Event]) -> Stage[Event]:
        """Below the chain: remembers what came of the last event."""
        came = self.meet(out, _Came(out.on_next))

        def on_next(event: Event) -> None:
            came.count += 1
            came.last = event
            if type(event) is Started:
                came.named = bool(event.id and event.model)
            out.on_next(event)

        yield on_next

    def front(self, out: Out[bytes]) -> Stage[bytes]:
        """Above the chain."""
        came: _Came | None = self.met(out)
        if came is None:
            yield out.on_next
            return
        emit, slowly = came.emit, out.on_next
        tail = b""  # of an event that has begun: nothing can come of it before its blank line
        between = False  # the chain has seen whole events only
        line_ended = False  # and if not, whether the last read ended a line
        plain: set[int] = set()  # the choices for which the last one was plain
        key = "content"  # under which it said something
        decoded, made = _decoder(key), _SAYS[key]

        def on_next(read: bytes) -> None:
            nonlocal tail, between, line_ended
            if type(read) is not bytes or 13 in read:
                let_go()
                slowly(read)
                line_ended = read[-1:] == b"\n"
                return
            if not between:
                read = catch_up(read)
            if tail:
                read = tail + read
                tail = b""
            lines = read.split(b"\n")
            end = len(lines) - 1  # the last one is not ended
            at = 0
            while at + 1 < end:
                line = lines[at]
                if (
                    plain
                    and not lines[at + 1]
                    and line[:7] == b"data: {"
                    and (len(line) <= SHALLOW or not too_deep(line))
                ):
                    at += 2
                    try:
                        choice = decoded(line[6:]).choices[0]
                    except _NOT_PLAIN:
                        by_the_chain(line)
                    else:
                        text = choice.delta.text
                        if choice.index not in plain:
                            by_the_chain(line)
                        elif text:
                            emit(made(text, choice.index))
                else:
                    try:
                        blank = lines.index(b"", at, end)
                    except ValueError:  # the event goes on in the next read
                        break
                    by_the_chain(b"\n".join(lines[at:blank]))
                    at = blank + 1
            tail = lines[end] if at == end else b"\n".join(lines[at:])
            if len(tail) > _HELD:
                let_go()

        def by_the_chain(event: bytes) -> None:
            nonlocal key, decoded, made
            before = came.count
            slowly(event + b"\n\n" if event else b"\n")
            last = came.last
            alone = came.named and came.count == before + 1
            if not alone or not isinstance(last, (TextDelta, ReasoningDelta)) or not (found := _key_of(event, last)):
                plain.clear()
                return
            if found != key:
                plain.clear()
                key, decoded, made = found, _decoder(found), _SAYS[found]
            plain.add(last.choice)

        def let_go() -> None:
            nonlocal tail, between, line_ended
            between = False
            plain.clear()
            line_ended = tail[-1:] == b"\n"
            if tail:
                held, tail = tail, b""
                slowly(held)

        def catch_up(read: bytes) -> bytes:
            """What follows the event that is open in the chain."""
            nonlocal between, line_ended
            if line_ended and read[:1] == b"\n":
                first, blank, rest = b"", b"\n", read[1:]
            else:
                first, blank, rest = read.partition(b"\n\n")
            line_ended = first[-1:] == b"\n" and not blank
            between = bool(blank)
            slowly(first + blank)
            return rest

        try:
            yield on_next
        except Exception:
            let_go()
            raise
        let_go()


class _Came:
    """What has come out of the chain."""

    __slots__ = ("count", "emit", "last", "named")

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self.emit = emit
        self.count = 0
        self.last: Event | None = None
        self.named = False


def _key_of(event: bytes, made: TextDelta | ReasoningDelta) -> str | None:
    """The key by which the plain path would have made the same of this event as the chain did."""
    if not event.startswith(b"data: {") or b"\n" in event:
        return None
    return next((key for key, says in _SAYS.items() if type(made) is says and _plainly(event, key) == made), None)


def _plainly(event: bytes, key: str) -> Event | None:
    """What the plain path makes of an event."""
    try:
        choice = _decoder(key)(event[6:]).choices[0]
    except _NOT_PLAIN:
        return None
    return _SAYS[key](choice.delta.text, choice.index)


def with_plain_path(chain: Operator[bytes, Event]) -> Operator[bytes, Event]:
    """The same operator, faster. The chain must decode as `decode()` does: no extras, and errors raised or skipped."""
    return _PlainPath().around(chain)
