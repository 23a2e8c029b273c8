"""The laws that hold for every chain, however it is joined and wherever its values come from."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import reactivex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reactivex import Observable, Subject
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.testing import TestScheduler

from operators import (
    ConnectionLost,
    Lanes,
    Operator,
    Out,
    Spy,
    Stage,
    StreamError,
    TextDelta,
    TruncatedError,
    chunks,
    current_spy,
    deltas,
    event_stream,
    lines,
    message,
    operator,
    payloads,
    sse,
    tool_calls,
    watched_by,
)
from operators._spy import Spies
from tests.support import COMPLETED, WAYS, Cold, Inside, Seen, Way, cut_at, cuts, fused, identity, tell_end, unfused
from tests.support.timing import LONG


@operator
def twice(out: Out[Any]) -> Stage[Any]:
    def on_next(value: Any) -> None:
        out.on_next(value)
        out.on_next(value)

    yield on_next


@operator
def summed(out: Out[int]) -> Stage[int]:
    """Passes on the running sum and, on completion, the sum once more."""
    total = 0

    def on_next(value: int) -> None:
        nonlocal total
        total += value
        out.on_next(total)

    yield on_next
    out.on_next(total)


@operator
def passed(out: Out[Any], log: list[Any] | None = None, name: str = "stage") -> Stage[Any]:
    """Hands on as it is, and writes down how it ended."""
    log = [] if log is None else log
    try:
        yield out.on_next
        log.append(f"{name} flushed")
    except Exception as error:
        log.append(f"{name} got {type(error).__name__}")
        raise
    finally:
        log.append(f"{name} closed")


@operator
def broken_at(out: Out[Any], bad: Any, error: Exception) -> Stage[Any]:
    def on_next(value: Any) -> None:
        if value == bad:
            raise error
        out.on_next(value)

    yield on_next


@operator
def ends_at(out: Out[Any], last: Any) -> Stage[Any]:
    def on_next(value: Any) -> None:
        out.on_next(value)
        if value == last:
            out.on_completed()

    yield on_next


BODY = (
    b'\xef\xbb\xbf: hello\r\ndata: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"H\xc3\xa9"}}]}\r\n\r\n'
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}'
    b'\n\ndata: {"choices":[{"index":0,"delta":{"content":"!"},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\ndata: x\n\n'
)
CHAIN = (event_stream(), lines(), sse(), payloads(), chunks(), deltas(), tool_calls())


# ----------------------------------------------------------------------------------- 1: fused ≡ unfused


@dataclass(frozen=True)
class Behaviour:
    """What a stage does, and when it misbehaves; values are counted from 0."""

    fan: int = 1
    set_up: str = "ok"
    fail_at: int = -1
    late: bool = False
    finish_at: int = -1
    shielded: bool = False
    flush: str = "emit"
    on_error: str = "pass"


behaviours = st.builds(
    Behaviour,
    fan=st.integers(0, 3),
    set_up=st.sampled_from(["ok"] * 6 + ["fail", "finish"]),
    fail_at=st.integers(-6, 4),
    late=st.booleans(),
    finish_at=st.integers(-6, 4),
    shielded=st.booleans(),
    flush=st.sampled_from(["emit", "nothing", "fail", "finish"]),
    on_error=st.sampled_from(["pass", "emit", "recover", "replace", "finish"]),
)


def stage_of(log: list[Any], name: str, how: Behaviour) -> Operator[Any, Any]:
    """A stage of our own that writes down all that happens to it."""

    @operator
    def stage(out: Out[Any]) -> Stage[Any]:
        count = -1
        log.append((name, "set up"))

        def on_next(value: Any) -> None:
            nonlocal count
            count += 1
            log.append((name, "on_next", value))
            try:
                step(value, count)
            except Exception:
                log.append((name, "sees an exception"))  # it can only be its own
                raise
            finally:
                log.append((name, "left"))

        def step(value: Any, number: int) -> None:
            if number == how.fail_at and not how.late:
                raise StreamError(name)
            for copy in range(how.fan):
                if how.shielded:
                    try:
                        out.on_next((name, value, copy))
                    except Exception:
                        log.append((name, "ate an exception"))
                else:
                    out.on_next((name, value, copy))
            if number == how.finish_at:
                out.on_completed()
            if number == how.fail_at:
                raise StreamError(name)

        try:
            if how.set_up == "fail":
                raise StreamError(name)
            if how.set_up == "finish":
                out.on_completed()
            yield on_next
            log.append((name, "flush"))
            if how.flush == "emit":
                out.on_next((name, "flushed"))
            if how.flush == "fail":
                raise ValueError(name)
            if how.flush == "finish":
                out.on_next((name, "flushed"))
                out.on_completed()
        except StreamError as error:
            log.append((name, "except", str(error)))
            if how.on_error == "emit":
                out.on_next((name, "left over"))
            if how.on_error == "recover":
                return
            if how.on_error == "finish":
                out.on_completed()
            if how.on_error == "replace":
                raise TruncatedError(name) from error
            raise
        finally:
            log.append((name, "finally"))

    return stage()


class _Sink:
    """A subscriber that leaves, raises or stays."""

    def __init__(self, log: list[Any], leaves_after: int, raises_at: int, *, raises_at_end: bool) -> None:
        self.log, self.leaves_after, self.raises_at = log, leaves_after, raises_at
        self.raises_at_end = raises_at_end
        self.count = 0
        self.subscription: Any = None

    def on_next(self, value: Any) -> None:
        self.log.append(("sink", value))
        self.count += 1
        if self.count == self.leaves_after and self.subscription is not None:
            self.subscription.dispose()
        if self.count == self.raises_at:
            raise ZeroDivisionError

    def on_error(self, error: Exception) -> None:
        self.log.append(("sink", type(error).__name__, str(error)))
        if self.raises_at_end:
            raise ZeroDivisionError

    def on_completed(self) -> None:
        self.log.append(("sink", "completed"))
        if self.raises_at_end:
            raise ZeroDivisionError


@given(
    hows=st.lists(behaviours, min_size=1, max_size=4),
    count=st.integers(0, 5),
    end=st.sampled_from([COMPLETED, None, ConnectionLost("gone"), ValueError("bad")]),
    leaves_after=st.integers(-8, 6),
    raises_at=st.integers(-12, 6),
    raises_at_end=st.sampled_from([False] * 5 + [True]),
)
@settings(max_examples=300)
@example(
    hows=[Behaviour(shielded=True), Behaviour(fail_at=1)],
    count=3,
    end=COMPLETED,
    leaves_after=-1,
    raises_at=-1,
    raises_at_end=False,
)
@example(
    hows=[Behaviour(fan=2), Behaviour(), Behaviour(finish_at=1)],
    count=3,
    end=COMPLETED,
    leaves_after=-1,
    raises_at=-1,
    raises_at_end=False,
)
@example(
    hows=[Behaviour(), Behaviour(fail_at=2)], count=2, end=COMPLETED, leaves_after=-1, raises_at=-1, raises_at_end=False
)
def test_fused_and_unfused_do_the_same_in_the_same_order(
    hows: list[Behaviour], count: int, end: Any, leaves_after: int, raises_at: int, raises_at_end: bool
) -> None:
    """Law 1: set-up, steps, flushes, except, finally, deliveries and what reaches the producer, on a hot source."""

    def log_of(join: Callable[..., Any]) -> list[Any]:
        log: list[Any] = []
        source: Subject[int] = Subject()
        sink = _Sink(log, leaves_after, raises_at, raises_at_end=raises_at_end)
        if any(
            how.set_up != "ok" for how in hows
        ):  # while it is subscribed, an unfused stage cannot know that it was left
            hows_ = [replace(how, flush="nothing", on_error="pass") for how in hows]
        else:
            hows_ = hows
        stages = [stage_of(log, f"stage {number}", how) for number, how in enumerate(hows_)]

        def attempt(action: Callable[[], Any]) -> Any:
            try:
                return action()
            except ZeroDivisionError:
                log.append("the producer is told")

        sink.subscription = attempt(lambda: join(source, *stages).subscribe(sink))
        for value in range(count):
            log.append(("source", value, len(source.observers)))
            attempt(lambda value=value: source.on_next(value))  # type: ignore[misc]
        log.append(("source ends", len(source.observers)))
        attempt(lambda: tell_end(source, end))
        log.append(("left", len(source.observers)))
        if sink.subscription is not None:
            sink.subscription.dispose()
        log.append(("disposed", len(source.observers)))
        return log

    log = log_of(fused)
    assert log == log_of(unfused)
    assert not [entry for entry in log if entry[1:] == ("ate an exception",)]


@given(
    places=st.lists(st.integers(0, len(BODY)), max_size=12),
    damage=st.tuples(st.integers(0, len(BODY) - 1), st.integers(0, 255)) | st.none(),
    end=st.sampled_from([COMPLETED, None, ConnectionLost("gone")]),
    take=st.integers(0, 8),
    cut=st.integers(1, len(BODY)),
)
def test_the_real_chain_does_the_same_fused_unfused_and_in_every_other_way(
    places: list[int], damage: tuple[int, int] | None, end: Any, take: int, cut: int
) -> None:
    """Law 1 on the operators themselves: random cuts, damaged and short bodies, broken sources, take(n)."""
    body = bytearray(BODY[:cut])
    if damage is not None and damage[0] < cut:
        body[damage[0]] = damage[1]
    reads = cut_at(bytes(body), places)
    stages = [*CHAIN, ops.take(take)] if take else list(CHAIN)
    told = [
        told_by(way.run(reads, *stages, end=end)) for way in (*WAYS, Way("inside unfused", join=unfused, source=Inside))
    ]
    assert all(other == told[0] for other in told)


def told_by(seen: Seen) -> tuple[list[Any], str, str]:
    return seen.values, type(seen.end).__name__, str(seen.end)


# ----------------------------------------------------------------------------------- 2: cuts


@given(st.lists(st.integers(0, len(BODY)), max_size=40))
@example([BODY.index(b"\xc3") + 1])
@example([BODY.index(b"\r\n") + 1, 1, 2])
@example([*range(len(BODY))])
def test_any_cut_of_the_same_bytes_gives_the_same_events(places: list[int]) -> None:
    """Law 2."""
    whole = told_by(WAYS[0].run([BODY], *CHAIN))
    assert told_by(WAYS[0].run(cut_at(BODY, places), *CHAIN)) == whole
    assert [event.text for event in whole[0] if isinstance(event, TextDelta)] == ["Hé", "!"]


# ----------------------------------------------------------------------------------- 3: no shared state


def test_two_subscribers_share_nothing() -> None:
    """Law 3: one Observable, two subscribers that come at different times; each has state of its own."""
    source: Subject[int] = Subject()
    sums = source.pipe(summed())
    first, second = Seen(), Seen()
    sums.subscribe(first)
    source.on_next(1)
    sums.subscribe(second)
    source.on_next(10)
    source.on_completed()
    assert (first.values, second.values) == ([1, 11, 11], [10, 10])


def test_one_operator_serves_many_streams_at_once() -> None:
    """Law 3: the same operator object in two chains whose bytes come in turns."""
    chain = [*CHAIN]
    left: Subject[bytes] = Subject()
    right: Subject[bytes] = Subject()
    of_left, of_right = Seen(), Seen()
    left.pipe(*chain).subscribe(of_left)  # type: ignore[call-overload]
    right.pipe(*chain).subscribe(of_right)  # type: ignore[call-overload]
    for one, other in zip(cuts(BODY, 5), cuts(BODY.replace(b"!", b"?"), 5), strict=True):
        left.on_next(one)
        right.on_next(other)
    assert [e.text for e in of_left.values if isinstance(e, TextDelta)] == ["Hé", "!"]
    assert [e.text for e in of_right.values if isinstance(e, TextDelta)] == ["Hé", "?"]


def test_a_fused_chain_that_is_branched_off_keeps_its_own_stages() -> None:
    """Law 3: going on from a Fused twice does not add to the first."""
    once = reactivex.of(1, 2).pipe(summed())
    doubled = once.pipe(twice())
    assert once.pipe(ops.to_list()).run() == [1, 3, 3]
    assert doubled.pipe(ops.to_list()).run() == [1, 1, 3, 3, 3, 3]


# ----------------------------------------------------------------------------------- 4: a subscriber's own exception


class Bug(Exception):
    """What a subscriber raises."""


class Buggy(Seen):
    """A subscriber that raises at a value, or at the end."""

    def __init__(self, at: Any) -> None:
        super().__init__()
        self.at = at

    def on_next(self, value: Any) -> None:
        super().on_next(value)
        if value == self.at:
            raise Bug

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        if self.at == "error":
            raise Bug

    def on_completed(self) -> None:
        super().on_completed()
        if self.at == COMPLETED:
            raise Bug


def test_a_subscribers_exception_goes_to_the_producer_and_never_comes_back(each_way: Way) -> None:
    """Law 4: it leaves subscribe(), or the producer's on_next; the subscriber hears nothing more; every stage is closed."""
    log: list[Any] = []
    subscriber = Buggy(at=2)
    with pytest.raises(Bug):
        each_way.run([1, 2, 3], passed(log, "upper"), twice(), passed(log, "lower"), to=subscriber)
    assert subscriber.values == [1, 1, 2]
    assert subscriber.ends == 0
    assert log == ["lower closed", "upper closed"]


