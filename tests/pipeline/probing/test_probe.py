"""What a probe sees, and that nothing changes by it."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
from dataclasses import dataclass
from typing import Any

import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import Observable, Subject
from reactivex import operators as ops
from reactivex.scheduler import VirtualTimeScheduler
from reactivex.testing import TestScheduler

from operators import (
    ArgumentDelta,
    Chunk,
    ConnectionLost,
    Conversation,
    Finish,
    Gap,
    Lanes,
    Message,
    Operator,
    Out,
    ReasoningDelta,
    Restarted,
    Retrying,
    RoundStarted,
    ServerSentEvent,
    Spy,
    Stage,
    Started,
    StreamError,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    Usage,
    current_spy,
    lines,
    message,
    operator,
    select,
    tool_calls,
    watched_by,
)
from pipeline import decode, iterate, replay
from pipeline.probing import Probe, explain, probe
from pipeline.probing._preview import SHOWN, preview
from pipeline.probing._probe import STRANDS
from pipeline.probing._seen import Lane, Strand
from tests.operators.test_laws import (
    BODY,
    CHAIN,
    Behaviour,
    _Sink,
    behaviours,
    broken_at,
    ends_at,
    passed,
    stage_of,
    summed,
    twice,
)
from tests.pipeline.probing.streams import causes, in_order, played, recorded, timed
from tests.support import COMPLETED, WAYS, Cold, Inside, Seen, body_of, chunk, cut_at, fused, tell_end, unfused


def chains(seen: Probe) -> list[Strand]:
    return [strand for strand in seen.strands if not strand.is_source]


def sources(seen: Probe) -> list[Strand]:
    return [strand for strand in seen.strands if strand.is_source]


def said(lane: Lane) -> list[str]:
    return [item.text for item in lane.items]


# ----------------------------------------------------------------------------------- what it sees


def test_it_sees_each_lane_with_times_causes_and_ends() -> None:
    """What comes in, what each stage emits, when by the scheduler, because of what, and how each lane ended."""
    seen = played(timed([b"data: a\n", b"\n"]).pipe(lines()))
    (source,), (chain,) = sources(seen), chains(seen)
    read, second = source.lanes[0].items
    assert (read.kind, read.text, read.size, read.at) == ("read", "data: a\n", 8, 0.05)
    assert [lane.name for lane in chain.lanes] == ["in", "lines()"]
    assert [(item.text, item.cause) for item in chain.lanes[0].items] == [("data: a\n", read.seq), ("\n", second.seq)]
    assert [(item.text, item.at) for item in chain.lanes[1].items] == [("data: a", 0.05), ("", 0.08)]
    assert [item.cause for item in chain.lanes[1].items] == [item.seq for item in chain.lanes[0].items]
    assert [lane.end and (lane.end.how, lane.end.at) for lane in chain.lanes] == [("completed", 0.11)] * 2
    assert source.feeds == {chain.number}
    assert not seen.running


def test_it_sees_chains_around_stock_operators_and_links_across_them() -> None:
    """map, filter and flat_map are the edges: what entered the lower chain was caused by what left the upper one."""

    def long(line: bytes) -> bool:
        return len(line) > 1

    def length(line: bytes) -> int:
        return len(line)

    seen = played(timed([b"a\n", b"bb\n"]).pipe(lines(), ops.filter(long), ops.map(length), summed()))
    upper, lower = sorted(chains(seen), key=lambda chain: chain.lanes[1].name)
    assert upper.within == lower.number
    assert upper.feeds == {lower.number}
    assert lower.lanes[0].items[0].cause == upper.lanes[1].items[1].seq


def test_it_sees_what_is_subscribed_by_a_stock_operator_later() -> None:
    """The inner chains of a flat_map, opened in the course of an item, long after the `with` was left."""
    source: Subject[int] = Subject()

    def opened(n: int) -> Observable[int]:
        return reactivex.of(n).pipe(summed())

    with probe() as seen:
        source.pipe(twice(), ops.flat_map(opened), passed()).subscribe(Seen())
    assert current_spy() is None
    source.on_next(1)
    outer = next(chain for chain in chains(seen) if chain.lanes[-1].name == "twice()")
    inner = [chain for chain in chains(seen) if chain.lanes[-1].name.startswith("summed")]
    assert [chain.cause for chain in inner] == [item.seq for item in outer.lanes[1].items]
    assert seen.running


def test_it_sees_the_attempts_and_rounds_of_ready_made_chains(two_answers: Any) -> None:
    """Each with its scope, the request and the status, and the tools that ran."""
    from pipeline import run_tools

    client, requests = two_answers

    def get_weather(city: str) -> str:
        return f"sunny in {city}"

    with probe() as seen:
        got = Seen()
        run_tools({"model": "m", "messages": []}, [get_weather], client=client, base_url="http://x").subscribe(got)
    assert got.completed
    assert len(requests) == 3
    scopes = [chain.scope for chain in chains(seen) if chain.lanes[-1].name.startswith("told(")]
    assert scopes == [("round 1", "attempt 1"), ("round 1", "attempt 2"), ("round 2", "attempt 1")]
    assert [sign.text for sign in seen.signs] == ["POST", "503", "POST", "200", "POST", "200"]
    assert sources(seen)[0].lanes[0].end.error == "http"  # type: ignore[union-attr]
    assert [(run.name, run.error, run.ended is not None) for run in seen.tools] == [("get_weather", "", True)]
    assert "round 1" in str(seen)
    assert "attempt 2" in seen.marbles().svg()
    assert "ran " in seen.marbles().svg()


@pytest.fixture
def two_answers() -> Any:
    import httpx

    call = {"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": '{"city":"Rome"}'}}
    bodies = [
        b"",
        body_of(chunk({"tool_calls": [call]}), chunk(finish="tool_calls")),
        body_of(chunk({"content": "ok"}, "stop")),
    ]
    requests: list[Any] = []

    def answer(request: Any) -> Any:
        requests.append(request)
        status = 503 if len(requests) == 1 else 200
        return httpx.Response(
            status, content=bodies[len(requests) - 1], headers={"content-type": "text/event-stream", "retry-after": "0"}
        )

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        yield client, requests


def test_a_tool_that_failed_or_is_one_too_many() -> None:
    """What it raised is named; over the limit, no run is kept."""
    with probe(limit=2) as seen:
        spy = current_spy()
        assert spy is not None
        for name in ("a", "b"):
            ended = spy.tool(name, name)
            assert ended is not None
            ended(ValueError("no"))
        assert spy.tool("c", "c") is None
    assert [(run.name, run.error) for run in seen.tools] == [("a", "ValueError"), ("b", "ValueError")]


def test_it_can_look_on_beside_others() -> None:
    """A probe inside a probe: both see all, and whoever looked on before still does."""

    class Counting(Spy, Lanes):
        count = 0

        def chain(self, stages: tuple[str, ...]) -> Lanes:
            return self

        def on_next(self, lane: int, value: object) -> None:
            self.count += 1

    other = Counting()
    with watched_by(other), probe() as outer, probe() as inner:
        Cold([1]).pipe(summed()).subscribe(Seen())
    assert other.count == 3
    assert [len(chains(one)) for one in (outer, inner)] == [1, 1]


def test_an_onlooker_that_breaks_leaves_the_probe_in_order() -> None:
    """An item whose return was never told is forgotten with the next one that is."""

    class Broken(Spy, Lanes):
        def chain(self, stages: tuple[str, ...]) -> Lanes:
            return self

        def on_next(self, lane: int, value: object) -> None:
            if lane == 1:
                raise ZeroDivisionError

    with probe() as seen, watched_by(None):
        pass
    with watched_by(Broken()), probe() as seen, pytest.raises(ZeroDivisionError):
        Cold([1]).pipe(passed()).subscribe(Seen())
    with seen:
        Cold([1]).pipe(summed()).subscribe(Seen())
    assert chains(seen)[-1].lanes[0].items[0].cause is None
    watch = probe()
    strand = watch.open(("in", "x"), ())
    assert strand is not None
    from pipeline.probing._watch import Watch

    lonely = Watch(strand, watch.clocks, watch.thread)
    lonely.returned(0)  # of an item that it was never told of
    lonely.subscribed()
    lonely.subscribed()


def test_ends_of_every_kind() -> None:
    """Completed, broken by a stage, ended early by one, disposed, left by a subscriber that raised, torn down."""
    seen = played(Cold([1]).pipe(passed(), broken_at(1, StreamError("bad")), passed()))
    assert [lane.end and lane.end.how for lane in chains(seen)[0].lanes] == [None, None, "error", "error"]
    assert chains(seen)[0].end.message == "bad"  # type: ignore[union-attr]
    seen = played(Cold([1]).pipe(ends_at(1), passed()))
    assert [lane.end and lane.end.how for lane in chains(seen)[0].lanes] == [None, "completed", "completed"]
    with probe() as seen:
        run = Subject().pipe(passed()).subscribe(Seen())
    assert chains(seen)[0].end is None
    run.dispose()
    assert chains(seen)[0].end == chains(seen)[0].left
    assert chains(seen)[0].left.how == "left"  # type: ignore[union-attr]

    class Bug(Exception):
        pass

    for raised in (Bug("mine"), KeyboardInterrupt()):

        def raise_it(value: Any, raised: BaseException = raised) -> None:
            raise raised

        with pytest.raises(type(raised)), probe() as seen:
            Cold([1]).pipe(passed(), summed()).subscribe(raise_it)
        end = chains(seen)[0].end
        assert end is not None
        assert (end.how, end.error) == ("left", type(raised).__name__)


def test_an_exception_that_is_being_handled_is_nobodys() -> None:
    """A stream that is run in an `except` block ends as it ends."""
    with probe() as seen:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            Cold([1]).pipe(passed()).subscribe(Seen())
    assert chains(seen)[0].end.how == "completed"  # type: ignore[union-attr]


def test_a_source_that_emits_inside_subscribe_and_one_that_cannot_be_subscribed() -> None:
    """What is opened afterwards is not taken for a part of the first."""
    with probe() as seen:
        Inside([1]).pipe(passed()).subscribe(Seen())
        Cold([1]).pipe(summed()).subscribe(Seen())
    assert [chain.within for chain in chains(seen)] == [None, None]


def test_it_follows_async_streams_and_pulls() -> None:
    """Threads, tasks and generators make no difference: calls nest in each."""

    async def main() -> Probe:
        with probe() as seen:
            pull = iterate(replay(recorded("text")), decode(), message())
            assert [one.finish_reason async for one in pull] == ["stop"]
        return seen

    seen = asyncio.run(main())
    assert chains(seen)[0].end.how == "completed"  # type: ignore[union-attr]


def test_two_threads_at_once_are_told_apart() -> None:
    """Each has a stack of its own."""
    left: Subject[int] = Subject()
    right: Subject[int] = Subject()
    with probe() as seen:
        for subject in (left, right):
            subject.pipe(twice(), summed()).subscribe(Seen())

    def emit(subject: Subject[int]) -> None:
        for number in range(200):
            subject.on_next(number)

    threads = [threading.Thread(target=emit, args=(subject,)) for subject in (left, right)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = causes(seen)
    for chain in chains(seen):
        own = {item.seq for lane in chain.lanes for item in lane.items}
        assert [lane.count for lane in chain.lanes] == [200, 400, 400]
        assert all(known[i.seq].cause in own for lane in chain.lanes[1:] for i in lane.items)


# ----------------------------------------------------------------------------------- what it costs


def test_memory_is_bounded_and_counts_go_on() -> None:
    """The first and the last items of each lane; of each, the start of what it says; so many subscriptions."""
    seen = played(Cold(["x" * 1000 + str(number) for number in range(100)]).pipe(passed()), limit=10)
    lane = chains(seen)[0].lanes[1]
    assert (lane.count, len(lane.items), lane.size) == (100, 10, 1000 * 100 + 190)
    assert max(len(item.text) for item in lane.items) == SHOWN
    with probe() as seen:
        for _ in range(STRANDS + 5):
            Cold([]).pipe(passed()).subscribe(Seen())
        replay(b"x").subscribe(Seen())
    assert (len(seen.strands), seen.unseen) == (STRANDS, 6)
    assert "subscriptions left out" in str(seen)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_million_items_take_the_memory_of_a_few_thousand() -> None:
    """Under the usual limit: once the lanes are full, nothing more is held, whatever the number of items."""
    source: Subject[int] = Subject()
    with probe() as seen:
        source.pipe(passed()).subscribe()
    held: list[int] = []
    for number in range(500_000):  # on two lanes
        source.on_next(number)
        if number in {10_000, 499_999}:
            held.append(sys.getallocatedblocks())
    assert [lane.count for lane in chains(seen)[0].lanes] == [500_000] * 2
    assert [len(lane.items) for lane in chains(seen)[0].lanes] == [4096] * 2
    assert held[1] - held[0] < 4096
    assert "495,904 more" in seen.marbles().svg()


def test_wrong_limits_are_refused() -> None:
    """Less than a first and a last item is nothing to look at."""
    with pytest.raises(ValueError, match="limit"):
        probe(limit=1)


def test_self_times_leave_out_what_is_below_and_the_probe() -> None:
    """By a timer that a stage moves on: only its own lane's time grows, in a flush as well."""
    clock = itertools.count()
    time = [0.0]

    @operator
    def slow(out: Out[int], seconds: float, flush: float) -> Stage[int]:
        def on_next(value: int) -> None:
            time[0] += seconds
            out.on_next(value)
            out.on_next(value)

        yield on_next
        time[0] += flush
        out.on_next(0)

    def timer() -> float:
        next(clock)  # however often it is asked
        return time[0]

    with probe(timer=timer) as seen:
        Cold([1, 2]).pipe(slow(1.0, 5.0), slow(0.25, 0), ends_at(0)).subscribe(
            lambda value: time.__setitem__(0, time[0] + 0.125)
        )
    of = {lane.name: lane for lane in chains(seen)[0].lanes}
    assert of["in"].busy == 2 * 1.0 + 5.0
    assert of["slow(1.0, 5.0)"].busy == 5 * 0.25
    assert of["slow(0.25, 0)"].busy == 0
    assert of["ends_at(0)"].busy == of["ends_at(0)"].count * 0.125
    assert of["in"].times.at(0.5) == 1.0


