"""iterate(): the next read happens only when the last one's output is used up, and every way out closes the source."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import reactivex
from reactivex import Observable, Subject
from reactivex import operators as ops
from reactivex.disposable import Disposable

from operators import LimitExceeded, TextDelta, TruncatedError, lines
from pipeline import completion, decode, iterate, replay
from pipeline.sources._gate import Gate
from tests.pipeline.wire import ANSWER, HEARTBEAT, Kind, WireServer, answers, said, text
from tests.support.timing import LONG, until, wait_until

BODY = {"model": "m", "messages": []}


class Reads:
    """A source that counts what was read of it, awaited or not."""

    def __init__(self, *values: bytes, error: Exception | None = None) -> None:
        self.values, self.error = values, error
        self.read = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            for value in self.values:
                self.read += 1
                yield value
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for value in self.values:
                self.read += 1
                yield value
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True


def replayed(line: bytes) -> Observable[bytes]:
    return replay(line.upper())


def is_b_or_d(line: bytes) -> bool:
    return line in {b"b", b"d"}


def doubled(number: int) -> int:
    return number * 2


class Blocking(Reads):
    __aiter__ = None  # type: ignore[assignment]


class Awaited(Reads):
    __iter__ = None  # type: ignore[assignment]


class Puller:
    """next(), blocking or awaited, so that one test can say what holds for both."""

    def __init__(self, *, looping: bool) -> None:
        self.looping = looping
        self.runner = asyncio.Runner() if looping else None

    def reads(self, *values: bytes, error: Exception | None = None) -> Reads:
        return Awaited(*values, error=error) if self.looping else Blocking(*values, error=error)

    def next(self, pull: Any) -> Any:
        if self.runner is None:
            return next(pull, None)

        async def one() -> Any:
            async with asyncio.timeout(LONG):
                return await anext(pull, None)

        return self.runner.run(one())

    def all(self, pull: Any) -> list[Any]:
        found = []
        while (value := self.next(pull)) is not None:
            found.append(value)
        return found

    def close(self, pull: Any) -> None:
        if self.runner is None:
            pull.close()
        else:
            self.runner.run(pull.aclose())


@pytest.fixture(params=[False, True], ids=["for", "async for"])
def puller(request: pytest.FixtureRequest) -> Iterator[Puller]:
    made = Puller(looping=request.param)
    yield made
    if made.runner is not None:
        made.runner.close()


# ------------------------------------------------------------------------------------------------------ when it reads


def test_nothing_is_read_before_the_first_next(puller: Puller) -> None:
    given = puller.reads(b"a")
    pull = iterate(given)
    assert given.read == 0
    assert (puller.next(pull), given.read) == (b"a", 1)


def test_the_next_read_happens_when_the_last_output_is_used_up(puller: Puller) -> None:
    given = puller.reads(b"a\nb\nc", b"\n", b"d\n")
    pull = iterate(given, lines())
    seen = [(puller.next(pull), given.read) for _ in range(4)]
    assert seen == [(b"a", 1), (b"b", 1), (b"c", 2), (b"d", 3)]
    assert puller.next(pull) is None
    assert given.closed


def test_reads_that_say_nothing_are_read_on(puller: Puller) -> None:
    given = puller.reads(*[HEARTBEAT] * 5, text("a"), HEARTBEAT, text("b", "stop"))
    pull = iterate(given, decode(), ops.filter(lambda event: isinstance(event, TextDelta)))
    assert puller.next(pull).text == "a"
    assert given.read == 6
    assert puller.next(pull).text == "b"
    assert given.read == 8


@pytest.mark.parametrize(
    "operators",
    [
        pytest.param([ops.map(bytes.upper)], id="map"),
        pytest.param([ops.filter(bool), ops.map(bytes.upper)], id="filter, map"),
        pytest.param([ops.flat_map(replayed)], id="flat_map"),
        pytest.param([ops.concat_map(replayed)], id="concat_map"),
        pytest.param([ops.delay(0.01), ops.map(bytes.upper)], id="delay"),
        pytest.param([ops.start_with(b"x"), ops.skip(1), ops.map(bytes.upper)], id="start_with, skip"),
    ],
)
def test_it_works_through_stock_operators(puller: Puller, operators: list[Any]) -> None:
    given = puller.reads(b"a\nb\n", b"c\n")
    assert sorted(puller.all(iterate(given, lines(), *operators))) == [b"A", b"B", b"C"]
    assert given.closed


def test_through_map_and_filter_it_reads_no_more_than_is_asked_for(puller: Puller) -> None:
    given = puller.reads(b"a\n", b"b\n", b"c\n", b"d\n")
    pull = iterate(given, lines(), ops.filter(is_b_or_d), ops.map(bytes.upper))
    assert (puller.next(pull), given.read) == (b"B", 2)
    assert (puller.next(pull), given.read) == (b"D", 4)


def test_take_ends_it_and_closes_the_source(puller: Puller) -> None:
    given = puller.reads(b"a\nb\n", b"c\n")
    assert puller.all(iterate(given, lines(), ops.take(1))) == [b"a"]
    assert (given.read, given.closed) == (1, True)


def test_timers_of_operators_run_while_it_waits(puller: Puller) -> None:
    """A timeout is a timer below a source that says nothing: it must go off although nothing is read."""
    never: Observable[bytes] = reactivex.never()
    pull = iterate(never, ops.timeout(0.02))
    with pytest.raises(Exception, match="Timeout"):
        puller.next(pull)


def test_a_timer_with_a_time_of_day_runs_too(puller: Puller) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=0.02)
    assert puller.next(iterate(reactivex.timer(soon), ops.map(lambda _: b"now"))) == b"now"


def test_a_timer_that_was_disposed_does_not_run(puller: Puller) -> None:
    async def main() -> None:
        gate = Gate(blocking=not puller.looping)
        ran: list[int] = []
        gate.schedule(lambda *_: ran.append(1)).dispose()
        gate.schedule(lambda *_: ran.append(2))
        assert gate.run_due() == gate.run_due() == 0.0
        assert gate.run_due() is None
        assert ran == [2]

    asyncio.run(main())


def test_a_blocking_source_can_be_awaited() -> None:
    given = Blocking(b"a\nb\n", b"c\n")

    async def main() -> list[bytes]:
        async with iterate(given, lines()) as found:
            first = await anext(found)
            assert given.read == 1
            return [first, *[line async for line in found]]

    assert asyncio.run(main()) == [b"a", b"b", b"c"]


def test_a_large_read_does_not_overflow(puller: Puller) -> None:
    """A read is one thing: all of its output waits, however much that is."""
    given = puller.reads(b"\n" * 1000, b"x\n")
    assert len(puller.all(iterate(given, lines(), limit=10))) == 1001


# ---------------------------------------------------------------------------------------------------------- how it ends


def test_an_error_comes_after_all_that_came_before_it(puller: Puller) -> None:
    error = KeyError("mine")
    pull = iterate(puller.reads(b"a\nb\n", error=error), lines())
    assert [puller.next(pull), puller.next(pull)] == [b"a", b"b"]
    with pytest.raises(KeyError) as raised:
        puller.next(pull)
    assert raised.value is error
    assert puller.next(pull) is None


def test_an_error_of_the_chain_is_raised_and_closes_the_source(puller: Puller) -> None:
    given = puller.reads(text("a"), b"data: {junk\n\n", text("b"))
    pull = iterate(given, decode())
    assert [type(puller.next(pull)).__name__ for _ in range(2)] == ["Started", "TextDelta"]
    with pytest.raises(Exception, match="JSON"):
        puller.all(pull)
    assert given.closed


def test_exhausted_stays_exhausted(puller: Puller) -> None:
    given = puller.reads(b"a")
    pull = iterate(given)
    assert puller.all(pull) == [b"a"]
    assert puller.all(pull) == []
    assert given.read == 1


def test_closed_stays_closed(puller: Puller) -> None:
    given = puller.reads(b"a\nb\n", b"c\n")
    pull = iterate(given, lines())
    assert puller.next(pull) == b"a"
    puller.close(pull)
    puller.close(pull)
    assert puller.next(pull) is None
    assert (given.read, given.closed) == (1, True)


def test_closing_wakes_who_waits_for_a_stream_that_says_nothing() -> None:
    """In another thread, and in another task."""
    pull = iterate(Subject[int]())
    found: list[list[int]] = []
    waiting = threading.Thread(target=lambda: found.append(list(pull)))
    waiting.start()
    wait_until(lambda: pull._inbox and pull._inbox.subscription)
    pull.close()
    waiting.join(LONG)
    assert found == [[]]

    async def main() -> None:
        pull = iterate(Subject[int]())

        async def use() -> list[int]:
            return [item async for item in pull]

        using = asyncio.create_task(use())
        await asyncio.sleep(0)
        await pull.aclose()
        async with asyncio.timeout(5):
            assert await using == []

    asyncio.run(main())


def test_closed_before_it_began_it_reads_nothing(puller: Puller) -> None:
    given = puller.reads(b"a")
    pull = iterate(given)
    puller.close(pull)
    assert puller.next(pull) is None
    assert given.read == 0


def test_a_subscription_that_fails_is_raised_once(puller: Puller) -> None:
    class Broken(Observable[bytes]):
        def subscribe(self, *_: Any, **__: Any) -> Any:
            raise ZeroDivisionError

    pull = iterate(Broken())
    with pytest.raises(ZeroDivisionError):
        puller.next(pull)
    assert puller.next(pull) is None


def test_what_is_raised_while_it_reads_in_the_consumers_thread_closes_it() -> None:
    """KeyboardInterrupt, for one."""
    given = Blocking(b"a", error=KeyboardInterrupt())  # type: ignore[arg-type]
    pull = iterate(given)
    assert next(pull) == b"a"
    with pytest.raises(KeyboardInterrupt):
        next(pull)
    assert given.closed
    assert [*pull] == []


def test_a_stream_that_ends_inside_subscribe_is_disposed() -> None:
    disposed: list[bool] = []

    def subscribe(observer: Any, _: Any) -> Disposable:
        observer.on_next(b"a")
        observer.on_error(KeyError("mine"))
        return Disposable(lambda: disposed.append(True))

    pull = iterate(Observable(subscribe))
    assert next(pull) == b"a"
    with pytest.raises(KeyError):
        next(pull)
    assert disposed == [True]


# ------------------------------------------------------------------------------------------------------- what it is for


def test_for_on_what_is_awaited_is_told() -> None:
    with pytest.raises(TypeError, match="this stream is read by an event loop: use `async for`"):
        next(iterate(Awaited(b"a"), lines()))


def test_it_is_used_in_one_way_only() -> None:
    async def main() -> None:
        pull = iterate(Blocking(b"a\nb\n"), lines())
        assert next(pull) == b"a"
        with pytest.raises(TypeError, match="either with `for` or with `async for`, not with both"):
            await anext(pull)
        assert next(pull) == b"b"

    asyncio.run(main())


def test_what_cannot_be_read_is_told_at_once() -> None:
    with pytest.raises(TypeError, match="cannot read bytes from int"):
        iterate(3)  # type: ignore[call-overload]


# ---------------------------------------------------------------------------------------------------------- hot streams


def test_a_hot_stream_on_another_thread_is_buffered() -> None:
    subject: Subject[int] = Subject()
    subscribed = threading.Event()

    def subscribe(observer: Any, _: Any) -> Any:
        subscribed.set()
        return subject.subscribe(observer)

    def emit() -> None:
        assert subscribed.wait(LONG)
        while not subject.observers:
            pass
        for n in range(100):
            subject.on_next(n)
        subject.on_completed()

    thread = threading.Thread(target=emit)
    thread.start()
    with iterate(Observable(subscribe), ops.map(doubled)) as pull:
        assert [*pull] == [n * 2 for n in range(100)]
    thread.join(LONG)


def test_a_hot_stream_on_another_thread_wakes_an_async_consumer() -> None:
    subject: Subject[int] = Subject()

    def emit_all() -> None:
        for n in range(5):
            subject.on_next(n)
        subject.on_completed()

    async def main() -> list[int]:
        async def emit() -> None:
            await until(lambda: subject.observers)
            await asyncio.to_thread(emit_all)

        task = asyncio.create_task(emit())
        async with asyncio.timeout(LONG):
            found = [n async for n in iterate(subject)]
        await task
        return found

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_a_hot_stream_may_end_after_the_loop_of_its_consumer() -> None:
    subject: Subject[int] = Subject()
    pull = iterate(subject)

    async def main() -> None:
        waiting = asyncio.create_task(anext(pull))
        await until(lambda: subject.observers)
        subject.on_next(1)
        assert await waiting == 1

    asyncio.run(main())
    thread = threading.Thread(target=subject.on_completed)
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive()


def test_a_pull_goes_on_only_on_the_loop_that_it_was_begun_on() -> None:
    pull = iterate(Awaited(b"a\n", b"b\n"), lines())

    async def begin() -> None:
        assert await anext(pull) == b"a"

    async def go_on() -> None:
        with pytest.raises(RuntimeError, match="begun on another event loop, and only there it goes on"):
            await anext(pull)
        await pull.aclose()

    asyncio.run(begin())
    asyncio.run(go_on())


def test_a_hot_stream_that_is_not_used_up_ends_in_limit() -> None:
    subject: Subject[int] = Subject()

    def subscribe(observer: Any, _: Any) -> Any:
        observer.on_next(-1)
        return subject.subscribe(observer)

    pull = iterate(Observable(subscribe), limit=3)
    assert next(pull) == -1
    for n in range(10):
        subject.on_next(n)
    assert subject.observers == []
    assert [next(pull), next(pull), next(pull)] == [0, 1, 2]
    with pytest.raises(
        LimitExceeded, match=r"^3 items wait: the stream cannot be held back, and is not used up fast enough"
    ):
        next(pull)
    assert [*pull] == []


# ----------------------------------------------------------------------------------------------------------- completions


def test_it_pulls_a_completion(kind: Kind) -> None:
    with WireServer(answers(ANSWER)) as server:
        found: list[Any] = []
        if kind.looping:

            async def work(client: Any) -> None:
                async with iterate(completion(BODY, base_url=server.url, client=client)) as events:
                    assert server.calls == []
                    found.extend([event async for event in events])

            kind.act(work)
        else:
            with kind.client() as client, iterate(completion(BODY, base_url=server.url, client=client)) as events:
                assert server.calls == []
                found.extend(events)
    assert said(found) == "Hello"


def test_a_completion_that_breaks_is_raised_with_its_partial(kind: Kind) -> None:
    with WireServer(answers(text("Hel"))) as server:
        if kind.looping:

            async def work(client: Any) -> None:
                pull = iterate(completion(BODY, base_url=server.url, client=client))
                assert said([await anext(pull), await anext(pull)]) == "Hel"
                with pytest.raises(TruncatedError) as raised:
                    await anext(pull)
                assert raised.value.partial[0].text == "Hel"

            kind.act(work)
        else:
            with kind.client() as client:
                pull = iterate(completion(BODY, base_url=server.url, client=client))
                assert said([next(pull), next(pull)]) == "Hel"
                with pytest.raises(TruncatedError) as raised:
                    next(pull)
                assert raised.value.partial[0].text == "Hel"


def test_retries_wait_on_the_gate(kind: Kind) -> None:
    with WireServer(answers(b"{}", status=503), answers(ANSWER)) as server:
        found: list[Any] = []
        if kind.looping:

            async def work(client: Any) -> None:
                found.extend([event async for event in iterate(completion(BODY, base_url=server.url, client=client))])

            kind.act(work)
        else:
            with kind.client() as client:
                found.extend(iterate(completion(BODY, base_url=server.url, client=client)))
    assert type(found[0]).__name__ == "Retrying"
    assert said(found) == "Hello"