@pytest.mark.parametrize("at", ["error", COMPLETED])
def test_an_exception_at_the_end_goes_to_the_producer_too(each_way: Way, at: str) -> None:
    """Law 4, for what on_error and on_completed raise; neither is called twice."""
    subscriber = Buggy(at=at)
    with pytest.raises(Bug):
        each_way.run([1], passed(), twice(), end=COMPLETED if at == COMPLETED else ConnectionLost("x"), to=subscriber)
    assert subscriber.values == [1, 1]
    assert subscriber.ends == 1


def test_an_exception_while_a_stage_flushes_goes_to_the_producer(each_way: Way) -> None:
    """Law 4, when the value that the subscriber cannot bear comes out of a flush, through the step of a stage below."""
    subscriber = Buggy(at=15)
    with pytest.raises(Bug):
        each_way.run([3, 3], summed(), summed(), passed(), to=subscriber)
    assert subscriber.values == [3, 9, 15]
    assert subscriber.ends == 0


def test_an_exception_in_answer_to_a_stages_error_goes_to_the_producer(each_way: Way) -> None:
    """Law 4: a stage breaks, on_error raises: the producer gets what on_error raised."""
    subscriber = Buggy(at="error")
    with pytest.raises(Bug):
        each_way.run([1, 2], passed(), broken_at(2, ValueError("bad")), twice(), to=subscriber)
    assert isinstance(subscriber.end, ValueError)
    assert subscriber.ends == 1


