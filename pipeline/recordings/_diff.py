"""Two recordings → where they part."""

from __future__ import annotations

import os
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from reactivex.scheduler import VirtualTimeScheduler

from operators import (
    Event,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
    tool_calls,
)
from pipeline.chat._decode import decode
from pipeline.recordings._recording import RecordedAttempt, RecordedStream, Recording
from pipeline.recordings._replayed import replayed

_CONTEXT = 30  # characters that are shown before and after the place where two texts part
_SHOWN = 200


class Side(Struct, frozen=True):
    """One of the two at the place where they part: the event there (counted from 0), its time, and what it says."""

    event: int
    at: float
    says: str


class Parting(Struct, frozen=True):
    """The first difference of two streams: in `what`, at character `position` of it where it is a text."""

    stream: int
    what: str
    position: int | None
    a: Side
    b: Side


class Timing(Struct, frozen=True):
    """When one stream said what, in seconds since it was subscribed; None for what never came."""

    first_byte: float | None
    first_content: float | None
    longest_gap: float | None
    duration: float
    reads: int
    bytes: int
    events: int


class Diff(Struct, frozen=True):
    """What `diff()` finds. `str()` of it is for people."""

    partings: tuple[Parting, ...]
    timings: tuple[tuple[Timing | None, Timing | None], ...]
    same_bytes: bool
    same_reads: bool

    @property
    def same(self) -> bool:
        """Both say the same; ids, times, and how the answer was cut into pieces may differ."""
        return not self.partings

    def __str__(self) -> str:
        return "\n".join(_report(self))


def diff(a: str | os.PathLike[str] | Recording, b: str | os.PathLike[str] | Recording) -> Diff:
    """From two recordings, or plain bodies, to where they part.

    Compares, stream by stream, what the last attempts say once decoded: texts, reasoning and arguments character by
    character, however they were cut; all other events as wholes, but for the ids of answers and calls, which differ from
    run to run; then how they end. Bytes and cuts are compared too. Raises as `Recording.load` does.

    >>> import tempfile
    >>> def body(text):
    ...     file = tempfile.NamedTemporaryFile(delete=False)
    ...     _ = file.write(b'data: {"choices":[{"delta":{"content":"%s"}}]}\\n\\ndata: [DONE]\\n\\n' % text)
    ...     file.close()
    ...     return file.name
    >>> found = diff(body(b"The answer is 42"), body(b"The answer is 43"))
    >>> found.partings[0].what, found.partings[0].position
    ('text of choice 0', 15)
    """
    ones = a if isinstance(a, Recording) else Recording.load(a)
    others = b if isinstance(b, Recording) else Recording.load(b)
    partings: list[Parting] = []
    timings: list[tuple[Timing | None, Timing | None]] = []
    for number, (one, other) in enumerate(zip_longest(ones.streams, others.streams), 1):
        said_a, said_b = _said(one), _said(other)
        parting = _parting(number, said_a, said_b)
        if parting is not None:
            partings.append(parting)
        timings.append((said_a.timing, said_b.timing))
    reads_a, reads_b = _reads(ones), _reads(others)
    return Diff(
        tuple(partings),
        tuple(timings),
        [[b"".join(reads) for reads in stream] for stream in reads_a]
        == [[b"".join(reads) for reads in stream] for stream in reads_b],
        reads_a == reads_b,
    )


def _reads(recording: Recording) -> list[list[list[bytes]]]:
    return [[[read.data for read in attempt.reads] for attempt in stream.attempts] for stream in recording.streams]


# ------------------------------------------------------------------------------------------------ what a stream says


class _Piece(NamedTuple):
    """Where in a part an event begins."""

    position: int
    event: int
    at: float


class _Part:
    """All that a stream says of one thing: a text that grows, or the events of one kind."""

    def __init__(self, *, is_text: bool) -> None:
        self.is_text = is_text
        self._texts: list[str] = []
        self._pieces: list[_Piece] = []
        self._length = 0

    def add(self, text: str, event: int, at: float) -> None:
        self._pieces.append(_Piece(self._length, event, at))
        self._texts.append(text)
        self._length += len(text)

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def side(self, position: int) -> Side:
        """What stands at this place; at the end of the text, that it ends there."""
        piece = next(p for p in reversed(self._pieces) if p.position <= position)
        said = self.text
        if self.is_text:
            before, after = said[max(0, position - _CONTEXT) : position], said[position : position + _CONTEXT]
            return Side(piece.event, piece.at, repr(before + after) + ("" if after else ", and ends there"))
        return Side(piece.event, piece.at, self._texts[self._pieces.index(piece)][:_SHOWN])


class _Said(NamedTuple):
    parts: dict[str, _Part]
    events: int
    end: float
    timing: Timing | None


