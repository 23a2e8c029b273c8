"""Strands → the rows of a picture: which lanes are drawn, in which order, and which of them share a row.

What is upstream stands above, and streams that have nothing to do with each other stand one below the other. Strands that do
the same one after the other (attempts, rounds) share their rows. A lane that shows just what the row above it shows is not
drawn, if it ends as that one does; its name is added to that row's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from pipeline.probing._seen import SAME_TIME, Item, Lane, Strand

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
    read: bool = False  # by chains of ours, further down

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
    """Strands that share their rows. `rank` is how many others are below it, `does` a number for what they and it do."""

    strands: list[Strand]
    rank: int
    does: int

    @property
    def names(self) -> tuple[str, ...]:
        return names_of(self.strands[0])

    def ended_before(self, strand: Strand) -> bool:
        last = self.strands[-1]
        return last.end is not None and last.end.seq < strand.opened.seq


def base(name: str) -> str:
    return name.partition("(")[0]


def names_of(strand: Strand) -> tuple[str, ...]:
    return tuple(base(lane.name) for lane in strand.lanes)


def rows_of(
    strands: Iterable[Strand], stages: Collection[str] | Literal["all"] | None = None, *, apart: bool = True
) -> tuple[list[Row], int]:
    """The rows, and how many strands have none. Raises ValueError for stages that are not there.

    `apart`: what ran at once stands apart; but of one stream with more parts than there is room for, and without `apart`,
    what did the same is counted together.
    """
    strands = list(strands)
    feeds = _feeds(strands)
    tracks = _tracks(strands, feeds, apart=apart)
    if len(tracks) > TRACKS and len(set(_streams(feeds).values())) == 1:
        tracks = _tracks(strands, feeds, apart=False)
    drawn = tracks[:TRACKS] if apart else tracks
    left_out = len(strands) - sum(len(track.strands) for track in drawn)
    rows: list[Row] = []
    above: Track | None = None
    for track in drawn:
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


def tracks_of(strands: Iterable[Strand], *, apart: bool = True) -> list[Track]:
    """The tracks, what is upstream first."""
    strands = list(strands)
    return _tracks(strands, _feeds(strands), apart=apart)


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


def _depths(strands: list[Strand], feeds: dict[int, set[int]]) -> dict[int, tuple[int, int]]:
    """For each strand, how many others are below it, on the longest way down; and a number for what it and all those do."""
    depths: dict[int, tuple[int, int]] = {}
    walked: set[int] = set()
    alike: dict[tuple[tuple[str, ...], frozenset[int]], int] = {}

    def depth(number: int) -> tuple[int, int]:
        if number not in depths:
            if number in walked:  # a circle: a stream that feeds itself
                return 0, -1
            walked.add(number)
            below = [depth(other) for other in feeds[number]]
            does = names_of(strands[number]), frozenset(what for _, what in below)
            rank = max((rank + 1 for rank, _ in below), default=0)
            depths[number] = rank, alike.setdefault(does, len(alike))
        return depths[number]

    like: dict[tuple[str, ...], tuple[int, int]] = {}
    for strand in strands:
        names = names_of(strand)
        if not feeds[strand.number] and names in like:  # it never said anything: it belongs to those that do the same
            depths[strand.number] = like[names]
        like[names] = depth(strand.number)
    return depths


def _streams(feeds: dict[int, set[int]]) -> dict[int, int]:
    """For each strand, the first strand of the stream that it is part of: of all that feed each other."""
    first = {number: number for number in feeds}
    for number, below in feeds.items():
        joined = {first[number], *(first[other] for other in below)}
        first |= {other: min(joined) for other, of in first.items() if of in joined}
    return first


def _tracks(strands: list[Strand], feeds: dict[int, set[int]], *, apart: bool) -> list[Track]:
    depths, streams = _depths(strands, feeds), _streams(feeds)
    tracks: list[Track] = []
    for strand in sorted(strands, key=lambda strand: (-depths[strand.number][0], strand.opened.seq)):
        rank, does = depths[strand.number]
        alike = (track for track in tracks if track.rank == rank and track.names == names_of(strand))
        fitting = (track for track in alike if (track.ended_before(strand) if apart else track.does == does))
        track = next(fitting, None)
        if track is None:
            tracks.append(Track([strand], rank, does))
        else:
            track.strands.append(strand)
    return sorted(tracks, key=lambda track: (min(streams[strand.number] for strand in track.strands), -track.rank))


def _rows_of_track(track: Track, above: Track | None, feeds: dict[int, set[int]]) -> list[Row]:
    numbers = {strand.number for strand in track.strands}
    joined = above is not None and any(feeds[strand.number] & numbers for strand in above.strands)
    rows = [
        Row(lane.name, [(strand, strand.lanes[position]) for strand in track.strands])
        for position, lane in enumerate(track.strands[0].lanes)
    ]
    rows[0].first = True
    rows[0].foreign = joined
    rows[-1].read = track.rank > 0
    return rows


def _without_repeats(rows: list[Row]) -> list[Row]:
    shown: list[Row] = []
    for row in rows:
        follows = bool(shown) and (row.foreign or not row.first)
        if follows and _shows_the_same(row, shown[-1]):
            if row.name != "in":
                shown[-1].same.append(row.name)
        else:
            shown.append(row)
    return shown


def _shows_the_same(row: Row, above: Row) -> bool:
    """The same items, at the same times, and the same ends."""
    return (
        row.count == above.count
        and _says(row) == _says(above)
        and _ends(row, above) == _ends(above, above)
        and all(abs(item.at - other.at) < SAME_TIME for item, other in zip(row.items, above.items, strict=False))
    )


def _says(row: Row) -> list[tuple[str, str, int]]:
    return [(item.kind.replace("read", "bytes"), item.text, item.size) for item in row.items]


def _ends(row: Row, above: Row) -> list[str]:
    """How each lane ended; below a source, which has been read to its end when a chain leaves it, only with what error."""
    reads = above.lanes[0][0].is_source
    ends = [lane.end for _, lane in row.lanes]
    return ["" if end is None or (reads and not end.error) else f"{end.how} {end.error}" for end in ends]