def test_an_exception_in_answer_to_an_early_end_goes_to_the_producer(each_way: Way) -> None:
    """Law 4: a stage ends the stream, on_completed raises."""
    subscriber = Buggy(at=COMPLETED)
    with pytest.raises(Bug):
        each_way.run([1, 2], passed(), ends_at(1), to=subscriber)
    assert subscriber.values == [1]


def test_an_error_that_nobody_takes_leaves_subscribe() -> None:
    """Without an on_error, the stream's error is raised where the chain was subscribed."""
    with pytest.raises(ValueError, match="bad"):
        Cold([1]).pipe(broken_at(1, ValueError("bad"))).subscribe()


# ----------------------------------------------------------------------------------- 5: ending early


def test_an_early_end_unwinds_the_loops_above_at_once(each_way: Way) -> None:
    """Law 5: no stage above takes another turn, none of its `except Exception` runs, and it is closed once."""
    log: list[Any] = []

    @operator
    def three_times(out: Out[Any]) -> Stage[Any]:
        def on_next(value: Any) -> None:
            for turn in range(3):
                log.append(f"turn {turn}")
                try:
                    out.on_next((value, turn))
                except Exception:
                    log.append("eaten")

        yield on_next
        log.append("flushed")

    seen = each_way.run(["a", "b"], passed(log), three_times(), ends_at(("a", 1)), summed_texts(log))
    assert log == ["turn 0", "turn 1", "below flushed", "stage closed"]
    assert seen.values == [("a", 0), ("a", 1), "flush"]
    assert seen.completed


@operator
def summed_texts(out: Out[Any], log: list[Any]) -> Stage[Any]:
    yield out.on_next
    log.append("below flushed")
    out.on_next("flush")


@pytest.mark.parametrize("source", [reactivex.of(1, 2), reactivex.from_iterable([1, 2])])
def test_what_a_subscriber_raises_reaches_who_subscribes_through_sources_that_eat_it(source: Observable[int]) -> None:
    """reactivex's own catch it, and hand it back to an observer that has been disposed by then."""

    def bug(_: int) -> None:
        raise Bug

    with pytest.raises(Bug):
        source.pipe(passed()).subscribe(bug)
    with pytest.raises(Bug):
        source.pipe(ops.map(lambda value: value), passed()).subscribe(bug)


def test_a_stage_may_end_a_stream_that_has_ended(each_leavable_way: Way) -> None:
    """Its `finally` runs while it is unwound, and there is nothing left to do."""

    @operator
    def persistent(out: Out[int]) -> Stage[int]:
        def on_next(value: int) -> None:
            try:
                out.on_next(value)
            finally:
                out.on_completed()

        yield on_next

    log: list[Any] = []
    seen = each_leavable_way.run([1, 2], passed(log), persistent(), ops.take(1))
    assert (seen.values, seen.ends, log) == ([1], 1, ["stage closed"])


def test_not_even_a_bare_except_above_can_keep_an_ended_stream_going(each_way: Way) -> None:
    """Law 5: a stage that swallows everything changes nothing for the subscriber."""

    @operator
    def deaf(out: Out[int]) -> Stage[int]:
        def on_next(value: int) -> None:
            for _ in range(3):
                try:
                    out.on_next(value)
                except BaseException:
                    continue

        yield on_next

    ended = each_way.run([1, 2], deaf(), ends_at(1))
    assert (ended.values, ended.completed) == ([1], True)
    broken = each_way.run([1, 2], deaf(), broken_at(1, StreamError("bad")), passed())
    assert (broken.values, str(broken.end), broken.ends) == ([], "bad", 1)


def test_an_error_belongs_to_its_stage(each_way: Way) -> None:
    """No `except` of a stage above sees it, stages below get it at their yield, stages above are closed."""
    log: list[Any] = []

    @operator
    def careful(out: Out[int]) -> Stage[int]:
        def on_next(value: int) -> None:
            try:
                out.on_next(value)
            except Exception:
                log.append("eaten")

        try:
            yield on_next
        except Exception:
            log.append("caught")
            raise

    bad = StreamError("bad")
    seen = each_way.run([1, 2], passed(log, "above"), careful(), broken_at(2, bad), passed(log, "below"))
    assert seen.values == [1]
    assert seen.end is bad
    assert log == ["below got StreamError", "below closed", "above closed"]


# ----------------------------------------------------------------------------------- 6: what came before an error


