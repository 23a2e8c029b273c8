"""Sharing a stream that is read on an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from functools import partial
from time import monotonic, sleep
from typing import Any

import pytest
import reactivex
from reactivex import Subject
from reactivex import operators as ops

from operators import Gap, LimitExceeded, TextDelta, lines
from pipeline import iterate, reads, replay
from pipeline.sharing import _buffers, block, coalesce, drop_oldest, latest, share_to
from tests.pipeline.sharing.sinks import Stopped, first, in_thread
from tests.support import COMPLETED, Cold, Seen
from tests.support.timing import LONG, until, wait_while


async def counted(number: int, read: list[int], each: int = 1, end: Exception | None = None) -> AsyncIterator[bytes]:
    """Reads of `each` lines, each noted down when it is made."""
    for at in range(number):
        read.append(at)
        yield b"".join(b"%d\n" % line for line in range(at * each, at * each + each))
        await asyncio.sleep(0)
    if end is not None:
        raise end


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run it; no task may be left, nothing may have gone to the loop's exception handler."""

    async def checked() -> None:
        complaints: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        await main
        await until(lambda: len(asyncio.all_tasks()) == 1)
        assert not complaints

    asyncio.run(checked())


def _ignore(_: object) -> None: ...


class Broken(Exception):
    pass


class Page(Seen):
    """An async sink that waits in each on_next until it is let go."""

    def __init__(self, raises: BaseException | None = None) -> None:
        super().__init__()
        self.permits = asyncio.Semaphore(0)
        self.raises = raises
        self.ended = asyncio.Event()

    async def on_next(self, value: Any) -> None:  # type: ignore[override]
        await self.permits.acquire()
        super().on_next(value)
        if self.raises is not None:
            raise self.raises

    async def on_completed(self) -> None:  # type: ignore[override]
        super().on_completed()
        self.ended.set()

    def let_go(self, times: int = 1) -> None:
        for _ in range(times):
            self.permits.release()


@pytest.mark.parametrize("end", [None, Broken("end")])
def test_all_sinks_get_all_and_the_end_once(end: Any) -> None:
    async def main() -> None:
        read: list[int] = []
        sinks = [Seen() for _ in range(5)]
        page, said, below = Page(), [], Seen()
        page.let_go(1000)

        async def say(event: Any) -> None:
            await asyncio.sleep(0)
            said.append(event)

        stream = reads(counted(50, read, end=end)).pipe(
            lines(),
            ops.map(int),
            share_to(
                sinks[0],
                block(sinks[1], 3),
                coalesce(sinks[2]),
                drop_oldest(sinks[3], 100),
                latest(sinks[4]),
                block(page, 1),
                block(say, 2),
            ),
        )
        stream.subscribe(below)
        await until(lambda: below.ends)
        await until(lambda: sinks[4].ends)
        all_of_it = list(range(50))
        assert all(seen.values == all_of_it for seen in (*sinks[:4], page, below))
        assert said == all_of_it
        assert sinks[4].values[-1] == 49
        for seen in (*sinks, page, below):
            assert seen.ends == 1
            assert str(seen.end) == ("end" if end else COMPLETED)

    run(main())


@pytest.mark.parametrize("kind", ["thread", "task"])
@pytest.mark.parametrize("each", [1, 10])
def test_block_holds_the_source_back_and_the_loop_stays_free(kind: str, each: int) -> None:
    async def main() -> None:
        read: list[int] = []
        sink: Any = Page() if kind == "task" else Stopped()
        below = Seen()
        stream = reads(counted(100, read, each)).pipe(
            lines(), ops.map(int), ops.filter(lambda _: True), share_to(block(sink, 4)), ops.map(str)
        )
        stream.subscribe(below)
        ahead = []
        for done in range(20):
            await until(partial(lambda n: len(below.values) >= n, done + 5))
            await asyncio.sleep(0.005)
            ahead.append(len(below.values) - done)
            sink.let_go()
            await until(partial(lambda n: len(sink.values) == n, done + 1))
        assert max(ahead) <= 1 + 4 + each - 1  # in its hands, waiting, the rest of a read
        sink.let_go(1000)
        await until(lambda: below.ends)
        assert sink.values == list(range(100 * each))
        assert sink.completed

    run(main())


