"""Sharing a stream that is read on the subscribing thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic, sleep
from typing import Any

import pytest
import reactivex
from reactivex import Subject
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.scheduler import CurrentThreadScheduler, NewThreadScheduler

from operators import Gap, TextDelta, lines
from pipeline import iterate, reads, replay
from pipeline.sharing import block, coalesce, drop_oldest, latest, share_to
from tests.pipeline.sharing.sinks import Stopped, first, in_thread
from tests.support import COMPLETED, Cold, Inside, Seen
from tests.support.timing import LONG, wait_until, wait_while


def counted(number: int, read: list[int]) -> Iterator[bytes]:
    """Reads, each noted down when it is made."""
    for each in range(number):
        read.append(each)
        yield b"%d\n" % each


def is_even(number: int) -> bool:
    return number % 2 == 0


class Broken(Exception):
    pass


# ---------------------------------------------------------------------------------------------- passing and ending


@pytest.mark.parametrize("end", [COMPLETED, Broken("end")])
@pytest.mark.parametrize("source", [Cold, Inside])
def test_all_sinks_get_all_and_the_end_once(source: Any, end: Any) -> None:
    sinks = [Seen() for _ in range(6)]
    below = Seen()
    shared = share_to(
        sinks[0], block(sinks[1]), coalesce(sinks[2]), drop_oldest(sinks[3]), latest(sinks[4]), block(sinks[5], 1)
    )
    source(range(20), end).pipe(shared).subscribe(below)
    for sink in (sinks[0], sinks[1], sinks[2], sinks[5], below):
        assert sink.values == list(range(20))
    assert sinks[3].values == list(range(20))
    assert sinks[4].values[-1] == 19
    assert [(sink.end, sink.ends) for sink in (*sinks, below)] == [(end, 1)] * 7


def test_functions_are_sinks_and_are_not_told_of_the_end() -> None:
    direct: list[int] = []
    slow: list[int] = []
    assert Cold([1, 2]).pipe(share_to(direct.append, block(slow.append))).run() == 2
    assert direct == slow == [1, 2]


def test_one_subscription_for_all() -> None:
    class Counting(Cold):
        subscribed = 0

        def _subscribe_core(self, observer: Any, scheduler: Any = None) -> Any:
            self.subscribed += 1
            return super()._subscribe_core(observer, scheduler)

    source = Counting([1, 2])
    source.pipe(share_to(Seen(), block(Seen()))).subscribe()
    assert source.subscribed == 1


def test_without_sinks_it_only_passes() -> None:
    below = Seen()
    Cold([1, 2]).pipe(share_to()).subscribe(below.on_next, below.on_error, below.on_completed)
    assert (below.values, below.completed) == ([1, 2], True)


def test_one_operator_can_serve_many_streams() -> None:
    seen: list[int] = []
    paced = latest(lambda _: None)
    shared = share_to(seen.append, paced)
    assert Cold([1]).pipe(shared).run() == Cold([1]).pipe(shared).run() == 1
    assert seen == [1, 1]


def test_an_empty_stream_starts_a_thread_only_to_tell_its_end() -> None:
    seen = Seen()
    Cold([]).pipe(share_to(block(seen))).subscribe()
    assert seen.completed


def test_an_error_without_a_subscriber_is_raised() -> None:
    seen = Seen()
    with pytest.raises(Broken):
        Cold([1], Broken("end")).pipe(share_to(seen)).subscribe()
    assert isinstance(seen.end, Broken)


def test_what_comes_after_the_end_is_not_heard() -> None:
    sink, below = Seen(), Seen()
    to: list[Any] = []

    class Rude(reactivex.Observable[int]):
        def subscribe(self, *observer: Any, **_: Any) -> Any:
            to.extend(observer)
            return Disposable()

    Rude().pipe(share_to(sink)).subscribe(below)
    on_next, _, on_completed = to
    on_next(1)
    on_completed()
    on_next(2)
    on_completed()
    assert (sink.values, sink.ends, below.values, below.ends) == ([1], 1, [1], 1)


# ---------------------------------------------------------------------------------------------- flow


def test_block_holds_the_source_back() -> None:
    read: list[int] = []
    sink, below = Stopped(), Seen()
    stream = reads(counted(100, read)).pipe(lines(), share_to(block(sink, 4)))
    thread = in_thread(lambda: stream.subscribe(below))
    assert sink.busy.wait(LONG)
    wait_until(lambda: len(read) == 5)  # one in the sink's hands, four that wait
    sleep(0.02)
    assert len(read) == 5
    for done in range(1, 20):
        sink.let_go()
        wait_until(partial(lambda n: len(read) == n, done + 5))
    assert len(below.values) == 24
    sink.free()
    thread.join(LONG)
    assert sink.values == below.values == [b"%d" % each for each in range(100)]
    assert sink.completed
    assert below.completed


def test_block_holds_back_through_stock_operators_and_below_them() -> None:
    read: list[int] = []
    sink = Stopped()
    stream = reads(counted(100, read)).pipe(
        lines(), ops.map(int), ops.filter(is_even), share_to(block(sink, 2)), ops.map(str)
    )
    thread = in_thread(stream.subscribe)
    assert sink.busy.wait(LONG)
    sleep(0.02)
    assert len(read) == 5  # 0, 2, 4
    sink.free()
    thread.join(LONG)
    assert sink.values == list(range(0, 100, 2))


def test_coalesce_holds_the_source_back_only_when_it_is_full() -> None:
    read: list[int] = []
    sink = Stopped()
    said = reads(counted(100, read)).pipe(ops.map(lambda _: TextDelta("12345")), share_to(coalesce(sink, 0, limit=60)))
    thread = in_thread(said.subscribe)
    assert sink.busy.wait(LONG)
    wait_until(lambda: len(read) >= 11)
    sleep(0.02)
    assert len(read) <= 20
    sink.free()
    thread.join(LONG)
    assert "".join(delta.text for delta in sink.values) == "12345" * 100
    assert len(sink.values) < 100


@pytest.mark.parametrize(("policy", "kept"), [(latest, 1), (lambda sink: drop_oldest(sink, 10), 10)])
def test_a_slow_sink_that_may_miss_events_delays_nobody(policy: Any, kept: int) -> None:
    sink, other, below = Stopped(), Seen(), Seen()
    source: Any = Subject()
    paced = policy(sink)
    source.pipe(share_to(paced, other)).subscribe(below)
    source.on_next(0)
    assert sink.busy.wait(LONG)
    for each in range(1, 1000):
        source.on_next(each)
        assert other.values[-1] == below.values[-1] == each
    assert (paced.waiting, paced.dropped) == (kept, 999 - kept)
    sink.free()
    source.on_completed()
    assert sink.values == [0, Gap(999 - kept), *range(1000 - kept, 1000)]
    assert sink.completed
    assert paced.waiting == 0


def test_what_the_issue_asks_for() -> None:
    """A sink that sleeps 50 ms an event, beside a log, on 2,000 events."""
    came: list[float] = []
    slow: list[Any] = []

    def sleepy(event: Any) -> None:
        slow.append(event)
        sleep(0.05)

    paced = drop_oldest(sleepy, 8)
    began = monotonic()
    Cold(range(2000)).pipe(share_to(lambda _: came.append(monotonic()), paced)).subscribe()
    assert len(came) == 2000
    assert came[-1] - began < 2000 * 0.05 / 4  # where each event waited for the sink
    wait_until(lambda: slow[-1] == 1999)
    assert paced.dropped + sum(not isinstance(event, Gap) for event in slow) == 2000


def test_a_sink_that_blocks_and_feeds_the_source_does_not_wait_for_itself() -> None:
    source: Any = Subject()
    seen: list[int] = []

    def feed(value: int) -> None:
        seen.append(value)
        if value < 5:
            source.on_next(value + 1)
        else:
            source.on_completed()

    done = threading.Event()
    source.pipe(share_to(block(feed, 1))).subscribe(on_completed=done.set)
    source.on_next(0)
    assert done.wait(LONG)
    assert seen == [0, 1, 2, 3, 4, 5]


def test_a_scheduler_is_handed_up() -> None:
    threads: list[str] = []
    source = reactivex.timer(0.001).pipe(ops.do_action(lambda _: threads.append(threading.current_thread().name)))
    seen = Seen()
    source.pipe(share_to(block(seen))).run()
    assert seen.completed
    assert threads != ["MainThread"]
    source = reactivex.timer(0.001).pipe(share_to(block(Seen())))
    done = threading.Event()
    source.subscribe(on_completed=done.set, scheduler=NewThreadScheduler())
    assert done.wait(LONG)
    assert reactivex.interval(0.001).pipe(ops.timestamp(), ops.take(2), share_to(block(Seen()))).run().value == 1
    due = datetime.now(tz=UTC) + timedelta(milliseconds=2)
    assert reactivex.timer(due).pipe(share_to(block(Seen()))).run() == 0


# ---------------------------------------------------------------------------------------------- sinks that raise


@pytest.mark.parametrize("policy", [lambda sink: sink, block, latest, drop_oldest, coalesce])
@pytest.mark.parametrize("fails_at", [0, 10, "completed", "error"])
def test_a_sink_that_raises_is_cut_off(policy: Any, fails_at: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Seen):
        def on_next(self, value: Any) -> None:
            super().on_next(value)
            if fails_at in {value, 0}:
                raise Broken("the sink")

        def on_completed(self) -> None:
            super().on_completed()
            if fails_at == "completed":
                raise Broken("the sink")

        def on_error(self, error: Exception) -> None:
            super().on_error(error)
            raise Broken("the sink")

    failing, others, below = Failing(), [Seen(), Seen()], Seen()
    values = [*range(11)] if policy is latest and fails_at == 10 else [*range(20)]
    end = ValueError("the stream") if fails_at == "error" else COMPLETED
    Cold(values, end).pipe(share_to(others[0], policy(failing), block(others[1]))).subscribe(below)
    for seen in (*others, below):
        assert (seen.values, seen.end, seen.ends) == (values, end, 1)
    assert failing.ends == (0 if fails_at in {0, 10} else 1)
    if isinstance(fails_at, int):
        assert failing.values[-1] == fails_at or policy is latest
    assert [(record.name, record.levelname) for record in caplog.records] == [("rxchat.sharing", "ERROR")]
    assert "Failing raised" in caplog.text
    assert "Broken: the sink" in caplog.text


@pytest.mark.parametrize("policy", [lambda sink: sink, block])
def test_an_observer_that_raises_the_error_of_the_stream_is_no_news(
    policy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    below = Seen()
    Cold([1], Broken("end")).pipe(share_to(policy(reactivex.Observer(print)))).subscribe(below)
    assert isinstance(below.end, Broken)
    assert not caplog.records


def test_a_sink_that_exits_its_thread_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    sink, below = Stopped(SystemExit()), Seen()
    sink.free()
    Cold(range(100)).pipe(share_to(block(sink, 1))).subscribe(below)
    assert (len(sink.values), len(below.values), below.completed) == (1, 100, True)
    assert "Stopped raised" in caplog.text


def test_a_sink_that_raises_lets_the_source_go_on() -> None:
    sink, below = Stopped(Broken("late")), Seen()
    thread = in_thread(lambda: Cold(range(100)).pipe(share_to(block(sink, 2))).subscribe(below))
    wait_until(lambda: len(below.values) == 3)
    sink.let_go()
    thread.join(LONG)
    assert below.completed


def test_what_the_subscriber_raises_goes_to_the_producer_and_cuts_the_sinks_off() -> None:
    direct, slow = Seen(), Stopped()

    def fail(value: int) -> None:
        if value == 3:
            raise Broken("the subscriber")

    with pytest.raises(Broken):
        Cold(range(10)).pipe(share_to(direct, block(slow))).subscribe(fail)
    slow.free()
    assert direct.values == [0, 1, 2, 3]
    assert not direct.ends
    assert not slow.ends


# ---------------------------------------------------------------------------------------------- leaving


def test_dispose_cuts_all_off_and_wakes_the_reading_thread() -> None:
    read: list[int] = []
    sink, direct, below = Stopped(), Seen(), Seen()
    paced = block(sink, 2)

    stream = reads(counted(100, read)).pipe(share_to(direct, paced))
    made: list[Any] = []

    def subscribe(*_: object) -> None:
        made.append(stream.subscribe(below))

    thread = in_thread(lambda: CurrentThreadScheduler.singleton().schedule(subscribe))
    assert sink.busy.wait(LONG)
    wait_until(lambda: len(read) == 3)
    sleep(0.02)
    made[0].dispose()
    made[0].dispose()
    thread.join(LONG)
    assert not thread.is_alive()
    sink.free()
    wait_while(lambda: [thread for thread in threading.enumerate() if "sink" in thread.name])
    assert (len(read), len(direct.values), len(sink.values), paced.waiting) == (3, 3, 1, 0)
    assert not below.ends
    assert not direct.ends
    assert not sink.ends


def test_a_sink_that_leaves_the_stream() -> None:
    source: Any = Subject()
    below = Seen()
    made: list[Any] = []
    made.append(source.pipe(share_to(lambda _: made[0].dispose())).subscribe(below))
    source.on_next(1)
    source.on_next(2)
    assert not below.values
    assert not below.ends


def test_a_stock_operator_that_leaves_cuts_off() -> None:
    direct, slow = Seen(), Seen()
    assert Cold(range(100)).pipe(share_to(direct, block(slow)), ops.take(5), ops.to_list()).run() == [0, 1, 2, 3, 4]
    assert direct.values == [0, 1, 2, 3, 4]
    assert not direct.ends


def test_a_stage_that_ends_the_stream_in_good_order_ends_it_for_the_sinks() -> None:
    direct, slow, finished = Seen(), Seen(), []

    class Source(reactivex.Observable[int]):
        def subscribe(self, on_next: Any = None, *args: Any, **kwargs: Any) -> Any:
            class Finishing(reactivex.abc.DisposableBase):
                def dispose(self) -> None:
                    finished.append("disposed")

                def finish(self) -> None:
                    finished.append("finished")

            def emit(*_: object) -> None:
                for value in range(10):
                    if not finished:
                        on_next(value)

            kwargs["scheduler"].schedule(emit)
            return Finishing()

    below = Seen()
    Source().pipe(share_to(direct, block(slow, 100)), first(5)).subscribe(below)
    assert direct.values == slow.values == below.values == [0, 1, 2, 3, 4]
    assert (direct.ends, slow.ends, below.ends) == (1, 1, 1)
    assert finished == ["finished"]


def test_finish_after_the_end_does_nothing() -> None:
    sink = Seen()
    subscription: Any = Cold([1]).pipe(share_to(sink)).subscribe()
    subscription.finish()
    subscription.dispose()
    assert sink.ends == 1


def test_a_source_that_cannot_be_subscribed() -> None:
    seen = Seen()

    class Source(reactivex.Observable[int]):
        def subscribe(self, *args: Any, **kwargs: Any) -> Any:
            raise Broken("subscribe")

    with pytest.raises(Broken):
        Source().pipe(share_to(block(seen))).subscribe()
    assert not seen.ends


def test_disposed_before_it_begins() -> None:
    """The current thread's trampoline begins what is subscribed on it only when it is free."""
    sink = Seen()
    trampoline = CurrentThreadScheduler.singleton()
    shared = Cold([1]).pipe(share_to(block(sink)))
    begun: list[Any] = []
    patched = pytest.MonkeyPatch()
    patched.setattr("pipeline.sharing._share_to.on_trampoline", begun.append)
    subscription = shared.subscribe()
    patched.undo()
    subscription.dispose()
    trampoline.schedule(lambda *_: begun[0]())
    assert not sink.values
    assert not sink.ends