def test_a_flush_in_the_course_of_an_item_is_not_the_time_of_that_item() -> None:
    """A stage that ends the stream early waits for the flush of those below, which is theirs."""
    time = [0.0]

    @operator
    def slow_flush(out: Out[int]) -> Stage[int]:
        yield out.on_next
        time[0] += 7.0

    with probe(timer=lambda: time[0]) as seen:
        Cold([1]).pipe(ends_at(1), slow_flush(), passed()).subscribe(Seen())
    busy = [lane.busy for lane in chains(seen)[0].lanes]
    assert busy == [0, 7.0, 0, 0]


def test_items_that_led_to_nothing_and_events_that_were_dropped_are_counted() -> None:
    """At once, that is: what is emitted at the end came of the end."""
    seen = played(Cold([Gap(3), TextDelta("a"), Finish("stop")]).pipe(select(TextDelta, Gap)))
    assert chains(seen)[0].lanes[0].silent == 1
    assert [lane.lost for lane in chains(seen)[0].lanes] == [3, 3]


def test_without_a_probe_nothing_is_wrapped() -> None:
    """Before and after, an item takes the very same path: the same calls, none of them for an onlooker."""

    def path() -> list[str]:
        source: Subject[int] = Subject()
        source.pipe(twice(), summed(), passed()).subscribe(Seen())
        called: list[str] = []
        sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_qualname) if event == "call" else None)
        try:
            source.on_next(1)
        finally:
            sys.setprofile(None)
        return called

    before = path()
    with probe():
        watched = path()
    assert path() == before
    for_onlookers = {"Watch.on_next", "Watch.returned", "Run._lane.<locals>.on_next", "Run._show"}
    assert for_onlookers <= set(watched)
    assert not for_onlookers & set(before)


