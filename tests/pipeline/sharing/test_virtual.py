"""In virtual time slow sinks run on the scheduler, and so does the time of coalesce."""

from __future__ import annotations

from typing import Any

import pytest
from reactivex import Subject
from reactivex.scheduler import VirtualTimeScheduler
from reactivex.testing import ReactiveTest, TestScheduler

from operators import Finish, TextDelta
from pipeline.sharing import block, coalesce, drop_oldest, latest, share_to
from tests.support import Cold, Seen

on_next, on_completed, on_error = ReactiveTest.on_next, ReactiveTest.on_completed, ReactiveTest.on_error


def test_coalesce_joins_for_its_time() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(
        on_next(10, TextDelta("a")),
        on_next(30, TextDelta("b")),
        on_next(70, TextDelta("c")),
        on_next(75, Finish("stop")),
        on_next(80, TextDelta("d")),
        on_completed(90),
    )
    sink, below = scheduler.create_observer(), scheduler.create_observer()
    source.pipe(share_to(coalesce(sink, 50_000))).subscribe(below, scheduler=scheduler)
    scheduler.start()
    assert sink.messages == [
        on_next(60, TextDelta("ab")),
        on_next(75, TextDelta("c")),
        on_next(75, Finish("stop")),
        on_next(90, TextDelta("d")),
        on_completed(90),
    ]
    assert [record.time for record in below.messages] == [10, 30, 70, 75, 80, 90]


@pytest.mark.parametrize("policy", [block, latest, drop_oldest, coalesce])
def test_all_policies_deliver_at_once_what_need_not_wait(policy: Any) -> None:
    scheduler = TestScheduler()
    error = ValueError("end")
    source = scheduler.create_cold_observable(on_next(10, 1), on_next(20, 2), on_error(30, error))
    sink, below = scheduler.create_observer(), scheduler.create_observer()
    source.pipe(share_to(policy(sink))).subscribe(below, scheduler=scheduler)
    scheduler.start()
    assert sink.messages == below.messages == [on_next(10, 1), on_next(20, 2), on_error(30, error)]


def test_dispose_stops_the_timer() -> None:
    scheduler = VirtualTimeScheduler()
    source: Any = Subject()
    said: list[Any] = []
    subscription = source.pipe(share_to(coalesce(said.append, 50))).subscribe(scheduler=scheduler)
    source.on_next(TextDelta("a"))
    scheduler.advance_by(0.04)
    assert not said
    subscription.dispose()
    scheduler.advance_by(0.04)
    assert not said


def test_a_sink_that_raises(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = VirtualTimeScheduler()

    def fail(_: object) -> None:
        raise ValueError("the sink")

    other, below = Seen(), Seen()
    Cold(range(5)).pipe(share_to(block(fail), block(other))).subscribe(below, scheduler=scheduler)
    scheduler.start()
    assert other.values == below.values == list(range(5))
    assert below.completed
    assert len(caplog.records) == 1


def test_a_sink_that_feeds_the_source() -> None:
    scheduler = VirtualTimeScheduler()
    source: Any = Subject()
    seen: list[int] = []

    def feed(value: int) -> None:
        if value < 3:
            source.on_next(value + 1)
        else:
            source.on_completed()
        seen.append(value)

    below = Seen()
    source.pipe(share_to(block(feed, 1))).subscribe(below, scheduler=scheduler)
    source.on_next(0)
    assert seen == [0, 1, 2, 3]
    assert below.completed
