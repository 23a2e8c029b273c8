"""bytes → Event: a chain from bytes to events, with a plain path past it for what nearly all chunks are.

The chain stays as it is and decides everything. Two stages are put around it: the one in front hands on reads, but
where an event is nothing but one more piece of text, of reasoning or of a tool call's arguments (`data: {…}` and a blank
line; one choice; a delta with one key that says something), it makes the delta itself and passes it to the one behind.

It does so only while the chain can have nothing to add: at the end of an event, after one that went through the chain and
came out as one event, the same that the plain path makes of it, in a stream whose id and model are known; for each
choice, and each call, by itself. Anything else goes through the chain, and so does what follows, until that is so again.
Whoever looks on is shown the chain alone.

The chain has to know the arguments of a call, as it tells by them to which call a piece belongs. So it gets those that went
past it before it gets anything else, as one piece, of which nothing comes out; and the piece that makes them whole
goes through it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct, defstruct, field

from operators._chunks import Choice, Chunk, Delta
from operators._events import Event, ReasoningDelta, Started, TextDelta, ToolCallDelta
from operators._json_depth import SHALLOW, JsonDepth, too_deep
from operators._operator import Detour, Operator, Out, Stage

_HELD = 4096  # bytes of an unfinished event that are held back; a longer one goes through the chain as it comes
_OWED = 64 * 1024  # characters of arguments that the chain has not seen yet
_SAYS: dict[str, type[TextDelta | ReasoningDelta]] = {
    "content": TextDelta,
    "reasoning_content": ReasoningDelta,
    "reasoning": ReasoningDelta,
}
_CALLS = "tool_calls"
_NOT_PLAIN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@cache
def _decoder(key: str) -> Callable[[bytes], Any]:
    """Decodes a chunk of one choice whose delta has text under a key, and nothing else that the chain would look at."""
    says: Any = ("tool_calls", tuple[_Piece]) if key == _CALLS else ("text", str, field(name=key))
    delta: Any = _struct(Delta, says, but={"role", key})
    choice: Any = _struct(Choice, ("delta", delta), ("index", int), but={"delta", "index", "message"})
    return msgspec.json.Decoder(
        _struct(Chunk, ("choices", tuple[choice]), but={"id", "model", "choices", "unknown", "lenient"})
    ).decode


class _Function(Struct, gc=False, forbid_unknown_fields=True):
    arguments: str
    name: Literal[""] | None = None


class _Piece(Struct, gc=False, forbid_unknown_fields=True):
    """A piece of a tool call that is nothing but more arguments."""

    index: int
    function: _Function
    id: Literal[""] | None = None
    type: Literal["function"] | None = None


def _struct(like: type[Struct], *required: Any, but: set[str]) -> type[Struct]:
    """A struct that must have some fields, and nothing in all the others that another one has."""
    empty = ((name, Literal[""] | None, None) for name in like.__struct_fields__ if name not in but)
    return defstruct(like.__name__, [*required, *empty], gc=False)


class _PlainPath(Detour[bytes, Event]):
    def behind(self, out: Out[Event]) -> Stage[Event]:
        """Below the chain: remembers what came of the last event."""
        came = self.meet(out, _Came(out.on_next))

        def on_next(event: Event) -> None:
            if came.known:
                return
            if type(event) is Started:
                came.named = bool(event.id and event.model)
            else:
                came.count += 1
                came.last = event
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
        counted = 0  # and how much had come out of it before
        plain: set[object] = set()  # the choices for which the last one was plain, or the calls: choice and index
        key = "content"  # under which it said something
        decoded, made = _decoder(key), _SAYS[key]
        of_calls = False  # it was a tool call's arguments
        calls: dict[object, _Call] = {}  # those that are open, and in which nothing was out of the ordinary
        owing: dict[object, _Call] = {}  # those of which the chain has not seen all

        def on_next(read: bytes) -> None:
            nonlocal tail, between, line_ended
            if (  # a whole event, as most reads are
                plain
                and between
                and not tail
                and type(read) is bytes
                and read[:7] == b"data: {"
                and read[-2:] == b"\n\n"
                and read.find(b"\n") == len(read) - 2 < SHALLOW
                and 13 not in read
            ):
                try:
                    choice = decoded(read[6:]).choices[0]
                except _NOT_PLAIN:
                    by_the_chain(read[:-2])
                else:
                    if of_calls or choice.index not in plain:
                        take(read[:-2], choice)
                    elif text := choice.delta.text:
                        emit(made(text, choice.index))
                return
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
                        if of_calls or choice.index not in plain:
                            take(line, choice)
                        elif text := choice.delta.text:
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

        def take(line: bytes, choice: Any) -> None:
            """An event that is no more text for a choice that goes on."""
            if not (of_calls and goes_on(choice)):
                by_the_chain(line)

        def goes_on(choice: Any) -> bool:
            """Tell what a piece of a call adds, unless that is more than arguments which are not whole yet."""
            piece = choice.delta.tool_calls[0]
            place = choice.index, piece.index
            if place not in plain:
                return False
            call, text = calls[place], piece.function.arguments
            if call.would_be_whole(text):
                catch_up_on_calls()
                forget(place)
                return False
            if text:
                owing[place] = call
                call.owed.append(text)
                call.size += len(text)
                emit(ToolCallDelta(call.key, piece.index, call.id, "", text, choice.index))
                if call.size > _OWED:
                    catch_up_on_calls()
            return True

        def catch_up_on_calls() -> None:
            """Let the chain know the arguments that went past it."""
            came.known = True
            try:
                for place, call in owing.items():
                    slowly(call.as_event(place))
            finally:
                came.known = False
                owing.clear()

        def forget(place: object) -> None:
            plain.discard(place)
            calls.pop(place, None)

        def by_the_chain(event: bytes) -> None:
            nonlocal key, decoded, made, of_calls
            if owing:
                catch_up_on_calls()
            before = came.count
            slowly(event + b"\n\n" if event else b"\n")
            last = came.last
            if came.count == before and b"data" not in event:  # a comment
                return
            if not came.named or came.count != before + 1:
                forget_all()
                return
            found = _key_of(event, last)
            if found is None:
                plain.clear()
            elif found != key:
                plain.clear()
                key, decoded, made = found, _decoder(found), _SAYS.get(found, TextDelta)
                of_calls = found == _CALLS
            if isinstance(last, ToolCallDelta):
                place = last.choice, last.index
                if opened_or_grown(place, last) and found is not None:
                    plain.add(place)
                return
            calls.clear()
            if isinstance(last, (TextDelta, ReasoningDelta)) and found is not None:
                plain.add(last.choice)

        def opened_or_grown(place: object, delta: ToolCallDelta) -> bool:
            """Keep in step with a call that the chain has told of; False if it is whole, or its beginning was not seen."""
            call = calls.get(place)
            if call is None or call.key != delta.key:
                if not delta.name:
                    forget(place)
                    return False
                call = calls[place] = _Call(delta.key)
            call.id = delta.id
            if call.would_be_whole(delta.arguments):
                forget(place)
                return False
            return True

        def forget_all() -> None:
            plain.clear()
            calls.clear()

        def let_go() -> None:
            nonlocal tail, between, line_ended, counted
            catch_up_on_calls()
            forget_all()
            between, counted = False, came.count
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
            if between and came.named and came.count == counted + 1 and isinstance(came.last, ToolCallDelta):
                opened_or_grown((came.last.choice, came.last.index), came.last)
            return rest

        try:
            yield on_next
        except Exception:
            let_go()
            raise
        let_go()


class _Came:
    """What has come out of the chain, but for Started."""

    __slots__ = ("count", "emit", "known", "last", "named")

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self.emit = emit
        self.count = 0
        self.last: Event | None = None
        self.named = False
        self.known = False  # what comes now has been told already


class _Call:
    """A tool call whose arguments go past the chain."""

    __slots__ = ("_depth", "_unread", "id", "key", "owed", "size")

    def __init__(self, key: int) -> None:
        self.key = key
        self.id: str | None = None
        self.owed: list[str] = []  # what the chain has not seen yet
        self.size = 0
        self._depth = JsonDepth()
        self._unread: list[str] = []  # what the depth has not seen yet

    def would_be_whole(self, text: str) -> bool:
        """Are the arguments whole with this text?"""
        self._unread.append(text)
        if "}" not in text and "]" not in text:
            return False
        self._read()
        return self._depth.whole

    def _read(self) -> None:
        self._depth.feed("".join(self._unread))
        self._unread.clear()

    def as_event(self, place: Any) -> bytes:
        """All that is owed, which is nothing afterwards."""
        piece = {"index": place[1], "function": {"arguments": "".join(self.owed)}}
        self.owed.clear()
        self.size = 0
        self._read()  # or it would be kept for as long as nothing is closed
        return b"data: %b\n\n" % _encode({"choices": [{"index": place[0], "delta": {"tool_calls": [piece]}}]})


_encode = msgspec.json.Encoder().encode


def _key_of(event: bytes, made: Event | None) -> str | None:
    """The key by which the plain path would have made the same of this event as the chain did."""
    if not event.startswith(b"data: {") or b"\n" in event:
        return None
    if isinstance(made, ToolCallDelta):
        return _CALLS if _plain_call(event, made) == made else None
    return next((key for key, says in _SAYS.items() if type(made) is says and _plainly(event, key) == made), None)


def _plainly(event: bytes, key: str) -> Event | None:
    """What the plain path makes of an event."""
    try:
        choice = _decoder(key)(event[6:]).choices[0]
    except _NOT_PLAIN:
        return None
    return _SAYS[key](choice.delta.text, choice.index)


def _plain_call(event: bytes, like: ToolCallDelta) -> Event | None:
    """What it makes of an event that goes on with the same call."""
    try:
        choice = _decoder(_CALLS)(event[6:]).choices[0]
    except _NOT_PLAIN:
        return None
    piece = choice.delta.tool_calls[0]
    return ToolCallDelta(like.key, piece.index, like.id, "", piece.function.arguments, choice.index)


def with_plain_path(chain: Operator[bytes, Event]) -> Operator[bytes, Event]:
    """The same operator, faster. The chain must decode as `decode()` does: no extras, and errors raised or skipped."""
    return _PlainPath().around(chain)