# ----------------------------------------------------------------------------------- the laws, under a probe


def probed(reads: Any, *stages: Any, end: Any, limit: int = 6) -> tuple[Seen, Probe]:
    to = Seen()
    with probe(limit=limit) as seen:
        Cold(reads, end).pipe(*stages).subscribe(to)
    return to, seen


@given(
    places=st.lists(st.integers(0, len(BODY)), max_size=12),
    damage=st.tuples(st.integers(0, len(BODY) - 1), st.integers(0, 255)) | st.none(),
    end=st.sampled_from([COMPLETED, None, ConnectionLost("gone")]),
    take=st.integers(0, 8),
    cut=st.integers(1, len(BODY)),
)
@settings(max_examples=60)
def test_the_real_chain_does_the_same_under_a_probe(
    places: list[int], damage: tuple[int, int] | None, end: Any, take: int, cut: int
) -> None:
    """Random cuts, damaged and short bodies, broken sources, take(n): the same values and the same end."""
    body = bytearray(BODY[:cut])
    if damage is not None and damage[0] < cut:
        body[damage[0]] = damage[1]
    reads = cut_at(bytes(body), places)
    stages = [*CHAIN, ops.take(take)] if take else list(CHAIN)
    bare = WAYS[0].run(reads, *stages, end=end)
    to, seen = probed(reads, *stages, end=end)
    assert (to.values, type(to.end), str(to.end)) == (bare.values, type(bare.end), str(bare.end))
    in_order(seen)