@given(st.integers(1, len(BODY)), st.sampled_from(WAYS))
def test_everything_before_an_error_arrives_before_it(cut: int, way: Way) -> None:
    """Law 6: of a body that breaks anywhere, every line arrives, the one that was cut included."""
    read = re.split(b"\r\n|\r|\n", BODY[:cut].removeprefix(b"\xef\xbb\xbf"))
    seen = way.run(cuts(BODY[:cut], 7), lines(), end=ConnectionLost("gone"))
    assert isinstance(seen.end, ConnectionLost)
    assert seen.values == (read if read[-1] else read[:-1])


def test_a_stage_hands_out_what_it_holds_before_it_passes_an_error_on(each_way: Way) -> None:
    """Law 6 through the whole chain: the last, unfinished event comes before the error that cut it off."""
    body = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}'
    seen = each_way.run([body], *CHAIN, message(), end=ConnectionLost("gone"))
    assert seen.values == []
    assert isinstance(seen.end, ConnectionLost)
    assert [whole.text for whole in seen.end.partial] == ["Hi"]


# ----------------------------------------------------------------------------------- dispose


def test_dispose_from_inside_on_next_ends_the_stream_at_once(each_leavable_way: Way) -> None:
    """`take(n)` gets n values even from a stage that emits many for one, and no stage flushes."""
    log: list[Any] = []
    seen = each_leavable_way.run([1, 2], passed(log, "upper"), twice(), twice(), ops.take(3))
    assert seen.values == [1, 1, 1]
    assert seen.completed
    assert log == ["upper closed"]


def test_dispose_while_a_flush_runs_ends_it_at_once(each_leavable_way: Way) -> None:
    """The stage that flushes is unwound and closed once; those below it are closed without a flush."""
    log: list[Any] = []

    @operator
    def generous(out: Out[Any]) -> Stage[Any]:
        try:
            yield out.on_next
            for number in range(3):
                log.append(number)
                out.on_next(number)
        finally:
            log.append("finally")

    seen = each_leavable_way.run([], generous(), passed(log, "below"), ops.take(1))
    assert seen.values == [0]
    assert log in ([0, "below closed", "finally"], [0, "finally", "below closed"])


def test_dispose_closes_every_stage_once_the_last_one_first() -> None:
    """And a second dispose, or a late value of the source, does nothing."""
    log: list[Any] = []
    source: Subject[int] = Subject()
    seen = Seen()
    subscription = source.pipe(passed(log, "first"), passed(log, "second")).subscribe(seen)
    observer = source.observers[0]
    subscription.dispose()
    subscription.dispose()
    observer.on_next(1)
    assert log == ["second closed", "first closed"]
    assert (seen.values, seen.ends, source.observers) == ([], 0, [])


def test_dispose_from_another_thread_waits_for_no_step_and_closes_after_it() -> None:
    """While a step runs its stage is not closed; when it is done, the value is not delivered, and `finally` runs once."""
    running, disposed = threading.Event(), threading.Event()
    log: list[Any] = []
    closed_by: list[Any] = []

    @operator
    def slow(out: Out[int]) -> Stage[int]:
        def on_next(value: int) -> None:
            running.set()
            assert disposed.wait(LONG)
            log.append("step done")
            out.on_next(value)
            log.append("never")

        try:
            yield on_next
        finally:
            log.append("finally")
            closed_by.append(threading.current_thread())

    source: Subject[int] = Subject()
    seen = Seen()
    subscription = source.pipe(slow()).subscribe(seen)
    thread = threading.Thread(target=source.on_next, args=(1,))
    thread.start()
    assert running.wait(LONG)
    subscription.dispose()
    assert log == []
    assert source.observers == []
    disposed.set()
    thread.join(LONG)
    assert log == ["step done", "finally"]
    assert closed_by == [thread]
    assert (seen.values, seen.ends) == ([], 0)


def test_a_value_that_meets_a_dispose_at_the_door_is_dropped() -> None:
    """The stream was open when the value came and is closed when its turn comes: no step runs on a closed stage."""
    log: list[Any] = []
    source: Subject[int] = Subject()
    run: Any = source.pipe(passed(log)).subscribe(Seen())

    class Door:
        """A lock before which the subscriber leaves."""

        def __init__(self, lock: Any) -> None:
            self.lock = lock
            self.release = lock.release

        def acquire(self, blocking: bool = True) -> Any:
            run._lock = self.lock
            run.dispose()
            return self.lock.acquire(blocking)

    run._lock = Door(run._lock)
    source.on_next(1)
    assert log == ["stage closed"]


def test_many_threads_may_dispose_at_once() -> None:
    """`finally` runs exactly once, whoever comes first."""
    for _ in range(20):
        log: list[Any] = []
        source: Subject[int] = Subject()
        subscription = source.pipe(passed(log)).subscribe(Seen())
        together = threading.Barrier(4)

        def leave(subscription: Any = subscription, together: Any = together) -> None:
            together.wait(LONG)
            subscription.dispose()

        threads = [threading.Thread(target=leave) for _ in range(3)]
        for thread in threads:
            thread.start()
        together.wait(LONG)
        source.on_next(1)
        for thread in threads:
            thread.join(LONG)
        assert log == ["stage closed"]


def test_a_stage_that_emits_when_it_is_closed_is_not_heard(each_leavable_way: Way) -> None:
    """A dispose is no time to emit; the other stages are closed all the same."""
    log: list[Any] = []

    @operator
    def talkative(out: Out[int]) -> Stage[int]:
        try:
            yield out.on_next
        finally:
            out.on_next(99)

    seen = each_leavable_way.run([1, 2], passed(log, "above"), talkative(), passed(log, "below"), ops.take(1))
    assert seen.values == [1]
    assert sorted(log) == ["above closed", "below closed"]


def test_what_a_finally_raises_on_dispose_leaves_dispose() -> None:
    """Every stage is closed and the source is left, then the first error is raised."""
    log: list[Any] = []

    @operator
    def failing(out: Out[int], error: Exception) -> Stage[int]:
        try:
            yield out.on_next
        finally:
            raise error

    source: Subject[int] = Subject()
    chain = source.pipe(passed(log), failing(ValueError("upper")), failing(ValueError("lower")))
    subscription = chain.subscribe(Seen())
    with pytest.raises(ValueError, match="lower"):
        subscription.dispose()
    assert log == ["stage closed"]
    assert source.observers == []


def test_what_a_finally_raises_after_take_goes_to_the_producer_not_to_a_stage_above() -> None:
    """It belongs to nobody's stream any more; a stage above must not be able to eat it."""
    log: list[Any] = []

    @operator
    def failing(out: Out[int]) -> Stage[int]:
        try:
            yield out.on_next
        finally:
            raise Bug

    @operator
    def shielded(out: Out[int]) -> Stage[int]:
        def on_next(value: int) -> None:
            try:
                out.on_next(value)
            except Exception:
                log.append("eaten")

        yield on_next

    source: Subject[int] = Subject()
    seen = Seen()
    source.pipe(shielded(), failing(), ops.take(1)).subscribe(seen)
    with pytest.raises(Bug):
        source.on_next(1)
    assert (seen.values, seen.completed, log) == ([1], True, [])