# ---------------------------------------------------------------------------------------------- the end, and how long


def test_the_end_waits_for_what_must_not_be_lost() -> None:
    sink, below = Stopped(), Seen()
    thread = in_thread(lambda: Cold(range(3)).pipe(share_to(block(sink))).subscribe(below))
    wait_until(lambda: len(below.values) == 3)
    sleep(0.02)
    assert not below.ends
    sink.let_go(3)
    thread.join(LONG)
    assert below.completed
    assert sink.completed


def test_the_end_waits_drain_seconds_at_most(caplog: pytest.LogCaptureFixture) -> None:
    sink, display, below = Stopped(), Stopped(), Seen()
    Cold(range(3)).pipe(share_to(block(sink), latest(display), drain_seconds=0.02)).subscribe(below)
    assert below.completed
    assert "Stopped has not ended after 0.02 s; it goes on, and " in caplog.text
    assert len(caplog.records) == 1
    sink.free()
    display.free()
    assert sink.ended.wait(LONG)
    assert display.ended.wait(LONG)
    assert sink.values == [0, 1, 2]


def test_the_end_waits_a_moment_for_what_may_miss_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.sharing._share_to.MOMENT", 0.02)
    display, below = Stopped(), Seen()
    Cold(range(3)).pipe(share_to(latest(display), drain_seconds=None)).subscribe(below)
    assert below.completed
    display.free()
    assert display.ended.wait(LONG)


