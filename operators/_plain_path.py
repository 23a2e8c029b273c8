"""bytes → Event: a chain from bytes to events, with a plain path past it for what nearly all chunks are.

The chain stays as it is and decides everything. A stage above it hands reads on to it, but where an event is nothing but
one more piece of text, of reasoning or of a tool call's arguments (`data: {…}` and a blank line; one choice; a delta with
one key that says something), that stage makes the delta itself and passes it to what is below the chain.

It does so only while the chain can have nothing to add: at the end of an event, after one that went through the chain and
came out as one event, the same that the plain path makes of it, in a stream whose id and model are known; for each
choice, and each call, by itself. Anything else goes through the chain, and so does what follows, until that is so again.
Where it never is, the chain is left alone for a while. Whoever looks on is shown the chain alone.

Most streams begin in the same way: a chunk with id, model and role, then the text of one choice. As long as that is all,
there is no chain yet. It is set up when the first other thing comes, at the latest at the end, and gets one event from
which it knows as much as if it had seen them all; nothing comes out of that.

The chain has to know the arguments of a call, as it tells by them to which call a piece belongs. So it gets those that went
past it before it gets anything else, as one piece, of which nothing comes out; and the piece that makes them whole
goes through it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, defstruct, field

from operators._chunks import Choice, Chunk, Delta
from operators._events import Event, ReasoningDelta, Started, TextDelta, ToolCallDelta
from operators._json_depth import SHALLOW, too_deep
from operators._operator import Detour, Forking, Operator, Stage
from operators._plain_calls import Place, PlainCalls
from operators._run import Kernel

_HELD = 4096  # bytes of an unfinished event that are held back; a longer one goes through the chain as it comes
_CHOICES = 1 << 31  # more than anybody asks for
_MISSES = 64  # events after which nothing was plain, and it is not looked for any more
_PAUSE = 1024  # until that many more reads have come; to look for it costs half as much as the chain
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
    choice: Any = _struct(
        Choice, ("delta", delta), ("index", int), ("message", None, None), but={"delta", "index", "message"}
    )
    return msgspec.json.Decoder(
        _struct(Chunk, ("choices", tuple[choice]), but={"id", "model", "choices", "unknown", "lenient"})
    ).decode


@cache
def _opening() -> Callable[[bytes], Any]:
    """Decodes a chunk that has a name, and one choice that says who speaks, or begins its text."""
    delta: Any = _struct(
        Delta,
        ("role", str | None, None),
        ("text", str | None, field(name="content", default=None)),
        but={"role", "content"},
    )
    choice: Any = _struct(
        Choice, ("delta", delta), ("index", int), ("message", None, None), but={"delta", "index", "message"}
    )
    named: Any = [("id", str), ("model", str), ("choices", tuple[choice])]
    return msgspec.json.Decoder(_struct(Chunk, *named, but={"id", "model", "choices", "unknown", "lenient"})).decode


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
    def front(self, out: Forking[bytes, Event]) -> Stage[bytes]:
        past = _Past(out, self.kernels)
        try:
            yield past.on_next
        except Exception:
            past.let_go()
            raise
        past.let_go()


class _Opened(NamedTuple):
    """What the first chunk said, of a stream that the chain has not seen."""

    id: str
    model: str
    role: str
    choice: int


class _Past:
    """What goes past the chain, and what is known of that which went through it."""

    __slots__ = (
        "_between",
        "_calls",
        "_came",
        "_chain",
        "_counted",
        "_decoded",
        "_emit",
        "_key",
        "_last",
        "_line_ended",
        "_made",
        "_missed",
        "_named",
        "_opened",
        "_out",
        "_plain",
        "_slowly",
        "_tail",
        "_telling",
        "_told",
    )

    def __init__(self, out: Forking[bytes, Event], chain: tuple[Kernel, ...]) -> None:
        self._out, self._chain, self._emit = out, chain, out.on_next
        self._slowly: Callable[[bytes], None] | None = None  # into the chain, once it has begun
        self._opened: _Opened | None = None

        self._tail = b""  # of an event that has begun: nothing can come of it before its blank line
        self._between = True  # the chain has seen whole events only
        self._line_ended = False  # and if not, whether the last read ended a line
        self._counted = 0  # and how much had come out of it before

        self._key = "content"  # under which a delta says something
        self._decoded, self._made = _decoder("content"), _SAYS["content"]
        # The choices for which the last event was plain, or the places of calls; none where the chain has a part of an event.
        self._plain: Collection[object] = ()
        self._calls: PlainCalls | None = None  # once there are any

        self._came = 0  # how many events have come out of the chain, but for Started
        self._last: Event | None = None  # of these
        self._named = False  # the stream's id and model are known
        self._missed = 0  # events after which nothing was plain, one after another
        self._told = False  # what comes out of the chain now has been told already
        self._telling = False  # the chain has the word: who feeds the source now does so from inside on_next

    def on_next(self, read: bytes) -> None:
        if (  # a whole event, as most reads are
            self._plain
            and not self._tail
            and type(read) is bytes
            and read.find(b"\n") == len(read) - 2 < SHALLOW
            and read[-1] == 10
            and read[:7] == b"data: {"
            and 13 not in read
        ):
            try:
                choice = self._decoded(read[6:]).choices[0]
            except _NOT_PLAIN:
                self._odd(read[:-2])
            else:
                if choice.index in self._plain:
                    if text := choice.delta.text:
                        self._emit(self._made(text, choice.index))
                elif not self._goes_on(choice):
                    self._odd(read[:-2])
        elif type(read) is bytes and 13 not in read and self._missed < _MISSES:
            self._read(read)
        else:
            if self._between:
                self.let_go()
            self._into_chain(read)
            self._line_ended = read[-1:] == b"\n"
            if self._missed:
                self._missed = (self._missed + 1) % (_MISSES + _PAUSE)

    def _read(self, read: bytes) -> None:
        """One that has several events, or a part of one."""
        if self._tail:
            if b"\n" not in read:
                self._tail += read
                self._hold()
                return
            read, self._tail = self._tail + read, b""
        if not self._plain:
            read = self._since_last(read)
        whole, _, tail = read.rpartition(b"\n\n")
        payloads = whole[6:].split(b"\n\ndata: ") if whole[:7] == b"data: {" else []
        if payloads and whole.count(b"\n") == 2 * len(payloads) - 2:
            self._tail = tail
            self._one_liners(payloads)
        else:
            events, self._tail = _events(read)
            for event in events:
                if event[:7] == b"data: {" and b"\n" not in event:
                    self._one_liners([event[6:]])
                else:
                    self._odd(event)
        if self._tail:
            self._hold()

    def _hold(self) -> None:
        """What is held may be held on, if it is not too much and may come to something plain."""
        if len(self._tail) > _HELD or (self._slowly is not None and not self._named):
            self.let_go()

    def _one_liners(self, payloads: list[bytes]) -> None:
        """Events of one line each, which begins with `data: `."""
        emit, decoded, made, plain = self._emit, self._decoded, self._made, self._plain
        for payload in payloads:
            if self._plain is not plain:  # after one that was not, or by a subscriber who feeds the source
                decoded, made, plain = self._decoded, self._made, self._plain
            if plain and (len(payload) <= SHALLOW or not too_deep(payload)):
                try:
                    choice = decoded(payload).choices[0]
                except _NOT_PLAIN:
                    pass
                else:
                    if choice.index in plain:
                        if text := choice.delta.text:
                            emit(made(text, choice.index))
                        continue
                    if self._goes_on(choice):
                        continue
            self._odd(b"data: " + payload)

    def _since_last(self, read: bytes) -> bytes:
        """What is left of a read when what it goes on with is in the chain."""
        if self._slowly is None and self._opened is None and not read.startswith(b"data: {"):
            if b"data: {".startswith(read):  # it may yet be how most begin: such a tail is all that there is
                return read
            self.let_go()
        return read if self._between else self._catch_up(read)

    def _odd(self, event: bytes) -> None:
        """An event that is not plain, or of which that is not known yet."""
        if self._slowly is not None or not self._opens(event):
            self._by_the_chain(event)
            if self._plain:
                self._missed = 0
            elif b"data" in event:
                self._missed += 1

    # -------------------------------------------------------------------------------- a stream that the chain has not seen

    def _opens(self, event: bytes) -> bool:
        """Tell what an event says, if that is how most streams begin: a name and a role, then one choice that speaks."""
        if not event.startswith(b"data: {") or b"\n" in event or (len(event) > SHALLOW and too_deep(event)):
            return False
        if self._opened is None:
            return self._opens_with(event[6:])
        for key in _SAYS:
            try:
                choice = _decoder(key)(event[6:]).choices[0]
            except _NOT_PLAIN:
                continue
            if choice.index == self._opened.choice:
                if choice.delta.text:
                    self._speaks(key, choice.index, choice.delta.text)
                return True
        return False

    def _opens_with(self, payload: bytes) -> bool:
        try:
            chunk = _opening()(payload)
        except _NOT_PLAIN:
            return False
        choice = chunk.choices[0]
        if not (chunk.id and chunk.model and 0 <= choice.index < _CHOICES):
            return False
        self._named = True
        self._opened = opened = _Opened(chunk.id, chunk.model, choice.delta.role or "assistant", choice.index)
        self._emit(Started(*opened))
        if choice.delta.text and self._slowly is None:
            self._speaks("content", choice.index, choice.delta.text)
        elif choice.delta.text:  # a subscriber has fed other things meanwhile
            self._by_the_chain(b"data: " + payload)
        return True

    def _speaks(self, key: str, choice: int, text: str) -> None:
        self._say_under(key)
        self._plain = (choice,)
        self._emit(self._made(text, choice))

    def _say_under(self, key: str) -> None:
        self._plain = ()
        self._key, self._decoded, self._made = key, _decoder(key), _SAYS.get(key, TextDelta)

    # ------------------------------------------------------------------------------------------------ through the chain

    def _begin(self) -> Callable[[bytes], None]:
        """Set the chain up, and let it know what went past it."""
        self._slowly = into = self._out.begin(self._chain, self._out_of_chain)
        if self._opened is not None:
            self._told = True
            into(_as_event(self._opened, said=bool(self._plain)))
            self._told = False
        return into

    def _into_chain(self, read: bytes) -> None:
        into = self._slowly or self._begin()
        telling, self._telling = self._telling, True
        into(read)
        self._telling = telling

    def _out_of_chain(self, event: Event) -> None:
        if self._told:
            return
        if type(event) is Started:
            self._named = bool(event.id and event.model)
        else:
            self._came += 1
            self._last = event
            if type(event) is ToolCallDelta:
                self._calls = self._calls or PlainCalls()
                self._calls.tell(event)
        self._emit(event)

    def _by_the_chain(self, event: bytes) -> None:
        self._catch_up_on_calls()
        if self._slowly is None:
            self._begin()
        plain, self._plain = self._plain, ()  # nothing is, for a subscriber who feeds the source meanwhile
        before, fed = self._came, self._telling
        self._into_chain(event + b"\n\n" if event else b"\n")
        last = self._last
        if fed:
            self._came += 1  # so that nobody takes what came for what the outer event gave
            return
        if self._came == before and b"data" not in event:  # a comment
            self._plain = plain
            return
        if not (self._named and self._between) or self._came != before + 1:
            self._forget_all()
            return
        self._plain = plain
        found = _key_of(event, last)
        if found is None:
            self._plain = ()
        elif found != self._key:
            self._say_under(found)
        if isinstance(last, ToolCallDelta):
            place = last.choice, last.index
            if self._grows(place, last) and found is not None:
                self._plain = _with(self._plain, place)
            return
        self._forget_calls()
        if isinstance(last, (TextDelta, ReasoningDelta)) and found is not None:
            self._plain = _with(self._plain, last.choice)

    def let_go(self) -> None:
        """All that is held goes into the chain, which sees what follows from where that stops."""
        self._catch_up_on_calls()
        if self._slowly is None:
            self._begin()
        self._forget_all()
        self._between, self._counted = False, self._came
        self._line_ended = self._tail[-1:] == b"\n"
        if self._tail:
            held, self._tail = self._tail, b""
            self._into_chain(held)

    def _catch_up(self, read: bytes) -> bytes:
        """What follows the event that is open in the chain."""
        if self._line_ended and read[:1] == b"\n":
            first, blank, rest = b"", b"\n", read[1:]
        else:
            first, blank, rest = read.partition(b"\n\n")
        self._line_ended = first[-1:] == b"\n" and not blank
        self._between = bool(blank)
        self._into_chain(first + blank)
        last = self._last
        if self._between and self._named and self._came == self._counted + 1 and isinstance(last, ToolCallDelta):
            self._grows((last.choice, last.index), last)
        return rest

    # ------------------------------------------------------------------------------------------------ tool calls

    def _goes_on(self, choice: Any) -> bool:
        """Tell what a piece of a call adds, if it is one, and no more than arguments which are not whole yet."""
        calls = self._calls
        if calls is None or self._key != _CALLS:
            return False
        piece = choice.delta.tool_calls[0]
        place = choice.index, piece.index
        if place not in self._plain:
            return False
        text = piece.function.arguments
        if calls.would_be_whole(place, text):
            self._catch_up_on_calls()
            self._plain = _without(self._plain, place)
            calls.forget(place)
            return False
        if text:
            key, id_ = calls.owe(place, text)
            self._emit(ToolCallDelta(key, piece.index, id_, "", text, choice.index))
            if calls.owed > _OWED:
                self._catch_up_on_calls()
        return True

    def _catch_up_on_calls(self) -> None:
        """Let the chain know the arguments that went past it."""
        if self._calls is not None and self._calls.owed:
            self._told = True
            try:
                for event in self._calls.paid():
                    self._into_chain(event)
            finally:
                self._told = False

    def _grows(self, place: Place, delta: ToolCallDelta) -> bool:
        """Keep in step with a call that the chain has told of; False if it is whole, or its beginning was not seen."""
        if self._calls is not None and self._calls.follow(place, delta):
            return True
        self._plain = _without(self._plain, place)
        return False

    def _forget_all(self) -> None:
        self._plain = ()
        self._forget_calls()

    def _forget_calls(self) -> None:
        if self._calls is not None:
            self._calls.forget_all()


def _events(read: bytes) -> tuple[list[bytes], bytes]:
    """The events in a read, each without its blank line; and what is left, of one that has none."""
    lines = read.split(b"\n")
    end = len(lines) - 1  # the last one is not ended
    events = []
    at = 0
    while at < end:
        try:
            blank = lines.index(b"", at, end)
        except ValueError:
            break
        events.append(b"\n".join(lines[at:blank]))
        at = blank + 1
    return events, lines[end] if at == end else b"\n".join(lines[at:])


def _with(some: Collection[object], one: object) -> Collection[object]:
    """A tuple as long as it is alone, which takes a quarter of the memory of a set."""
    if isinstance(some, set):
        some.add(one)
        return some
    return some if one in some else {*some, one} if some else (one,)


def _without(some: Collection[object], one: object) -> Collection[object]:
    if isinstance(some, set):
        some.discard(one)
        return some
    return () if one in some else some


_encode = msgspec.json.Encoder().encode


def _as_event(opened: _Opened, *, said: bool) -> bytes:
    """An event from which a chain knows what it would know if it had seen how a stream began."""
    choice = {"index": opened.choice, "delta": {"role": opened.role, "content": " " if said else ""}}
    return b"data: %b\n\n" % _encode({"id": opened.id, "model": opened.model, "choices": [choice]})


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
    return _PlainPath(chain).as_operator()