@given(
    hows=st.lists(behaviours, min_size=1, max_size=4),
    count=st.integers(0, 5),
    end=st.sampled_from([COMPLETED, None, ConnectionLost("gone"), ValueError("bad")]),
    leaves_after=st.integers(-8, 6),
    raises_at=st.integers(-12, 6),
    raises_at_end=st.sampled_from([False] * 5 + [True]),
    apart=st.booleans(),
)
@settings(max_examples=150)
def test_random_chains_do_the_same_in_the_same_order_under_a_probe(
    hows: list[Behaviour], count: int, end: Any, leaves_after: int, raises_at: int, raises_at_end: bool, apart: bool
) -> None:
    """Set-up, steps, flushes, except, finally, deliveries and what reaches the producer, fused and unfused."""
    join = unfused if apart else fused

    def log_of(seen: Probe | None) -> list[Any]:
        log: list[Any] = []
        source: Subject[int] = Subject()
        sink: Any = _Sink(log, leaves_after, raises_at, raises_at_end=raises_at_end)
        stages = [stage_of(log, f"stage {number}", how) for number, how in enumerate(hows)]

        def attempt(action: Any) -> Any:
            try:
                return action()
            except ZeroDivisionError:
                log.append("the producer is told")

        def subscribe() -> Any:
            if seen is None:
                return join(source, *stages).subscribe(sink)
            with seen:
                return join(source, *stages).subscribe(sink)

        sink.subscription = attempt(subscribe)
        for value in range(count):
            attempt(lambda value=value: source.on_next(value))
        attempt(lambda: tell_end(source, end))
        if sink.subscription is not None:
            sink.subscription.dispose()
        log.append(len(source.observers))
        return log

    seen = probe(limit=6)
    assert log_of(seen) == log_of(None)
    in_order(seen)