# ----------------------------------------------------------------------------------- the yield


def test_a_stage_must_yield_its_step_once(each_way: Way) -> None:
    """One that never yields, that yields no function or that yields twice ends the stream with an error that says so."""

    @operator
    def never(out: Out[int]) -> Stage[int]:
        if out is None:
            yield out.on_next

    @operator
    def no_function(out: Out[int]) -> Stage[int]:
        yield 7  # type: ignore[misc]

    @operator
    def two_yields(out: Out[int]) -> Stage[int]:
        yield out.on_next
        yield out.on_next

    log: list[Any] = []
    for stage, kind, said in (
        (never(), TypeError, r"never\(\) must yield its step, a function of one value; it returned"),
        (no_function(), TypeError, r"it yielded 7"),
        (two_yields(), RuntimeError, r"two_yields\(\) yielded more than once"),
    ):
        seen = each_way.run([1], stage, passed(log))
        assert type(seen.end) is kind
        with pytest.raises(kind, match=said):
            raise seen.end
    assert log == ["stage got TypeError", "stage closed"] * 2 + ["stage got RuntimeError", "stage closed"]


def test_an_error_can_be_answered_at_the_yield(each_way: Way) -> None:
    """A stage that catches it and returns completes the stream; what it emits meanwhile arrives."""

    @operator
    def forgiving(out: Out[Any]) -> Stage[Any]:
        try:
            yield out.on_next
        except StreamError as error:
            out.on_next(f"recovered: {error}")

    seen = each_way.run([1, 2, 3], broken_at(2, StreamError("bad")), forgiving(), twice())
    assert seen.values == [1, 1, "recovered: bad", "recovered: bad"]
    assert seen.completed


def test_an_error_can_be_added_to_and_passed_on(each_way: Way) -> None:
    """The subscriber gets the very same error, with what the stage has added; another one replaces it."""

    @operator
    def knowing(out: Out[Any]) -> Stage[Any]:
        try:
            yield out.on_next
        except StreamError as error:
            error.code = "known"
            raise

    @operator
    def renaming(out: Out[Any]) -> Stage[Any]:
        try:
            yield out.on_next
        except StreamError as error:
            raise TruncatedError("renamed") from error

    bad = ConnectionLost("gone")
    seen = each_way.run([1], knowing(), end=bad)
    assert seen.end is bad
    assert bad.code == "known"
    seen = each_way.run([1], renaming(), passed(), end=bad)
    assert isinstance(seen.end, TruncatedError)
    assert seen.end.__cause__ is bad


def test_an_error_in_a_flush_belongs_to_the_stage_that_raised_it(each_way: Way) -> None:
    """Whether the flush itself raises or a step below that it feeds."""

    @operator
    def flushing(out: Out[Any], error: Exception | None = None) -> Stage[Any]:
        yield out.on_next
        try:
            out.on_next("flush")
        except Exception:
            pytest.fail("an error of a stage below was seen above")
        if error is not None:
            raise error

    bad, log = StreamError("bad"), list[Any]()
    seen = each_way.run([], flushing(bad), passed(log))
    assert (seen.values, seen.end) == (["flush"], bad)
    seen = each_way.run([], flushing(), broken_at("flush", bad), passed(log))
    assert (seen.values, seen.end) == ([], bad)
    assert log == ["stage got StreamError", "stage closed"] * 2


@pytest.mark.parametrize("where", ["set-up", "step", "flush", "error"])
def test_a_stage_may_end_the_stream_anywhere(each_way: Way, where: str) -> None:
    """In set-up, in a step, in a flush and in answer to an error: what is below flushes, then completes, once."""

    @operator
    def ending(out: Out[Any]) -> Stage[Any]:
        def on_next(value: Any) -> None:
            out.on_next(value)
            if where == "step":
                end()

        def end() -> None:
            out.on_completed()
            pytest.fail("out.on_completed() returned")

        if where == "set-up":
            end()
        try:
            yield on_next
        except StreamError:
            end()
        if where == "flush":
            end()

    log: list[Any] = []
    end = ConnectionLost("gone") if where == "error" else COMPLETED
    seen = each_way.run([1, 2], ending(), summed(), passed(log), end=end)
    assert seen.values == {"set-up": [0], "step": [1, 1]}.get(where, [1, 3, 3])
    assert seen.completed
    assert log == ["stage flushed", "stage closed"]


def test_an_error_in_set_up_reaches_the_subscriber_and_the_source_is_never_asked(each_way: Way) -> None:
    """Stages below get it at their yield; stages above are not set up."""
    log: list[Any] = []

    @operator
    def unable(out: Out[int]) -> Stage[int]:
        raise StreamError("unable")
        yield out.on_next

    seen = each_way.run([1], passed(log, "above"), unable(), passed(log, "below"))
    assert str(seen.end) == "unable"
    assert log == ["below got StreamError", "below closed"]


def test_an_exception_in_answer_to_an_error_in_set_up_leaves_subscribe() -> None:
    """Law 4 holds before the source is there."""

    @operator
    def unable(out: Out[int]) -> Stage[int]:
        raise StreamError("unable")
        yield out.on_next

    with pytest.raises(Bug):
        Cold([1]).pipe(unable(), passed()).subscribe(Buggy(at="error"))


def test_a_stage_may_emit_in_set_up(each_way: Way) -> None:
    """What it emits comes first; when a stage below breaks at it, the stages above are not set up."""

    @operator
    def greeting(out: Out[Any]) -> Stage[Any]:
        out.on_next("hello")
        yield out.on_next

    seen = each_way.run([1], greeting(), twice())
    assert seen.values == ["hello", "hello", 1, 1]
    seen = each_way.run([1], greeting(), broken_at("hello", StreamError("rude")))
    assert (seen.values, str(seen.end), seen.ends) == ([], "rude", 1)


# ----------------------------------------------------------------------------------- re-entrance


@pytest.mark.parametrize("join", [fused, unfused])
def test_a_sink_may_feed_its_source(join: Callable[..., Any]) -> None:
    """Values that come while one is being handed on go through at once, inside it."""
    source: Subject[int] = Subject()
    values: list[int] = []

    def feed(value: int) -> None:
        values.append(value)
        if value < 3:
            source.on_next(value + 1)

    join(source, passed(), passed()).subscribe(feed)
    source.on_next(1)
    assert values == [1, 2, 3]


