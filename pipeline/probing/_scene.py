"""What a probe has seen → what is drawn, and where; the same for a picture and for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from pipeline.probing._calls import Call, calls_of
from pipeline.probing._place import Break, Placed, Room, Thing, place, place_in_columns
from pipeline.probing._rows import Row, rows_of
from pipeline.probing._seen import SAME_TIME, End, Item, Lane, Moment, Strand
from pipeline.probing._shown import shown

if TYPE_CHECKING:
    from pipeline.probing._probe import Probe


class Metrics(NamedTuple):
    """What things need: by detail, from words down to dots. The first detail that fits is taken."""

    room: Room
    details: tuple[int, ...]
    least: float
    """Of the smallest item."""
    item: Callable[[Item, int], float]
    end: float
    words: Callable[[str], float]
    """Of an end, to its right."""
    more: float
    sign: Callable[[str], float]


@dataclass(frozen=True, eq=False)
class Mark:
    """A marble: one item, or several of one column."""

    row: int
    x: float
    items: tuple[Item, ...]


class Ended(NamedTuple):
    """The mark of an end, and what stands beside it."""

    row: int
    x: float
    end: End
    strand: int
    words: str


class Span(NamedTuple):
    """A part of a row in which a strand lived."""

    row: int
    start: float
    end: float | None


class Note(NamedTuple):
    """Words on a row."""

    row: int
    x: float
    text: str


class Tick(NamedTuple):
    x: float
    at: float


@dataclass
class Scene:
    """All that is drawn. x begins at 0, where the first thing happened."""

    strands: list[Strand]
    rows: list[Row]
    detail: int
    width: float = 0.0
    marks: list[Mark] = field(default_factory=list)
    links: list[tuple[Mark | Ended, Mark | Ended]] = field(default_factory=list)
    ends: list[Ended] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    more: list[Note] = field(default_factory=list)
    signs: list[Note] = field(default_factory=list)
    scopes: list[Note] = field(default_factory=list)
    breaks: list[Break] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    places: dict[int, float] = field(default_factory=dict)
    """Of everything, by its `seq`."""
    left_out: int = 0


class _Happening(NamedTuple):
    seq: int
    at: float
    row: int
    room: float
    what: Item | Ended | Note | str | None
    after: float = 0.0


GROUPED = 4
"""The detail at which several items are one marble."""


def scene_of(seen: Probe, metrics: Metrics, stages: Collection[str] | Literal["all"] | None = None) -> Scene:
    """Raises ValueError for stages that are not there."""
    strands = seen.frozen()
    rows, left_out = rows_of(strands, stages)
    now = seen.clocks.now()
    causes = {item.seq: item for strand in strands for lane in strand.lanes for item in lane.items}
    most = max((len(row.items) for row in rows), default=0)
    fits = most * metrics.least <= metrics.room.width  # or there is no need to try
    for detail in metrics.details if fits else ():
        happenings = _happenings(seen, strands, rows, metrics, detail, now)
        placed = place(_things(happenings), metrics.room)
        if placed is not None:
            break
    else:
        detail = GROUPED
        happenings = _happenings(seen, strands, rows, metrics, metrics.details[-1], now)
        placed = place_in_columns(_things(happenings), metrics.room)
    scene = Scene(strands, rows, detail, placed.width, breaks=placed.breaks, left_out=left_out + seen.unseen)
    for one, x in zip(happenings, placed.xs, strict=True):
        scene.places.setdefault(one.seq, x)
    _put(scene, happenings, placed, strands)
    _join(scene, causes)
    _tick(scene, happenings, placed)
    scene.calls = calls_of(rows, causes, seen.tools)
    return scene


def _things(happenings: list[_Happening]) -> list[Thing]:
    start = happenings[0].at if happenings else 0.0
    return [
        Thing(one.at - start, one.row, one.room, one.after, alone=isinstance(one.what, (Ended, Note, str)))
        for one in happenings
    ]


def _happenings(
    seen: Probe, strands: list[Strand], rows: list[Row], metrics: Metrics, detail: int, now: float
) -> list[_Happening]:
    found: list[_Happening] = []
    aside = -1  # a row of its own, for what takes no room
    above: set[str] = set()  # errors that the row above has told
    for number, row in enumerate(rows):
        errors: set[str] = set()
        for strand, lane in row.lanes:
            found += [_Happening(i.seq, i.at, number, metrics.item(i, detail), i) for i in lane.items]
            end = end_of(strand, lane, strands)
            if end is not None:
                words = _words(end, above, last=number == len(rows) - 1)
                ended = Ended(number, 0, end, strand.number, words)
                found.append(_Happening(end.seq, end.at, number, metrics.end, ended, metrics.words(words)))
                errors |= {end.error} if end.how == "error" else set()
            if lane.skipped_after is not None:
                before = lane.items[lane.skipped_after - 1]
                more = f"{lane.count - len(lane.items):,} more"
                found.append(_Happening(before.seq, before.at, number, metrics.more, more))
        here = {strand.number for strand, _ in row.lanes if strand.is_source}
        signs = [sign for sign in seen.signs if sign.strand in here]
        if detail == metrics.details[-1]:  # there is little room: of a request that was answered, the status is enough
            signs = list({sign.strand: sign for sign in signs}.values())
        for sign in signs:
            text = shown(sign.text, 8)
            found.append(_Happening(*sign.moment, number, metrics.sign(text), Note(number, 0, text)))
        above = errors
    moments: list[Moment] = [strand.opened for strand in strands]
    moments += [moment for run in seen.tools for moment in (run.began, run.ended) if moment is not None]
    for moment in moments:
        found.append(_Happening(*moment, aside, 0.0, None))
        aside -= 1
    found.sort(key=lambda one: one.seq)
    if any(strand.end is None for strand in strands):  # and nothing has happened since
        found.append(_Happening(found[-1].seq + 1, now, aside, 0.0, None))
    return found


def _words(end: End, above: Collection[str], *, last: bool) -> str:
    """What stands beside the mark of an end: an error where it arose, and at the very end that the subscriber left."""
    if end.how == "error":
        return shown(end.error, 18) if end.error not in above else ""
    if end.how == "left" and last:
        return shown(f"left: {end.error}" if end.error else "left", 24)
    return ""


def end_of(strand: Strand, lane: Lane, strands: list[Strand]) -> End | None:
    """How a lane ended: by itself, or with its strand. A source says only that it was closed: those it fed know why."""
    if strand.is_source and lane.end is not None and lane.end.how == "completed":
        fed = [strands[number].lanes[0].end for number in strand.feeds]
        if fed and not any(end is not None and end.how == "completed" for end in fed):
            return End(lane.end.seq, lane.end.at, "left")
        return lane.end
    if lane.end is not None:
        return lane.end
    end = strand.left or next((below.end for below in strand.lanes if below.end is not None), None)
    return None if end is None else End(end.seq, end.at, "left", end.error if end.how == "left" else "")


def _put(scene: Scene, happenings: list[_Happening], placed: Placed, strands: list[Strand]) -> None:
    grouped: dict[tuple[int, int], list[Item]] = {}
    where: dict[tuple[int, int], float] = {}
    for number, (one, x) in enumerate(zip(happenings, placed.xs, strict=True)):
        if isinstance(one.what, Item):
            column = number if placed.columns is None else placed.columns[number]
            grouped.setdefault((one.row, column), []).append(one.what)
            where.setdefault((one.row, column), x)
        elif isinstance(one.what, Note):
            scene.signs.append(one.what._replace(x=x))
        elif isinstance(one.what, Ended):
            scene.ends.append(one.what._replace(x=x))
        elif isinstance(one.what, str):
            scene.more.append(Note(one.row, x, one.what))
    scene.marks = [Mark(key[0], where[key], tuple(items)) for key, items in grouped.items()]
    ends = {(ended.row, ended.end.seq): ended.x for ended in scene.ends}
    retried = any("attempt 2" in strand.scope for strand in strands)
    for number, row in enumerate(scene.rows):
        for strand, lane in row.lanes:
            end = end_of(strand, lane, strands)
            until = None if end is None else ends[number, end.seq]
            scene.spans.append(Span(number, scene.places[strand.opened.seq], until))
        if row.first:
            scene.scopes += _scopes(scene, number, [strand for strand, _ in row.lanes], retried=retried)


def _scopes(scene: Scene, row: int, strands: list[Strand], *, retried: bool) -> list[Note]:
    """What is tried, above where that begins: what the one before it says of itself is not said again."""
    notes: list[Note] = []
    before: tuple[str, ...] = ()
    for strand in strands:
        new = [part for part in strand.scope if part not in before or part == strand.scope[-1]]
        if text := " · ".join(part for part in new if part != "attempt 1" or retried):
            notes.append(Note(row, scene.places[strand.opened.seq], text))
        before = strand.scope
    return notes


def _join(scene: Scene, causes: dict[int, Item]) -> None:
    """Each marble with the one that caused it, past lanes that are not drawn.

    What is emitted at the end of the row above comes from that end, and the end from the marble that caused both.
    """
    mark_of = {item.seq: mark for mark in scene.marks for item in mark.items}
    owner = {i.seq: strand.number for row in scene.rows for strand, lane in row.lanes for i in lane.items}
    ends: dict[int, list[Ended]] = {}
    for ended in scene.ends:
        if ended.end.how != "left":
            ends.setdefault(ended.row, []).append(ended)
    links: dict[tuple[Mark | Ended, Mark | Ended], None] = {}
    for mark in scene.marks:
        for item in mark.items:
            cause = item.cause
            while cause is not None and cause not in mark_of:
                cause = causes[cause].cause if cause in causes else None
            above = mark_of[cause] if cause is not None else None
            flushed = _end_above(ends, mark, item, owner[item.seq])
            if flushed is not None and (above is None or above.row < flushed.row):
                links[flushed, mark] = None
                if above is not None:
                    between = [ended for row in range(above.row + 1, mark.row) for ended in ends.get(row, ())]
                    caused = [one for one in between if above.items[0].seq < one.end.seq < item.seq]
                    links |= dict.fromkeys((above, ended) for ended in caused[:1])
            elif above is not None:
                links[above, mark] = None
    scene.links = list(links)


def _end_above(ends: dict[int, list[Ended]], mark: Mark, item: Item, strand: int) -> Ended | None:
    """The end of the lane above, if it had come before this item."""
    above = [ended for ended in ends.get(mark.row - 1, ()) if ended.strand == strand]
    return next((ended for ended in above if ended.end.seq < item.seq), None)


def _tick(scene: Scene, happenings: list[_Happening], placed: Placed) -> None:
    """A tick wherever time has gone on."""
    scene.ticks = [Tick(0.0, 0.0)] if happenings else []
    times = list(zip([one.at for one in happenings], placed.xs, strict=True))
    start = happenings[0].at if happenings else 0.0
    last = start
    for at, x in times:
        if at - last >= SAME_TIME:
            scene.ticks.append(Tick(x, at - start))
            last = at