def test_the_slowest_counts() -> None:
    async def main() -> None:
        read: list[int] = []
        slow, fast = Page(), Page()
        fast.let_go(1000)
        reads(counted(100, read)).pipe(share_to(block(fast, 2), block(slow, 5))).subscribe()
        await until(lambda: len(fast.values) == 6)
        await asyncio.sleep(0.01)
        assert len(read) == 6
        slow.let_go(1000)
        await until(lambda: slow.completed and fast.completed)

    run(main())


def test_two_shares_on_one_stream_both_hold() -> None:
    async def main() -> None:
        read: list[int] = []
        upper, lower, below = Page(), Page(), Seen()
        reads(counted(100, read)).pipe(share_to(block(upper, 2)), lines(), share_to(block(lower, 4))).subscribe(below)
        await until(lambda: len(read) == 3)
        upper.let_go(1000)
        await until(lambda: len(read) == 5)
        await asyncio.sleep(0.01)
        assert len(read) == 5
        lower.let_go(1000)
        await until(lambda: below.completed)
        assert len(upper.values) == len(lower.values) == 100

    run(main())


def test_a_pulled_stream_is_held_by_the_consumer_and_by_the_sink() -> None:
    async def main() -> None:
        read: list[int] = []
        sink = Page()
        found = []
        async with iterate(counted(20, read), lines(), share_to(block(sink, 2)), ops.map(int)) as pull:
            async for number in pull:
                found.append(number)
                assert len(read) <= number + 2
                assert number - len(sink.values) <= 3
                if number < 10:
                    sink.let_go()
                if number == 10:
                    waiting = asyncio.ensure_future(anext(pull))
                    await asyncio.sleep(0.01)
                    if not waiting.done():
                        sink.let_go()
                    found.append(await waiting)
                    sink.let_go(1000)
        assert found == list(range(20))
        assert sink.completed

    run(main())


def test_a_blocking_source_pulled_on_a_loop_waits_on_its_thread() -> None:
    async def main() -> None:
        sink: list[Any] = []

        def slow(event: Any) -> None:
            sleep(0.001)
            sink.append(event)

        async with iterate([b"1\n", b"2\n", b"3\n"], lines(), share_to(block(slow, 1))) as pull:
            assert [line async for line in pull] == [b"1", b"2", b"3"]
        assert sink == [b"1", b"2", b"3"]

    run(main())


def test_a_blocking_source_on_a_loop_waits_on_its_thread() -> None:
    """As in a notebook, where a loop runs and a blocking client is read."""

    async def main() -> None:
        sink, below = Seen(), Seen()

        def slow(event: Any) -> None:
            sleep(0.001)
            sink.on_next(event)

        replay([b"%d\n" % number for number in range(20)]).pipe(lines(), share_to(block(slow, 1))).subscribe(below)
        assert below.completed
        assert sink.values == below.values

    run(main())


def test_an_async_sink_of_a_blocking_source_on_its_loop_gets_all_afterwards() -> None:
    async def main() -> None:
        page, below = Page(), Seen()
        page.let_go(1000)
        Cold(range(20)).pipe(share_to(block(page, 2))).subscribe(below)
        assert below.completed
        assert not page.values
        await until(lambda: page.ends)
        assert page.values == list(range(20))

    run(main())


def test_an_async_sink_of_a_stream_that_is_read_on_another_thread() -> None:
    async def main() -> None:
        page, below = Page(), Seen()
        source: Any = Subject()
        source.pipe(share_to(block(page, 2))).subscribe(below)

        def feed() -> None:
            for value in range(20):
                source.on_next(value)
            source.on_completed()

        thread = in_thread(feed)
        await until(lambda: len(below.values) == 3)
        await asyncio.sleep(0.01)
        assert len(below.values) <= 4
        page.let_go(1000)
        await asyncio.to_thread(thread.join, 5)
        assert page.values == below.values == list(range(20))
        assert below.completed

    run(main())