@pytest.mark.parametrize("join", [fused, unfused])
@pytest.mark.parametrize("how", ["completes", "breaks", "raises", "stage breaks", "disposes"])
def test_a_sink_may_end_its_source_from_inside_a_value(join: Callable[..., Any], how: str) -> None:
    """Each stage ends once, nothing comes after the end, and the loops that were running are left."""
    source: Subject[Any] = Subject()
    log: list[Any] = []

    class Sink(Seen):
        def on_next(self, value: Any) -> None:
            super().on_next(value)
            if value == 1:
                if how == "completes":
                    source.on_completed()
                elif how == "breaks":
                    source.on_error(StreamError("bad"))
                elif how == "disposes":
                    subscription.dispose()
                else:
                    source.on_next("inner")
            elif how == "raises":
                raise Bug

    sink = Sink()
    stages = (passed(log, "upper"), twice(), broken_at("inner" if how == "stage breaks" else None, StreamError("bad")))
    subscription = join(source, *stages, passed(log, "lower")).subscribe(sink)
    if how == "raises":
        with pytest.raises(Bug):
            source.on_next(1)
    else:
        source.on_next(1)
    source.on_next(2)
    assert sink.values == ([1, "inner"] if how == "raises" else [1])
    assert sink.ends == (0 if how in {"raises", "disposes"} else 1)
    assert sorted(entry for entry in log if "closed" in entry) == ["lower closed", "upper closed"]
    assert source.observers == []


def test_a_chain_subscribed_inside_a_chain_runs_by_itself(each_way: Way) -> None:
    """A subscription made from a subscriber, in mid-stream, shares neither state nor trampoline trouble."""
    inner: list[Any] = []

    class Sink(Seen):
        def on_next(self, value: Any) -> None:
            super().on_next(value)
            Inside([value]).pipe(twice()).subscribe(inner.append)

    sink = each_way.run([1, 2], passed(), to=Sink())
    assert (sink.values, inner) == ([1, 2], [1, 1, 2, 2])


# ----------------------------------------------------------------------------------- torn down


@pytest.mark.parametrize("place", ["step", "subscriber", "flush", "on_completed"])
def test_an_interrupt_tears_the_stream_down_and_is_raised(each_way: Way, place: str) -> None:
    """KeyboardInterrupt goes up through every `except Exception`; every stage is closed, nobody is told an end.

    In an unfused chain, stages below an Observable that is not ours hear nothing of it.
    """
    log: list[Any] = []

    @operator
    def interrupted(out: Out[int]) -> Stage[int]:
        def on_next(value: int) -> None:
            if place == "step":
                raise KeyboardInterrupt
            out.on_next(value)

        yield on_next
        if place == "flush":
            raise KeyboardInterrupt

    class Sink(Seen):
        def on_next(self, value: Any) -> None:
            super().on_next(value)
            if place == "subscriber":
                raise KeyboardInterrupt

        def on_completed(self) -> None:
            if place == "on_completed":
                raise KeyboardInterrupt
            super().on_completed()

    sink = Sink()
    with pytest.raises(KeyboardInterrupt):
        each_way.run([1], passed(log, "upper"), interrupted(), passed(log, "lower"), to=sink)
    assert sink.ends == 0
    closed = sorted(entry for entry in log if "closed" in entry)
    assert closed == ["lower closed", "upper closed"] or (each_way.name == "unfused" and closed == ["upper closed"])


def test_a_source_that_cannot_be_subscribed_closes_the_stages() -> None:
    """What `subscribe` of a foreign source raises leaves ours, as it would without us."""
    log: list[Any] = []

    class Refusing(reactivex.Observable[int]):
        def subscribe(self, *_: Any, **__: Any) -> Any:
            raise Bug

    with pytest.raises(Bug):
        Refusing().pipe(passed(log)).subscribe(Seen())
    assert log == ["stage closed"]


# ----------------------------------------------------------------------------------- time


def test_now_is_the_time_of_the_scheduler_of_the_subscription() -> None:
    """`out.now()` under virtual time, in seconds."""

    @operator
    def stamped(out: Out[float]) -> Stage[Any]:
        yield lambda _: out.on_next(out.now())

    scheduler = TestScheduler()
    seen = Seen()
    source = reactivex.interval(2.5, scheduler=scheduler).pipe(ops.take(3))
    source.pipe(stamped()).subscribe(seen, scheduler=scheduler)
    scheduler.start()
    first, second, third = seen.values
    assert (second - first, third - second) == (2.5, 2.5)


def test_now_without_a_scheduler_is_a_steady_clock(each_way: Way) -> None:
    """It never goes back."""

    @operator
    def stamped(out: Out[float]) -> Stage[Any]:
        yield lambda _: out.on_next(out.now())

    first, second = each_way.run([1, 2], stamped()).values
    assert second >= first > 0


def test_the_scheduler_is_handed_up_to_the_source() -> None:
    """Through ours and through stock operators between them."""
    seen: list[Any] = []

    class Asking(reactivex.Observable[int]):
        def _subscribe_core(self, observer: Any, scheduler: Any = None) -> Any:
            seen.append(scheduler)
            return Disposable()

    scheduler = TestScheduler()
    Asking().pipe(passed(), ops.map(lambda value: value), passed()).subscribe(Seen(), scheduler=scheduler)
    assert seen == [scheduler]


# ----------------------------------------------------------------------------------- finish and cancel