def _said(stream: RecordedStream | None) -> _Said:
    if stream is None:
        return _Said({}, 0, 0.0, None)
    parts: dict[str, _Part] = {}
    events, content, last, usage = 0, None, 0.0, None
    end = "completed"

    def add(what: str, text: str, at: float, *, is_text: bool) -> None:
        parts.setdefault(what, _Part(is_text=is_text)).add(text, events, at)

    for at, event in _timed_events(stream.last):
        last = at
        if isinstance(event, Exception):
            end = f"{type(event).__name__}: {event}"
            continue
        if isinstance(event, Usage):  # running totals: only the last one counts
            usage = (event, at)
        for what, text, is_text in _of(event):
            if is_text and content is None:
                content = at
            add(what, text, at, is_text=is_text)
        events += 1
    if usage is not None:
        add("Usage", repr(usage[0]), usage[1], is_text=False)
    add("the end", end, last, is_text=False)
    return _Said(parts, events, last, _timing(stream.last, content, events))


def _timed_events(attempt: RecordedAttempt) -> list[tuple[float, Event | Exception]]:
    """What decoding gives, with the offsets of the reads; played in virtual time, so that it takes none."""
    found: list[tuple[float, Event | Exception]] = []
    clock = VirtualTimeScheduler()

    def keep(event: Event | Exception) -> None:
        found.append((clock.to_seconds(clock.now), event))

    whole = Recording((RecordedStream(attempts=(attempt,)),))
    replayed(whole).pipe(decode(), tool_calls()).subscribe(keep, keep, scheduler=clock)
    clock.start()
    return found


def _of(event: Event) -> list[tuple[str, str, bool]]:
    """What an event adds: to what, which text, and whether it is a text that grows."""
    match event:
        case TextDelta():
            return [(f"text of choice {event.choice}", event.text, True)]
        case ReasoningDelta():
            return [(f"reasoning of choice {event.choice}", event.text, True)]
        case RefusalDelta():
            return [(f"refusal of choice {event.choice}", event.text, True)]
        case ToolCallDelta():
            call = f"of call {event.key} of choice {event.choice}"
            pieces = ((f"name {call}", event.name, True), (f"arguments {call}", event.arguments, True))
            return [piece for piece in pieces if piece[1]]
        case Usage():
            return []
    choice = getattr(event, "choice", 0)
    return [(f"{type(event).__name__} of choice {choice}", _without_ids(event), False)]


def _without_ids(event: Event) -> str:
    if isinstance(event, Started):
        event = msgspec.structs.replace(event, id=None)
    elif isinstance(event, ToolCall):
        event = msgspec.structs.replace(event, id="")
    return repr(event)


def _timing(attempt: RecordedAttempt, content: float | None, events: int) -> Timing:
    times = [read.at for read in attempt.reads]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    duration = attempt.end.at if attempt.end is not None else (times[-1] if times else 0.0)
    sizes = sum(len(read.data) for read in attempt.reads)
    return Timing(times[0] if times else None, content, max(gaps, default=None), duration, len(times), sizes, events)


# ------------------------------------------------------------------------------------------------ where two part


def _parting(stream: int, a: _Said, b: _Said) -> Parting | None:
    """The earliest of the first differences of all parts."""
    found: list[Parting] = []
    for what in {**a.parts, **b.parts}:
        one, other = a.parts.get(what), b.parts.get(what)
        if one is None or other is None:
            there = one or other
            position, is_text = 0, there is not None and there.is_text
        else:
            texts = [one.text, other.text]
            if texts[0] == texts[1]:
                continue
            position, is_text = _common(*texts), one.is_text
        sides = [
            part.side(position) if part is not None else Side(said.events, said.end, "nothing")
            for part, said in ((one, a), (other, b))
        ]
        found.append(Parting(stream, what, position if is_text else None, sides[0], sides[1]))
    return min(found, key=lambda parting: min(parting.a.event, parting.b.event), default=None)


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


# ------------------------------------------------------------------------------------------------ for people


def _report(found: Diff) -> list[str]:
    lines: list[str] = []
    parting = {one.stream: one for one in found.partings}
    for number, (a, b) in enumerate(found.timings, 1):
        title = f"stream {number}: " if len(found.timings) > 1 else ""
        part = parting.get(number)
        if part is None:
            lines.append(f"{title}both say the same")
        else:
            place = f", character {part.position}" if part.position is not None else ""
            lines.append(f"{title}they part in {part.what}{place}")
            for name, side in (("A", part.a), ("B", part.b)):
                lines.append(f"  {name}  event {side.event}, {side.at:.3f} s  {side.says}")
        lines += _table(a, b)
    if found.same_reads:
        lines.append("the reads are the same, byte by byte")
    elif found.same_bytes:
        lines.append("the bytes are the same, cut otherwise")
    return lines


def _table(a: Timing | None, b: Timing | None) -> list[str]:
    rows = [("", "A", "B", "")]
    for name in Timing.__struct_fields__:
        one, other = getattr(a, name, None), getattr(b, name, None)
        seconds = name not in {"reads", "bytes", "events"}
        delta = "" if one is None or other is None or one == other else _number(other - one, seconds=seconds, sign="+")
        shown_a, shown_b = _number(one, seconds=seconds), _number(other, seconds=seconds)
        rows.append((name.replace("_", " "), shown_a, shown_b, delta))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        f"  {row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}".rstrip()
        for row in rows
    ]


def _number(value: Any, *, seconds: bool, sign: str = "") -> str:
    if value is None:
        return "-"
    return f"{value:{sign}.3f} s" if seconds else f"{value:{sign},}"
