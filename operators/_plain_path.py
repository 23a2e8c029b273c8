"""bytes → Event: a chain from bytes to events, with a plain path past it for what nearly all chunks are.

The chain stays as it is and decides everything. Two stages are put around it: the one in front hands on reads, but
where an event is nothing but one more piece of text (`data: {…}` and a blank line; one choice; a delta with a content and
nothing else that the chain would look at), it makes the TextDelta itself and passes it to the one behind.

It does so only while the chain can have nothing to add: at the end of an event, after one that went through the chain and
came out as one TextDelta, the same that the plain path makes of it, in a stream whose id and model are known; for each
choice by itself. Anything else goes through the chain, and so does what follows, until that is so again. Whoever
looks on is shown the chain alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from operators._events import Event, Started, TextDelta
from operators._json_depth import SHALLOW, too_deep
from operators._operator import Detour, Operator, Out, Stage

_Nothing = Literal[""] | None


class _Delta(Struct, gc=False):
    """A delta that has text and nothing else: every other field that the chain looks at must be empty."""

    content: str
    refusal: _Nothing = None
    reasoning_content: _Nothing = None
    reasoning: _Nothing = None
    reasoning_text: _Nothing = None
    thinking: None = None
    tool_calls: None = None
    function_call: None = None
    audio: None = None
    annotations: None = None
    reasoning_details: None = None
    reasoning_opaque: None = None
    reasoning_signature: None = None
    reasoning_encrypted_content: None = None
    thinking_blocks: None = None
    thought_signature: None = None
    extra_content: None = None
    provider_specific_fields: None = None
    encrypted_content: None = None


class _Choice(Struct, gc=False):
    delta: _Delta
    index: int
    finish_reason: _Nothing = None
    logprobs: None = None
    usage: None = None
    error: None = None


class _Chunk(Struct, gc=False):
    choices: tuple[_Choice]
    usage: None = None
    error: None = None
    x_groq: None = None


_HELD = 4096  # bytes of an unfinished event that are held back; a longer one goes through the chain as it comes

_plain: Callable[[bytes], _Chunk] = msgspec.json.Decoder(_Chunk).decode
_NOT_PLAIN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


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
                shallow = len(line) <= SHALLOW or not too_deep(line)
                if plain and shallow and not lines[at + 1] and line.startswith(b"data: {"):
                    at += 2
                    try:
                        choice = _plain(line[6:]).choices[0]
                    except _NOT_PLAIN:
                        by_the_chain(line)
                    else:
                        text = choice.delta.content
                        if choice.index not in plain:
                            by_the_chain(line)
                        elif text:
                            emit(TextDelta(text, choice.index))
                else:
                    try:
                        blank = lines.index(b"", at, end)
                    except ValueError:  # the event goes on in the next read
                        break
                    by_the_chain(b"\n".join(lines[at:blank]))
                    at = blank + 1
            tail = b"\n".join(lines[at:])
            if len(tail) > _HELD:
                let_go()

        def by_the_chain(event: bytes) -> None:
            before = came.count
            slowly(event + b"\n\n" if event else b"\n")
            last = came.last
            if came.named and came.count == before + 1 and type(last) is TextDelta and _is_plain(event, last):
                plain.add(last.choice)
            else:
                plain.clear()

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


def _is_plain(event: bytes, made: TextDelta) -> bool:
    """Would the plain path have made the same of this event as the chain did?"""
    if not event.startswith(b"data: {") or b"\n" in event:
        return False
    try:
        choice = _plain(event[6:]).choices[0]
    except _NOT_PLAIN:
        return False
    return bool(made == TextDelta(choice.delta.content, choice.index))


def with_plain_path(chain: Operator[bytes, Event]) -> Operator[bytes, Event]:
    """The same operator, faster. The chain must decode as `decode()` does: no extras, and errors raised or skipped."""
    return _PlainPath().around(chain)
