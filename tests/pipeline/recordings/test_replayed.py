"""A recording plays as it came: the same cuts, the same times, the same end."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import operators as ops
from reactivex.scheduler import VirtualTimeScheduler
from reactivex.scheduler.eventloop import AsyncIOScheduler
from reactivex.testing import TestScheduler

from operators import ApiError, ConnectionLost, Event, Finish, StreamError, StreamTimeout, TextDelta, lines
from pipeline import decode, iterate, replay
from pipeline.measure import Metrics, metrics
from pipeline.recordings import (
    Failure,
    RecordedAttempt,
    RecordedEnd,
    RecordedRead,
    RecordedStream,
    Recording,
    record,
    replayed,
)
from pipeline.recordings._format import decode_line, encode, read_line
from tests.support import Seen
from tests.support.timing import LONG, soon

Timed = tuple[float, Any]


def recording(*reads: tuple[float, bytes], end: RecordedEnd | None = None) -> Recording:
    attempt = RecordedAttempt(reads=tuple(RecordedRead(at, data) for at, data in reads), end=end)
    return Recording((RecordedStream(attempts=(attempt,)),))


def played(source: Any, scheduler: VirtualTimeScheduler) -> list[Timed]:
    """What comes, with its time."""
    found: list[Timed] = []

    def keep(value: Any) -> None:
        found.append((scheduler.to_seconds(scheduler.now), value))

    source.subscribe(keep, keep, lambda: keep("|"), scheduler=scheduler)
    scheduler.start()
    return found


def text(content: str, finish: str = "null") -> bytes:
    return f'data: {{"choices":[{{"delta":{{"content":"{content}"}},"finish_reason":{finish}}}]}}\n\n'.encode()


ANSWER = recording(
    (0.25, b": hello\n\n"), (0.5, text("one ")), (0.625, text("two ")), (3.0, text("three", '"stop"')),
    (3.5, b"data: [DONE]\n\n"), end=RecordedEnd(4.0),
)  # fmt: skip


@pytest.mark.parametrize("scheduler", [VirtualTimeScheduler, TestScheduler])
@pytest.mark.parametrize("speed", [1, "virtual"])
def test_reads_come_at_their_offsets_in_virtual_time(scheduler: Any, speed: Any) -> None:
    source = recording((0.0, b"a"), (0.25, b"b"), (0.25, b"c"), (7200.0, b"d"), end=RecordedEnd(7200.5))
    found = played(replayed(source, speed=speed), scheduler())
    assert found == [(0.0, b"a"), (0.25, b"b"), (0.25, b"c"), (7200.0, b"d"), (7200.5, "|")]


def test_speed_scales_the_offsets() -> None:
    source = recording((1.0, b"a"), (3.0, b"b"))
    assert played(replayed(source, speed=2), VirtualTimeScheduler()) == [(0.5, b"a"), (1.5, b"b"), (1.5, "|")]
    assert played(replayed(source, speed=0), VirtualTimeScheduler()) == [(0.0, b"a"), (0.0, b"b"), (0.0, "|")]


def test_many_reads_at_one_time_do_not_move_a_virtual_clock() -> None:
    found = played(replayed(recording(*[(1.0, b"x")] * 500)), VirtualTimeScheduler())
    assert found == [(1.0, b"x")] * 500 + [(1.0, "|")]


def test_timing_operators_can_be_tested_on_real_streams() -> None:
    source = recording((1.0, b"a"), (1.1, b"b"), (9.0, b"c"))
    assert played(replayed(source).pipe(ops.debounce(1.0)), TestScheduler()) == [(2.1, b"b"), (9.0, b"c"), (9.0, "|")]


def test_in_virtual_time_metrics_are_identical_on_each_run() -> None:
    first, second = (
        [value for _, value in played(replayed(ANSWER).pipe(decode(), metrics()), TestScheduler())] for _ in range(2)
    )
    assert first == second
    measured = first[-2]
    assert isinstance(measured, Metrics)
    assert (measured.time_to_first_byte, measured.time_to_first_content, measured.duration) == (0.25, 0.5, 3.5)
    assert (measured.stalls, measured.longest_stall, measured.heartbeats) == (1, 2.375, 1)


def test_a_recording_of_a_replay_is_the_same_recording(tmp_path: Path) -> None:
    """Also for its metrics: those of the run that was recorded."""
    path = tmp_path / "again.jsonl"
    clock = VirtualTimeScheduler()
    with record(path, clock=lambda: clock.to_seconds(clock.now)):
        live = played(replayed(ANSWER).pipe(decode(), metrics()), clock)
    again = played(replayed(path).pipe(decode(), metrics()), VirtualTimeScheduler())
    assert again == live
    last = Recording.load(path).streams[0].last
    assert last.reads == ANSWER.streams[0].last.reads


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.binary(max_size=20) | st.text(max_size=9).map(str.encode)), max_size=9)
)
def test_any_reads_survive(reads: list[tuple[int, bytes]]) -> None:
    """Bytes that are no UTF-8, empty reads, every character that ends a line somewhere."""
    for gap, data in reads:
        line = read_line(data, gap / 1e6, 1, 1, None)
        written = encode(line)
        assert written.count(b"\n") == 1
        assert decode_line(written[:-1]) == line
        assert line.data == data


@pytest.mark.parametrize(
    "error",
    [
        ConnectionLost("the connection broke"),
        ApiError("overloaded", code=529, type="overloaded_error", param="x", retry_after=2.5, request_id="r"),
    ],
)
def test_it_breaks_as_it_broke(error: StreamError) -> None:
    failure = msgspec.json.decode(msgspec.json.encode(Failure.of(error)), type=Failure)
    found = played(replayed(recording((1.0, b"a"), end=RecordedEnd(2.0, failure))), VirtualTimeScheduler())
    assert found[0] == (1.0, b"a")
    at, again = found[1]
    assert at == 2.0
    assert type(again) is type(error)
    assert vars(again) == vars(error)


def test_errors_that_are_none_of_ours_and_phases() -> None:
    assert repr(Failure.of(KeyError("mine")).error()) == """StreamError("KeyError: 'mine'")"""
    timeout = StreamTimeout("nothing came")
    timeout.phase = "idle"
    again = Failure.of(timeout).error()
    assert isinstance(again, StreamTimeout)
    assert again.phase == "idle"


def test_at_once_and_in_real_time_without_a_scheduler() -> None:
    for speed, least, last in ((0, 0.0, 50.0), (1, 0.06, 0.06), (3, 0.02, 0.06)):
        source = recording((0.0, b"a"), (0.04, b"b"), end=RecordedEnd(last))
        seen = Seen()
        began = time.monotonic()
        with soon():
            replayed(source, speed=speed).subscribe(seen)
        assert time.monotonic() - began >= least
        assert seen.values == [b"a", b"b"]
        assert seen.completed


def test_a_dispose_from_another_thread_ends_the_wait() -> None:
    seen = Seen()
    came, stop = threading.Event(), reactivex.Subject[None]()
    source = replayed(recording((0.0, b"a"), (50.0, b"b"))).pipe(
        ops.do_action(lambda _: came.set()), ops.take_until(stop)
    )

    def run() -> None:
        source.subscribe(seen)

    thread = threading.Thread(target=run)
    thread.start()
    assert came.wait(LONG)
    stop.on_next(None)
    thread.join(LONG)
    assert not thread.is_alive()
    assert seen.values == [b"a"]


def test_on_an_event_loop_it_does_not_block() -> None:
    async def run() -> list[Any]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        found: list[Any] = []
        source = replayed(recording((0.0, b"a"), (0.03, b"b"), end=RecordedEnd(0.03, Failure("gone", "connection"))))
        source.subscribe(found.append, done.set_exception, scheduler=AsyncIOScheduler(loop))
        found.append("subscribed")
        with pytest.raises(ConnectionLost):
            await done
        return found

    assert asyncio.run(run()) == ["subscribed", b"a", b"b"]


def test_it_can_be_pulled() -> None:
    source = recording((0.0, b"a\nb\n"), (0.01, b"c\n"), (0.01, b"d\n"), end=RecordedEnd(0.01))
    with iterate(replayed(source), lines()) as found:
        assert next(found) == b"a"
        assert list(found) == [b"b", b"c", b"d"]

    async def run() -> list[bytes]:
        async with iterate(replayed(source), lines()) as found:
            return [line async for line in found]

    assert asyncio.run(run()) == [b"a", b"b", b"c", b"d"]


def test_it_can_be_left_and_a_subscriber_may_raise() -> None:
    source = recording((0.0, b"a"), (1.0, b"b"))
    assert played(replayed(source).pipe(ops.take(1)), VirtualTimeScheduler()) == [(0.0, b"a"), (0.0, "|")]

    def raises(_: bytes) -> None:
        raise KeyError("mine")

    clock = VirtualTimeScheduler()
    replayed(source).subscribe(raises, scheduler=clock)
    with pytest.raises(KeyError, match="mine"):
        clock.start()
    with pytest.raises(KeyError, match="mine"):
        replayed(source).subscribe(raises)


def test_it_ends_at_done_without_waiting_for_the_rest() -> None:
    source = recording((0.0, text("x", '"stop"')), (0.0, b"data: [DONE]\n\n"), (50.0, b": late\n"))
    with soon():
        assert replayed(source).pipe(decode(), ops.to_list()).run()[-1] == Finish("stop")


def test_plain_bodies_are_recordings_too(tmp_path: Path) -> None:
    path = tmp_path / "x.sse"
    body = text("Hi", '"stop"') + b"data: [DONE]\n\n"
    path.write_bytes(body)
    assert Recording.load(path).plain
    assert replayed(path).pipe(ops.to_list()).run() == [body]
    assert b"".join(replayed(str(path), read_size=7).pipe(ops.to_list()).run()) == body
    assert [e for _, e in played(replayed(path, speed="virtual").pipe(decode()), VirtualTimeScheduler())][
        1
    ] == TextDelta("Hi")
    for other in (b"", b"{}", b'{"format":"other","version":1}\n', b"\xff\xfe"):
        path.write_bytes(other)
        assert b"".join(replayed(path).pipe(ops.to_list()).run()) == other


def test_read_size_cuts_each_read() -> None:
    source = recording((1.0, b"abc"), (2.0, b"d"))
    found = played(replayed(source, read_size=2), VirtualTimeScheduler())
    assert found == [(1.0, b"ab"), (1.0, b"c"), (2.0, b"d"), (2.0, "|")]


def test_what_cannot_be_played(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replayed(tmp_path / "none")
    with pytest.raises(ValueError, match="no stream 2 in this recording; there are: 1"):
        replayed(ANSWER, stream=2)
    with pytest.raises(ValueError, match="no attempt 3"):
        replayed(ANSWER, attempt=3)
    for speed in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="speed"):
            replayed(ANSWER, speed=speed)
    with pytest.raises(ValueError, match="read_size"):
        replayed(ANSWER, read_size=0)
    with pytest.raises(TypeError, match="VirtualTimeScheduler"):
        replayed(ANSWER, speed="virtual").subscribe()


def test_two_subscribers_share_nothing() -> None:
    source = replayed(ANSWER, speed=0).pipe(decode())
    runs: list[list[Event]] = [[], []]
    for run in runs:
        source.subscribe(run.append)
    assert runs[0] == runs[1] != []
    assert replay(ANSWER.streams[0].last.body).pipe(decode(), ops.to_list()).run() == runs[0]