# ----------------------------------------------------------------------------------- what is kept of a value


@dataclass
class Mine:
    """Somebody's own value."""

    name: str
    more: Any = None


class Trap:
    """A value whose every method is a trap."""

    def __repr__(self) -> str:
        raise AssertionError("a probe runs no code of a stranger")

    __str__ = __len__ = __bool__ = __eq__ = __repr__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def test_every_kind_of_value_has_a_short_preview() -> None:
    """What it says, at the start; nothing of a stranger is called."""
    call = ToolCall(0, 0, "i", "f", '{"a":1}', complete=True)
    told: list[tuple[object, str]] = [
        (b"\xff" * 300, "\ufffd" * SHOWN),
        ("é" * 300, "é" * SHOWN),
        (1, "1"),
        (True, "True"),
        (None, "None"),
        (10**400, "<int>"),
        ((1, "a", b"b", 4), "(1, 'a', b'b', …)"),
    ]
    for value, text in told:
        assert preview(value).text == text
    for value, text in [
        ([1, [2, [3, [4]]]], "[1, [2, [3, <list>]]]"),
        ({"a": {"b": 1}, "c": 2, "d": 3, "e": 4}, "{'a': {'b': 1}, 'c': 2, 'd': 3, …}"),
        (Mine("x" * 99), "Mine(name='" + "x" * 40 + "'…)"),
        (Mine("x", [Trap()]), "Mine(name='x', more=[<Trap>])"),
        (Trap(), "<Trap>"),
        ({1, 2}, "<set>"),
        (ServerSentEvent(b"1"), "1"),
        (ServerSentEvent(b"1", "ping"), "ping: 1"),
        (Started(model="m"), "m"),
        (ReasoningDelta("r"), "r"),
        (ToolCallDelta(0, 0, "i", "f", "{"), "f{"),
        (call, 'f({"a":1})'),
        (ToolResult(call, "yes"), "yes"),
        (ToolResult(call, "", "no"), "no"),
        (Finish("stop"), "stop"),
        (Usage(1), "1 + ?"),
        (Message(text="t"), "t"),
        (Message(text="t", tool_calls=(call,)), "t [f]"),
        (RoundStarted(2), "2"),
        (Retrying(2, 0.5, "x"), "attempt 2 in 0.50 s: x"),
        (Restarted(), ""),
        (Gap(2), "2 dropped"),
        (Conversation([{}]), "1 messages"),
        (ArgumentDelta(("a",), "x"), "ArgumentDelta(path=('a'), text='x', key=0, choice=0)"),
        (Chunk(), ""),
    ]:
        assert preview(value).text == text, value
    assert preview(call).piece is not None
    assert preview("\ud800").size == 3