def test_dispose_from_another_thread_cancels_an_async_sink() -> None:
    async def main() -> None:
        page, below, source = Page(), Seen(), Subject[int]()
        subscription = source.pipe(share_to(block(page))).subscribe(below)
        source.on_next(1)
        await asyncio.sleep(0)
        await asyncio.to_thread(subscription.dispose)
        await asyncio.sleep(0)
        page.let_go(5)
        assert not page.values
        assert not page.ends

    run(main())


def test_a_source_that_cannot_be_held_back_has_a_limit(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_buffers, "EVENTS_OVER", 10)
    monkeypatch.setattr("pipeline.sharing._joining._CHARACTERS_OVER", 10)

    async def main() -> None:
        source: Any = Subject()
        thread, page, joined, below = Stopped(), Page(), Page(), Seen()
        source.pipe(share_to(block(thread, 5), block(page, 5), coalesce(joined, limit=5))).subscribe(below)
        for _ in range(30):
            source.on_next(TextDelta("a"))
        source.on_completed()
        thread.free()
        page.let_go(100)
        joined.let_go(100)
        await until(lambda: below.ends)
        assert (len(below.values), below.completed) == (30, True)
        assert len(page.values) == 15
        assert len(thread.values) in {15, 16}
        assert joined.values == [TextDelta("a" * 8)]
        for seen in (thread, page, joined):
            assert isinstance(seen.end, LimitExceeded)
            assert seen.ends == 1
        assert caplog.text.count("cannot be held back") == 3

    run(main())


@pytest.mark.parametrize("raised", [Broken("the sink"), asyncio.CancelledError("the sink")])
def test_an_async_sink_that_raises_is_cut_off(raised: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        read: list[int] = []
        failing, other, below = Page(raised), Page(), Seen()
        failing.let_go(1000)
        other.let_go(1000)
        reads(counted(20, read)).pipe(share_to(block(failing, 1), block(other, 1))).subscribe(below)
        await until(lambda: below.ends)
        assert len(failing.values) == 1
        assert not failing.ends
        assert (len(other.values), len(below.values), below.completed) == (20, 20, True)

    run(main())
    assert len(caplog.records) == 1
    assert "Page raised and is cut off" in caplog.text


def test_an_async_sink_may_leave_the_stream_itself() -> None:
    async def main() -> None:
        read: list[int] = []
        seen: list[Any] = []

        async def leave(event: Any) -> None:
            seen.append(event)
            subscription.dispose()
            await asyncio.sleep(0)
            seen.append("left")

        subscription = reads(counted(20, read)).pipe(share_to(block(leave))).subscribe()
        await until(lambda: len(seen) == 2)
        assert seen == [b"0\n", "left"]

    run(main())


def test_dispose_cuts_all_off() -> None:
    async def main() -> None:
        read: list[int] = []
        thread, page, below = Stopped(), Page(), Seen()
        subscription = reads(counted(100, read)).pipe(share_to(block(thread, 1), block(page, 1))).subscribe(below)
        await until(lambda: len(read) == 2)
        subscription.dispose()
        thread.free()
        page.let_go(10)
        await asyncio.sleep(0.01)
        assert len(thread.values) <= 1
        assert not page.values
        assert [thread.ends, page.ends, below.ends] == [0, 0, 0]

    run(main())


def test_the_end_waits_and_the_loop_stays_free(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        read: list[int] = []
        page, below = Page(), Seen()
        reads(counted(3, read)).pipe(share_to(block(page))).subscribe(below)
        await until(lambda: len(below.values) == 3)
        await asyncio.sleep(0.02)
        assert not below.ends
        page.let_go(3)
        await until(lambda: below.ends)
        assert page.completed

        page, below = Page(), Seen()
        reads(counted(3, read)).pipe(share_to(block(page), drain_seconds=0.01)).subscribe(below)
        await until(lambda: below.ends)
        assert not page.values
        page.let_go(3)
        await until(lambda: page.ends)

    run(main())
    assert "Page has not ended after 0.01 s" in caplog.text


def test_a_stage_that_ends_the_stream_in_good_order_ends_it_for_the_sinks() -> None:
    async def main() -> None:
        direct, page, below = Seen(), Page(), Seen()
        reads(counted(100, [])).pipe(share_to(direct, block(page)), first(5)).subscribe(below)
        await until(lambda: below.completed)
        assert direct.completed
        page.let_go(100)
        await until(lambda: page.completed)
        assert len(page.values) == len(direct.values) == 5

    run(main())


def test_dispose_while_the_end_waits() -> None:
    async def main() -> None:
        read: list[int] = []
        page, below = Page(), Seen()
        subscription = reads(counted(3, read)).pipe(share_to(block(page))).subscribe(below)
        await until(lambda: len(below.values) == 3)
        await asyncio.sleep(0.01)
        subscription.dispose()
        await asyncio.sleep(0.01)
        assert not below.ends

    run(main())


def test_a_loop_that_ends_cuts_off() -> None:
    thread, below, page = Stopped(), Seen(), None

    async def main() -> None:
        nonlocal page
        page = Page()
        reads(counted(3, [])).pipe(share_to(block(thread), block(page))).subscribe(below)
        await until(lambda: len(below.values) == 3)
        await asyncio.sleep(0.01)

    asyncio.run(main())
    thread.free()
    wait_while(lambda: [each for each in threading.enumerate() if "sink" in each.name])
    assert not below.ends
    assert not thread.ends


def test_dispose_after_the_loop_was_closed() -> None:
    source: Any = Subject()

    async def main() -> Any:
        return source.pipe(share_to(block(Page()))).subscribe()

    subscription = asyncio.run(main())
    in_thread(subscription.dispose).join(LONG)


def test_what_the_subscriber_raises_at_the_end_goes_to_the_loop() -> None:
    async def main() -> None:
        complaints: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["exception"]))
        page = Page()

        def fail() -> None:
            raise Broken("the subscriber")

        reads(counted(1, [])).pipe(share_to(block(page))).subscribe(on_completed=fail)
        await asyncio.sleep(0.01)
        page.let_go()
        await until(lambda: complaints)
        assert [type(error) for error in complaints] == [Broken]

    asyncio.run(main())