class Finishing(reactivex.Observable[int]):
    """A source whose subscription can finish in good order."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[str] = []

    def subscribe(self, on_next: Any = None, *args: Any, **kwargs: Any) -> Any:
        log = self.log

        class Subscription(Disposable):
            def finish(self) -> None:
                log.append("finished")

            def dispose(self) -> None:
                log.append("disposed")

        self.push = on_next
        self.complete = args[1] if len(args) > 1 else None
        return Subscription()


def test_an_early_end_finishes_what_is_above_and_a_dispose_cancels_it() -> None:
    """Once each: `finish()` where a stage has ended the stream, `dispose()` where the subscriber left."""
    source = Finishing()
    subscription = source.pipe(passed(), ends_at(1), passed()).subscribe(Seen())
    source.push(1)
    subscription.dispose()
    assert source.log == ["finished"]

    source = Finishing()
    subscription = source.pipe(passed(), ends_at(1)).subscribe(Seen())
    subscription.dispose()
    assert source.log == ["disposed"]

    source = Finishing()
    subscription = source.pipe(passed()).subscribe(Seen())
    subscription.finish()  # type: ignore[attr-defined]
    assert source.log == ["finished"]


def test_a_broken_stage_disposes_what_is_above() -> None:
    """An error is no good order."""
    source = Finishing()
    source.pipe(broken_at(1, StreamError("bad"))).subscribe(Seen())
    source.push(1)
    assert source.log == ["disposed"]


def test_an_early_end_only_disposes_an_upstream_that_cannot_finish() -> None:
    """Any Observable will do as a source."""
    source: Subject[int] = Subject()
    seen = Seen()
    source.pipe(ends_at(1)).subscribe(seen)
    source.on_next(1)
    assert seen.completed
    assert source.observers == []


# ----------------------------------------------------------------------------------- who looks on


class Recorder(Spy):
    """Writes down every chain and its lanes."""

    def __init__(self) -> None:
        self.chains: list[tuple[str, ...]] = []
        self.log: list[Any] = []

    def chain(self, stages: tuple[str, ...]) -> Lanes:
        self.chains.append(stages)
        return RecordedLanes(self.log, len(self.chains))


class RecordedLanes(Lanes):
    def __init__(self, log: list[Any], number: int) -> None:
        self.log, self.number = log, number

    def subscribed(self) -> None:
        self.log.append((self.number, "subscribed"))

    def on_next(self, lane: int, value: object) -> None:
        self.log.append((self.number, lane, value))

    def returned(self, lane: int) -> None:
        self.log.append((self.number, lane, "returned"))

    def on_error(self, lane: int, error: Exception) -> None:
        self.log.append((self.number, lane, type(error).__name__))

    def on_completed(self, lane: int) -> None:
        self.log.append((self.number, lane, "|"))

    def disposed(self) -> None:
        self.log.append((self.number, "disposed"))


def test_a_spy_sees_every_lane_of_a_chain() -> None:
    """Lane 0 is what comes in, lane n what the n-th stage emits; a value is left when all below is done with it."""
    spy = Recorder()
    with watched_by(spy):
        Cold([1]).pipe(passed(), twice()).subscribe(Seen())
    assert spy.chains == [("passed()", "twice()")]
    assert spy.log == [
        (1, "subscribed"),
        *((1, 0, 1), (1, 1, 1)),
        *((1, 2, 1), (1, 2, "returned")) * 2,
        *((1, 1, "returned"), (1, 0, "returned")),
        *((1, 0, "|"), (1, 1, "|"), (1, 2, "|")),
    ]


def test_a_spy_sees_how_lanes_end() -> None:
    """An error from its stage downwards, an early end from its stage downwards, a dispose."""
    spy = Recorder()
    with watched_by(spy):
        Cold([1]).pipe(passed(), broken_at(1, StreamError("x")), passed()).subscribe(Seen())
        Cold([1]).pipe(passed(), ends_at(1), passed()).subscribe(Seen())
        Cold([1], end=None).pipe(passed()).subscribe(Seen()).dispose()
        Cold([], end=StreamError("x")).pipe(passed()).subscribe(Seen())
    ends = [entry for entry in spy.log if len(entry) == 2 or entry[2] in {"StreamError", "|"}]
    assert [entry for entry in ends if entry[1] != "subscribed"] == [
        (1, 2, "StreamError"),
        (1, 3, "StreamError"),
        (2, 2, "|"),
        (2, 3, "|"),
        (3, "disposed"),
        (4, 0, "StreamError"),
        (4, 1, "StreamError"),
    ]


def test_a_spy_sees_what_is_subscribed_later_from_callbacks() -> None:
    """Chains made in a flat_map above or below ours are seen, long after the `with` was left."""
    spy = Recorder()
    above: Subject[int] = Subject()
    seen = Seen()
    outer: Any = ops.flat_map(lambda value: reactivex.of(value).pipe(twice()))
    inner: Any = ops.flat_map(lambda value: reactivex.of(value).pipe(summed()))
    chain: Any = above.pipe(outer, passed(), inner)
    with watched_by(spy):
        chain.subscribe(seen)
    assert current_spy() is None
    above.on_next(1)
    assert spy.chains == [("passed()",), ("summed()",), ("summed()",)]
    with watched_by(spy):
        above.on_next(2)
    assert ("twice()",) in spy.chains
    assert seen.values == [1, 1] * 2 + [2, 2] * 2


def test_without_a_spy_nothing_is_wrapped() -> None:
    """No lanes, and the very callbacks of the run reach the source; a spy that wants no lanes costs none either."""
    source = Finishing()
    run: Any = source.pipe(passed()).subscribe(Seen())
    assert run._lanes is None
    assert source.push.__func__ is type(run)._receive
    with watched_by(Spy()):
        run = source.pipe(passed()).subscribe(Seen())
    assert run._lanes is None


def test_watched_by_none_hides_from_a_spy() -> None:
    """A helper's own subscriptions can be kept out."""
    spy = Recorder()
    with watched_by(spy), watched_by(None):
        Cold([1]).pipe(passed()).subscribe(Seen())
    assert spy.chains == []


@pytest.mark.parametrize("method", ["on_next", "returned", "on_completed", "on_error"])
def test_an_onlookers_exception_goes_to_the_producer(method: str) -> None:
    """It is neither the subscriber's nor any stage's: no stage gets it at its yield, no on_error is called."""

    class Broken(Lanes):
        pass

    def bug(self: Lanes, lane: int, *_: object) -> None:
        if lane == 1:
            raise Bug

    setattr(Broken, method, bug)

    class Careless(Spy):
        def chain(self, stages: tuple[str, ...]) -> Lanes:
            return Broken()

    log: list[Any] = []
    seen = Seen()
    with watched_by(Careless()), pytest.raises(Bug):
        Cold([1], StreamError("x") if method == "on_error" else COMPLETED).pipe(passed(), passed(log)).subscribe(seen)
    assert seen.ends == 0
    assert log == ["stage closed"]


def test_a_plain_spy_and_plain_lanes_do_nothing() -> None:
    """Every method is there to be overridden; a spy is its own scope."""
    spy = Spy()
    assert spy.scope("attempt", 1) is spy
    assert spy.chain(("lines()",)) is None
    assert spy.tool("f", "call_1") is None
    spy.request("POST", "http://host/", {}, {})
    spy.response(200, {})
    spy.read(b"")
    spy.closed(None)
    lanes = Lanes()
    lanes.subscribed()
    lanes.on_next(0, 1)
    lanes.returned(0)
    lanes.on_error(0, StreamError("x"))
    lanes.on_completed(0)
    lanes.disposed()