def test_chunks_say_what_is_in_them() -> None:
    """Of each choice its delta and why it finished, then usage, errors and what is unknown."""
    seen = played(
        timed([body_of(chunk({"content": "Hi", "role": "assistant"}, "stop", usage={"total_tokens": 3}))]).pipe(
            decode()
        )
    )
    (told,) = said(chains(seen)[0].lanes[5])
    assert told == "role='assistant' content='Hi' finish_reason='stop' usage={'total_tokens': 3}"
    assert preview(Chunk(choices=[None])).text == ""  # type: ignore[list-item]  # half made: not for a probe to break on


def test_a_value_that_is_half_made_is_no_reason_to_break() -> None:
    """A dataclass whose fields were never set."""
    assert preview(Mine.__new__(Mine)).text == ""


def test_a_probe_tells_what_it_is() -> None:
    """In one line."""
    assert repr(probe()) == "<probe: 0 items on 0 lanes>"
    assert "nothing was subscribed" in probe().marbles().svg()
    assert str(probe()) == "nothing was subscribed"
    assert sys.getsizeof(played(Cold([1]).pipe(passed())).strands) > 0


def test_the_clock_may_be_a_scheduler_or_a_function() -> None:
    """Virtual time is shown as such."""
    scheduler = TestScheduler()
    with probe(clock=scheduler) as seen:
        reactivex.interval(1.5).pipe(ops.take(2), summed()).subscribe(Seen(), scheduler=scheduler)
        scheduler.start()
    assert [item.at for item in chains(seen)[0].lanes[0].items] == [1.5, 3.0]
    ticking = itertools.count(10)
    with probe(clock=lambda: next(ticking)) as seen:
        Cold([1]).pipe(passed()).subscribe(Seen())
    assert chains(seen)[0].lanes[0].items[0].at == 2


def test_an_operator_of_tool_calls_is_seen_in_a_fused_chain_and_under_a_scheduler() -> None:
    """The same items, in the same order, with the same times, on every run."""
    told = [str(played(timed(recorded("two_calls")).pipe(decode(), tool_calls(), message()))) for _ in range(2)]
    assert told[0] == told[1]
    assert isinstance(VirtualTimeScheduler(), object)
    assert isinstance(decode(), Operator)


def test_a_probe_that_looks_on_cannot_be_entered_again() -> None:
    with probe() as seen:
        with pytest.raises(RuntimeError, match="looks on already"), seen:
            pass
        Cold([1]).pipe(passed()).subscribe(Seen())
    with seen:
        Cold([2]).pipe(passed()).subscribe(Seen())
    assert len(chains(seen)) == 2


def test_wrong_arguments_are_told() -> None:
    with pytest.raises(TypeError, match="takes a stream, which it runs, or a probe; not 'x'"):
        explain("x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="of at least 60, not '90'"):
        probe().marbles(width="90")  # type: ignore[arg-type]
