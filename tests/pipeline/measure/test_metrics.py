"""Metrics of streams in virtual time, where each number is known beforehand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import reactivex
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from operators import (
    ApiError,
    ConnectionLost,
    Event,
    Finish,
    ReasoningDelta,
    Restarted,
    Retrying,
    RoundStarted,
    Started,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from pipeline.measure import Metrics, metrics
from tests.support import COMPLETED, Way


def timed(*events: tuple[float, Event], end: Any = 0.0) -> list[Any]:
    """What metrics() makes of events at these times; the end is a time, or a time and an error."""
    clock = TestScheduler()
    at, error = end if isinstance(end, tuple) else (end, None)
    tests: Any = reactivex.testing.ReactiveTest
    records = [tests.on_next(when, event) for when, event in events]
    last = max([at, *(when for when, _ in events)])
    records.append(tests.on_completed(last) if error is None else tests.on_error(last, error))
    found: list[Any] = []
    clock.create_cold_observable(records).pipe(metrics()).subscribe(found.append, found.append, scheduler=clock)
    clock.start()
    return found


def test_times_gaps_and_rates() -> None:
    """Gaps are those of content; what a stream says else does not count."""
    events: list[tuple[float, Event]] = [
        (0.5, Started("c1", "m")),
        (1.0, ReasoningDelta("ab")),
        (1.5, TextDelta("cde")),
        (2.0, ToolCallDelta(0, 0, "a", "f", "{}")),
        (5.0, TextDelta("12345")),
        (5.1, Finish("stop")),
        (5.2, Usage(7, 9, 16)),
    ]
    *passed, found = timed(*events, end=5.5)
    assert passed == [event for _, event in events]
    assert found.gap_p50 == pytest.approx(0.5, rel=0.01)
    assert msgspec.structs.replace(found, gap_p50=0.5) == Metrics(
        duration=5.5,
        time_to_first_chunk=0.5,
        time_to_first_content=1.0,
        gap_p50=0.5,
        gap_p90=3.0,
        gap_p99=3.0,
        gap_max=3.0,
        stalls=1,
        longest_stall=3.0,
        prompt_tokens=7,
        completion_tokens=9,
        tokens_per_second=2.0,
        characters=13,
        characters_per_second=11 / 4,
        events={"Started": 1, "ReasoningDelta": 1, "TextDelta": 2, "ToolCallDelta": 1, "Finish": 1, "Usage": 1},
    )
    assert msgspec.json.decode(msgspec.json.encode(found))["event"] == "Metrics"


def test_nothing_at_all() -> None:
    (found,) = timed(end=2.0)
    assert found == Metrics(duration=2.0)


def test_they_come_before_the_error() -> None:
    error = ConnectionLost("the connection broke")
    event, found, last = timed((1.0, TextDelta("a")), end=(9.0, error))
    assert (event, last) == (TextDelta("a"), error)
    assert (found.error, found.duration, found.stalls, found.longest_stall) == ("connection", 9.0, 1, 8.0)
    assert timed(end=(1.0, KeyError()))[0].error == "KeyError"


def test_one_for_each_round() -> None:
    events: list[tuple[float, Event]] = [
        (0.0, RoundStarted(1)),
        (1.0, TextDelta("a")),
        (2.0, Usage(1, 2, 3)),
        (5.0, RoundStarted(2)),
        (7.0, TextDelta("bc")),
    ]
    found = [event for event in timed(*events, end=8.0) if isinstance(event, Metrics)]
    assert [(m.round, m.duration, m.time_to_first_content, m.characters, m.completion_tokens) for m in found] == [
        (1, 5.0, 1.0, 1, 2),
        (2, 3.0, 2.0, 2, None),
    ]
    kinds = [type(event).__name__ for event in timed(*events, end=8.0)]
    assert kinds.index("Metrics") + 1 == [*kinds].index("RoundStarted", 2)


def test_a_restart_counts_afresh_what_was_said() -> None:
    found = timed(
        (1.0, TextDelta("lost")),
        (2.0, Usage(1, 1, 2)),
        (3.0, Retrying(2, 0.5, "broke")),
        (3.0, Restarted()),
        (4.0, TextDelta("kept!")),
        end=4.0,
    )[-1]
    assert (found.attempts, found.characters, found.time_to_first_content) == (2, 5, 4.0)
    assert (found.completion_tokens, found.events) == (None, {"Restarted": 1, "TextDelta": 1})


def test_estimated_tokens_are_marked() -> None:
    usage = Usage(None, 3, None, {"estimated": True})
    assert timed((1.0, usage))[-1].estimated


def test_the_sources_are_seen_through_stock_operators() -> None:
    from pipeline import decode, replay

    body = b': a\n\n:b\n\ndata: {"choices":[{"delta":{"content":"x: y\\n:"},"finish_reason":"stop"}]}\n\n'
    for size in (1, 7, len(body)):
        found: list[Any] = []
        replay(body, size).pipe(ops.filter(bool), decode(), metrics()).subscribe(found.append)
        last = found[-1]
        assert (last.bytes, last.reads, last.heartbeats) == (len(body), -(-len(body) // size), 2)
        assert last.time_to_first_byte is not None


def test_however_it_is_run(each_way: Way) -> None:
    values = [TextDelta("a"), Usage(1, 1, 2)]
    seen = each_way.run(values, metrics())
    assert seen.values[:2] == values
    assert seen.values[2].events == {"TextDelta": 1, "Usage": 1}
    assert seen.end == COMPLETED
    broken = each_way.run(values, metrics(), end=ApiError("no"))
    assert broken.values[2].error == "api"


def test_a_stall_is_a_time() -> None:
    with pytest.raises(ValueError, match="stall"):
        reactivex.of(TextDelta("a")).pipe(metrics(stall=0)).run()