def test_several_spies_see_as_one() -> None:
    """Each is asked for everything; who wants no lanes has none."""
    first, second = Recorder(), Recorder()
    with watched_by(Spies(first, Spy(), second)):
        Cold([1]).pipe(passed()).subscribe(Seen())
        Cold([], StreamError("x")).pipe(passed()).subscribe(Seen())
        Cold([], None).pipe(passed()).subscribe(Seen()).dispose()
    assert first.log == second.log
    assert {entry[-1] for entry in first.log} == {"subscribed", 1, "returned", "|", "StreamError", "disposed"}
    with watched_by(Spies(first, Spy())):
        Cold([1]).pipe(passed()).subscribe(Seen())
    assert len(first.chains) == 4
    assert Spies(Spy()).chain(("passed()",)) is None


def test_several_spies_hear_of_sources_and_tools() -> None:
    """With their scopes."""

    class Source(Spy):
        def __init__(self) -> None:
            self.log: list[Any] = []

        def scope(self, kind: str, number: int) -> Spy:
            self.log.append((kind, number))
            return self

        def secrets(self, values: Sequence[str]) -> None:
            self.log.append(values)

        def request(self, *args: Any) -> None:
            self.log.append(args)

        def response(self, *args: Any) -> None:
            self.log.append(args)

        def read(self, data: bytes) -> None:
            self.log.append(data)

        def closed(self, error: Exception | None) -> None:
            self.log.append(error)

        def tool(self, name: str, id: str) -> Callable[[Exception | None], None]:  # noqa: A002
            self.log.append((name, id))
            return self.log.append

    first, second = Source(), Source()
    spies = Spies(first, Spy(), second).scope("attempt", 1)
    spies.secrets(["key"])
    spies.request("POST", "http://host/", {}, b"{}")
    spies.response(200, {})
    spies.read(b"x")
    spies.closed(None)
    ended = spies.tool("f", "a")
    assert ended is not None
    ended(None)
    wanted: list[Any] = [
        ("attempt", 1),
        ["key"],
        ("POST", "http://host/", {}, b"{}"),
        (200, {}),
        b"x",
        None,
        ("f", "a"),
        None,
    ]
    assert first.log == second.log == wanted
    assert Spies(Spy()).tool("f", "a") is None


def test_a_stage_can_set_a_spy_on_what_is_above_its_chain() -> None:
    """With whoever looks on already; it sees chains that are subscribed above, its own chain it does not."""

    @operator
    def watching(out: Out[Any], spy: Spy) -> Stage[Any]:
        out.watch(spy)
        yield out.on_next

    for outer in (None, Recorder()):
        inner = Recorder()
        with watched_by(outer):
            seen = Seen()
            identity(Cold([1]).pipe(passed())).pipe(watching(inner)).subscribe(seen)
        assert inner.chains == [("passed()",)]
        assert seen.values == [1]
        if outer is not None:
            assert len(outer.chains) == 2
    assert current_spy() is None


# ----------------------------------------------------------------------------------- operators as objects


def test_stages_that_meet_are_one_subscription() -> None:
    """However they were put together: piped, piped again, or joined with `then`."""
    source: Subject[Any] = Subject()
    chains: list[Any] = [
        source.pipe(passed(), twice()),
        source.pipe(passed()).pipe(twice()),
        source.pipe(passed().then(twice())),
    ]
    assert [(chain.source, chain.names) for chain in chains] == [(source, ("passed()", "twice()"))] * 3
    assert repr(passed().then(twice())) == "passed() | twice()"
    stopped: Any = source.pipe(passed(), ops.map(str), twice())
    assert stopped.names == ("twice()",)


def test_then_takes_stages_one_after_the_other(each_way: Way) -> None:
    """An operator made of two does what the two do."""
    assert each_way.run([1, 2], summed().then(twice())).values == [1, 1, 3, 3, 3, 3]


def test_wrong_options_are_refused_where_they_are_written() -> None:
    """With the name of the operator and its options in the message."""
    with pytest.raises(TypeError, match=r"broken_at\(bad: '?Any'?, error: .*\): missing a required argument: 'error'"):
        broken_at(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'limits'"):
        lines(limits=3)  # type: ignore[call-arg]


def test_an_operator_goes_below_an_observable_only() -> None:
    """Bytes in its place are a mistake that is told at once."""
    with pytest.raises(TypeError, match=r"lines\(\) goes below an Observable.*got bytes"):
        lines()(b"data: x")  # type: ignore[arg-type]


def test_an_operator_is_made_of_a_generator_function() -> None:
    """A function that returns its step instead of yielding it is told so when it is decorated."""
    with pytest.raises(TypeError, match="yields its step; plain is none"):

        @operator
        def plain(out: Out[int]) -> Any:
            return out.on_next


def test_help_shows_the_options_and_what_flows() -> None:
    """Not the kernel's own parameters."""
    import inspect

    assert str(inspect.signature(lines)) == "(*, limit: 'int | None' = 67108864) -> 'Operator[bytes, bytes]'"
    assert str(inspect.signature(sse)).endswith("-> 'Operator[bytes, ServerSentEvent]'")
    assert lines.__annotations__ == {"limit": "int | None"}
    assert (lines.__doc__ or "").startswith("From reads")

    @operator
    def untyped(out, size=1):
        yield out.on_next

    assert str(inspect.signature(untyped)) == "(size=1) -> 'Operator'"


def test_positional_and_keyword_options_reach_the_kernel(each_way: Way) -> None:
    """And show in the operator's name, as a spy and a traceback give it."""

    @operator
    def scaled(out: Out[int], by: int, *, plus: int = 0) -> Stage[int]:
        yield lambda value: out.on_next(value * by + plus)

    assert repr(scaled(2, plus=1)) == "scaled(2, plus=1)"
    assert repr(scaled(by=3)) == "scaled(by=3)"
    assert each_way.run([1, 2], scaled(2, plus=1), scaled(by=3)).values == [9, 15]


def test_a_subscription_can_be_made_of_callbacks_alone() -> None:
    """As with any Observable."""
    values: list[Any] = []
    done: list[bool] = []
    Cold([1]).pipe(twice()).subscribe(values.append, on_completed=lambda: done.append(True))
    assert (values, done) == ([1, 1], [True])
    assert identity(Cold([1]).pipe(twice())).pipe(ops.to_list()).run() == [1, 1]
