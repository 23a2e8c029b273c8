"""What a probe has seen, in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from pipeline.probing._rows import tracks_of
from pipeline.probing._seen import Strand
from pipeline.probing._shown import number, seconds, shown, size

if TYPE_CHECKING:
    from pipeline.probing._probe import Probe


class Summary(NamedTuple):
    """`state` is "running", or how what was read by subscribers ended: broken, if one of them did."""

    state: Literal["running", "completed", "error", "left"]
    state_words: str
    counts: str

    @property
    def words(self) -> str:
        return f"{self.state_words}, {self.counts}" if self.counts else self.state_words


def summary(seen: Probe, strands: Sequence[Strand], left_out: int) -> Summary:
    """From what a probe has seen to one line; so many subscriptions are not shown where that stands."""
    if not strands:
        return Summary("left", "nothing was subscribed", "")
    reads = [strand.lanes[0] for strand in strands if strand.is_source]
    told = [f"{number(sum(lane.count for lane in reads), 'read')}, {size(sum(lane.size for lane in reads))}"]
    lowest = tracks_of(strands, apart=False)[-1].strands
    if not lowest[0].is_source:
        given = sum(strand.lanes[-1].count for strand in lowest)
        told = [*(told if reads else []), f"{number(given, 'item')} out"]
    if left_out:
        told.append(f"{number(left_out, 'subscription')} left out")
    counts = " · ".join(told)
    began = strands[0].opened.at
    if any(strand.end is None for strand in strands):
        return Summary("running", f"running{_for(',', seen.clocks.now() - began, ' so far')}", counts)
    tracks = tracks_of(strands)
    rank = min(track.rank for track in tracks)  # above 0 where a stream feeds itself
    ends = [track.strands[-1].end for track in tracks if track.rank == rank]
    end = min((end for end in ends if end is not None), key=lambda end: ("error", "left", "completed").index(end.how))
    took = _last_moment(strands) - began
    if end.how == "completed":
        return Summary("completed", f"completed{_for(' in', took)}", counts)
    if end.how == "error":
        return Summary("error", f"broken ({shown(end.error, 24)}){_for(' after', took)}", counts)
    return Summary("left", f"left{_for(' after', took)}{f', by {shown(end.error, 24)}' if end.error else ''}", counts)


def _for(before: str, took: float, after: str = "") -> str:
    """A time between words; nothing where none has passed."""
    return f"{before} {seconds(took)}{after}" if took > 0 else ""


def _last_moment(strands: Iterable[Strand]) -> float:
    times = [strand.opened.at for strand in strands]
    for strand in strands:
        for lane in strand.lanes:
            times += [item.at for item in lane.items[-1:]]
            times += [lane.end.at] if lane.end is not None else []
    return max(times)
