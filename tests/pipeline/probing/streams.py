"""Streams to look at."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reactivex import Observable
from reactivex.scheduler import VirtualTimeScheduler

import pipeline.embedded
from pipeline.probing import Probe, probe
from pipeline.probing._seen import Item
from pipeline.recordings import Failure, RecordedAttempt, RecordedEnd, RecordedRead, RecordedStream, Recording, replayed
from tests.support import Seen


def timed(
    reads: Iterable[bytes],
    *,
    every: float = 0.03,
    first: float = 0.05,
    stall: tuple[int, float] = (-1, 0),
    failure: Any = None,
) -> Observable[bytes]:
    """The reads at a steady pace of virtual time, but for a stall after one of them; and how they break, if they do."""
    at, recorded = first, []
    for number, read in enumerate(reads):
        recorded.append(RecordedRead(round(at, 6), read))
        at += every + (stall[1] if number == stall[0] else 0)
    end = RecordedEnd(round(at, 6), None if failure is None else Failure.of(failure))
    return replayed(Recording((RecordedStream(attempts=(RecordedAttempt(reads=tuple(recorded), end=end),)),)))


def played(stream: Observable[Any], *, to: Any = None, **options: Any) -> Probe:
    """What a probe sees of the stream, in virtual time."""
    clock = VirtualTimeScheduler()
    with probe(clock=clock, **options) as seen:
        stream.subscribe(Seen() if to is None else to, scheduler=clock)
        clock.start()
    return seen


def recorded(name: str) -> list[bytes]:
    """The events of a stream that the embedded server gave, each as a read."""
    body = (Path(pipeline.embedded.__file__).parent / "recorded" / f"{name}.sse").read_bytes()
    return [event + b"\n\n" for event in body.split(b"\n\n") if event]


def causes(seen: Probe) -> dict[int, Item]:
    """All items that were kept, by their number."""
    return {item.seq: item for strand in seen.strands for lane in strand.lanes for item in lane.items}


def in_order(seen: Probe) -> None:
    """What must hold of all that any probe has seen."""
    assert seen.thread.frames == []
    assert all(watch.strand.end is None for watch in seen.thread.opening)  # what has ended opens nothing more
    known = causes(seen)
    for strand in seen.strands:
        for lane in strand.lanes:
            numbers = [item.seq for item in lane.items]
            assert numbers == sorted(set(numbers))
            assert lane.count >= len(numbers)
            for item in lane.items:
                assert item.cause is None or item.cause < item.seq
                assert item.cause not in known or known[item.cause].at <= item.at
    assert str(seen)
    assert seen.marbles(stages="all").svg()
    assert str(seen.explain())
