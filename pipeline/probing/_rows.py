"""Strands → the rows of a picture: which lanes are drawn, in which order, and which of them share a row.

What is upstream stands above. Strands that do the same one after the other (attempts, rounds) share their rows. A lane that
shows just what the row above it shows is not drawn; its name is added to that row's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from pipeline.probing._seen import Item, Lane, Strand

TRACKS = 12
"""Strands that are drawn below each other; more of them are only counted."""


@dataclass
class Row:
    """One line of the picture."""

    name: str
    lanes: list[tuple[Strand, Lane]]
    same: list[str] = field(default_factory=list)  # stages that emit just the same
    foreign: bool = False  # operators that are not ours stand between this row and the one above it
    first: bool = False  # of its track

    @property
    def items(self) -> list[Item]:
        return [item for _, lane in self.lanes for item in lane.items]

    @property
    def count(self) -> int:
        return sum(lane.count for _, lane in self.lanes)

    @property
    def size(self) -> int:
        return sum(lane.size for _, lane in self.lanes)

    @property
    def base(self) -> str:
        return base(self.name)


@dataclass
class Track:
    strands: list[Strand]
    rank: int

    @property
    def names(self) -> tuple[str, ...]:
        return names_of(self.strands[0])

    def takes(self, strand: Strand) -> bool:
        """It does the same as those that are here, and began when they had ended."""
        last = self.strands[-1]
        return names_of(strand) == self.names and last.end is not None and last.end.seq < strand.opened.seq


def base(name: str) -> str:
    return name.partition("(")[0]


def names_of(strand: Strand) -> tuple[str, ...]:
    return tuple(base(lane.name) for lane in strand.lanes)


def rows_of(strands: Iterable[Strand], stages: Collection[str] | Literal["all"] | None = None) -> tuple[list[Row], int]:
    """The rows, and how many strands have none. Raises ValueError for stages that are not there."""
    strands = list(strands)
    feeds = _feeds(strands)
    tracks = _tracks(strands, _ranks(strands, feeds))
    left_out = sum(len(track.strands) for track in tracks[TRACKS:])
    rows: list[Row] = []
    above: Track | None = None
    for track in tracks[:TRACKS]:
        rows += _rows_of_track(track, above, feeds)
        above = track
    if stages == "all":
        return rows, left_out
    if stages is None:
        return _without_repeats(rows), left_out
    wanted = {base(stage) for stage in stages}
    unknown = wanted - {row.base for row in rows}
    if unknown:
        there = ", ".join(dict.fromkeys(row.base for row in rows))
        raise ValueError(f"there is no stage {', '.join(sorted(unknown))} in this picture; there are: {there}")
    return [row for row in rows if row.base in wanted], left_out


def _feeds(strands: list[Strand]) -> dict[int, set[int]]:
    """For each strand, those right below it."""
    feeds: dict[int, set[int]] = {strand.number: set(strand.feeds) for strand in strands}
    owner = {item.seq: strand.number for strand in strands for lane in strand.lanes for item in lane.items}
    for strand in strands:
        if strand.within is not None:
            feeds[strand.number].add(strand.within)
        if strand.cause is not None and strand.cause in owner:
            feeds[owner[strand.cause]].add(strand.number)
    return feeds


def _ranks(strands: list[Strand], feeds: dict[int, set[int]]) -> dict[int, int]:
    """How many strands are below each one, on the longest way down."""
    ranks: dict[int, int] = {}
    walked: set[int] = set()

    def rank(number: int) -> int:
        if number not in ranks:
            if number in walked:  # a circle: a stream that feeds itself
                return 0
            walked.add(number)
            ranks[number] = max((rank(below) + 1 for below in feeds[number]), default=0)
        return ranks[number]

    like: dict[tuple[str, ...], int] = {}
    for strand in strands:
        names = names_of(strand)
        if not feeds[strand.number]:  # it never said anything: it belongs to those that do the same
            ranks[strand.number] = like.get(names, 0)
        like[names] = rank(strand.number)
    return ranks


def _tracks(strands: list[Strand], ranks: dict[int, int]) -> list[Track]:
    tracks: list[Track] = []
    for strand in sorted(strands, key=lambda strand: (-ranks[strand.number], strand.opened.seq)):
        rank = ranks[strand.number]
        free = next((track for track in tracks if track.rank == rank and track.takes(strand)), None)
        if free is None:
            tracks.append(Track([strand], rank))
        else:
            free.strands.append(strand)
    return tracks


def _rows_of_track(track: Track, above: Track | None, feeds: dict[int, set[int]]) -> list[Row]:
    numbers = {strand.number for strand in track.strands}
    joined = above is not None and any(feeds[strand.number] & numbers for strand in above.strands)
    rows = [
        Row(lane.name, [(strand, strand.lanes[position]) for strand in track.strands])
        for position, lane in enumerate(track.strands[0].lanes)
    ]
    rows[0].first = True
    rows[0].foreign = joined
    return rows


def _without_repeats(rows: list[Row]) -> list[Row]:
    shown: list[Row] = []
    for row in rows:
        follows = bool(shown) and (row.foreign or not row.first)
        if follows and _says(row) == _says(shown[-1]) and row.count == shown[-1].count:
            if row.name != "in":
                shown[-1].same.append(row.name)
        else:
            shown.append(row)
    return shown


def _says(row: Row) -> list[tuple[str, str, int]]:
    return [(item.kind.replace("read", "bytes"), item.text, item.size) for item in row.items]