def test_dispose_while_the_end_waits() -> None:
    sink, below = Stopped(), Seen()
    source: Any = Subject()
    subscription = source.pipe(share_to(block(sink), drain_seconds=None)).subscribe(below)
    source.on_next(1)
    assert sink.busy.wait(LONG)
    thread = in_thread(source.on_completed)
    subscription.dispose()
    thread.join(LONG)
    sink.free()
    assert not below.ends
    assert not sink.ends


def test_an_interrupt_while_the_end_waits_cuts_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.sharing._progress.Progress.wait", interrupted)
    sink = Stopped()
    with pytest.raises(KeyboardInterrupt):
        Cold([1]).pipe(share_to(block(sink))).subscribe()
    sink.free()


@pytest.mark.parametrize("wrong", [-1, float("nan")])
def test_wrong_drain_seconds(wrong: float) -> None:
    with pytest.raises(ValueError, match="drain_seconds"):
        share_to(drain_seconds=wrong)


def test_an_async_sink_needs_a_policy_and_a_loop() -> None:
    async def page(event: Any) -> None: ...

    with pytest.raises(TypeError, match=r"share_to\(block\(page\)\)"):
        share_to(page)
    with pytest.raises(RuntimeError, match="async def"):
        Cold([1]).pipe(share_to(block(page))).subscribe()


# ---------------------------------------------------------------------------------------------- pulled


def test_pulled_by_a_blocking_iterator() -> None:
    read: list[int] = []
    sink, direct = Seen(), Seen()
    with iterate(counted(100, read), lines(), share_to(direct, block(sink, 2)), ops.map(int)) as found:
        for number in found:
            assert len(read) == number + 1
            if number == 50:
                break
    assert len(direct.values) == 51
    assert not direct.ends
    read.clear()
    sink = Seen()
    assert list(iterate(counted(100, read), share_to(block(sink, 2)))) == sink.values
    assert sink.completed


def test_replayed() -> None:
    sink = Seen()
    replay(b"a\nb\n", 1).pipe(lines(), share_to(block(sink, 1))).subscribe()
    assert sink.values == [b"a", b"b"]