def test_coalesce_in_real_time() -> None:
    async def main() -> None:
        said: list[Any] = []
        threaded: list[Any] = []

        async def say(event: Any) -> None:
            said.append(event)

        source: Any = Subject()
        source.pipe(share_to(coalesce(say, 10), coalesce(threaded.append, 10))).subscribe()
        source.on_next(TextDelta("a"))
        source.on_next(TextDelta("b"))
        await asyncio.sleep(0.001)
        assert not said
        await until(lambda: said and threaded)
        assert said == threaded == [TextDelta("ab")]
        source.on_completed()

    run(main())


def test_what_the_issue_asks_for() -> None:
    """A sink that sleeps 50 ms an event, beside a log, on 2,000 events, on a loop."""

    async def main() -> None:
        came: list[float] = []
        slow: list[Any] = []
        turns = 0

        async def sleepy(event: Any) -> None:
            slow.append(event)
            await asyncio.sleep(0.05)

        async def watch() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        watching = asyncio.create_task(watch())
        paced = drop_oldest(sleepy, 8)
        began, ended = monotonic(), Seen()
        reads(counted(200, [], 10)).pipe(
            lines(), ops.map(int), share_to(lambda _: came.append(monotonic()), paced)
        ).subscribe(ended)
        await until(lambda: len(came) == 2000)
        assert turns > 100  # half as many as there are reads
        await until(lambda: ended.ends)
        watching.cancel()
        assert came[-1] - began < 2000 * 0.05 / 4  # where each event waited for the sink
        await until(lambda: slow[-1] == 1999)
        assert paced.dropped + sum(not isinstance(event, Gap) for event in slow) == 2000

    run(main())


def test_a_timer_on_a_loop() -> None:
    async def main() -> None:
        seen: list[Any] = []
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        reactivex.timer(0.001).pipe(share_to(block(seen.append))).subscribe(
            on_completed=lambda: _ignore(loop.call_soon_threadsafe(done.set))
        )
        await asyncio.wait_for(done.wait(), LONG)
        assert seen == [0]

    run(main())
