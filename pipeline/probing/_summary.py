"""What a probe has seen, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.probing._seen import End
from pipeline.probing._shown import number, seconds, shown, size, stage_name

if TYPE_CHECKING:
    from pipeline.probing._probe import Probe


class Summary(NamedTuple):
    """`state` is "running", or how the last strand that is read by a subscriber ended."""

    state: str
    state_words: str
    counts: str

    @property
    def words(self) -> str:
        return f"{self.state_words}, {self.counts}" if self.counts else self.state_words


def summary(seen: Probe) -> Summary:
    """From a probe to what it has seen, in one line."""
    chains = [strand for strand in seen.strands if not strand.is_source] or seen.strands
    if not chains:
        return Summary("left", "nothing was subscribed", "")
    last = next((strand for strand in chains if strand.within is None and strand.cause is None), chains[0])
    took = seconds(max(0.0, _last_moment(seen) - seen.began))
    reads = [lane for strand in seen.strands if strand.is_source for lane in strand.lanes]
    told = [f"{last.lanes[-1].count:,} from {stage_name(last.lanes[-1].name)}"] if not last.is_source else []
    if reads:
        told.insert(0, f"{number(sum(lane.count for lane in reads), 'read')}, {size(sum(lane.size for lane in reads))}")
    if seen.unseen:
        told.append(f"{seen.unseen:,} more subscriptions were not looked at")
    return Summary(*_state(last.end, took), " · ".join(told))


def _state(end: End | None, took: str) -> tuple[str, str]:
    if end is None:
        return "running", f"running, {took} so far"
    if end.how == "completed":
        return "completed", f"completed in {took}"
    if end.how == "error":
        return "error", f"broken ({shown(end.error, 24)}) after {took}"
    return "left", f"left after {took}{f', by {shown(end.error, 24)}' if end.error else ''}"


def _last_moment(seen: Probe) -> float:
    times = [strand.opened.at for strand in seen.strands]
    for strand in seen.strands:
        for lane in strand.lanes:
            kept = lane.items
            times += [kept[-1].at] if kept else []
            times += [lane.end.at] if lane.end is not None else []
    return max(times)
