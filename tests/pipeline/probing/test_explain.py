"""The table of what each stage took and gave."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from statistics import median_low
from types import FrameType
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import reactivex
from reactivex import Observable, Subject
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.scheduler import VirtualTimeScheduler

from operators import ConnectionLost, Gap, Out, Stage, TextDelta, lines, message, operator, select
from pipeline import decode, replay
from pipeline.probing import Explained, StageCost, explain, probe
from tests.operators.test_laws import passed, summed, twice
from tests.pipeline.probing.streams import played, recorded, timed
from tests.support import Cold, Seen, body_of, chunk


class Stopwatch:
    """A timer that goes on only where it is told to."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at

    def takes(self, seconds: float) -> None:
        self.at += seconds


def slow(
    stopwatch: Stopwatch, costs: dict[int, float], *, twice: frozenset[int] = frozenset(), flush: float = 0
) -> Any:
    """A stage that takes so long for each value before it passes it on, and as long again after that; 0 it drops."""

    @operator
    def slow(out: Out[int]) -> Stage[int]:
        def on_next(value: int) -> None:
            stopwatch.takes(costs[value])
            for _ in range((value != 0) + (value in twice)):
                out.on_next(value)
            stopwatch.takes(costs[value])

        yield on_next
        stopwatch.takes(flush)

    return slow()


def row(explained: Explained, start: str) -> StageCost:
    (found,) = [row for row in explained.rows if row.stage.startswith(start)]
    return found


# ----------------------------------------------------------------------------------- what it counts


def test_its_figures_are_those_of_a_straightforward_computation() -> None:
    """Items, silent ones, medians, totals and shares, through two stages, a stock operator and a slow subscriber."""
    stopwatch = Stopwatch()
    values = [number % 7 for number in range(200)]
    upper = {value: 0.001 * (value + 1) for value in range(7)}
    lower = {value: 0.002 * (value + 1) for value in range(7)}
    twice = frozenset({3, 5})
    source: Subject[int] = Subject()
    with probe(timer=stopwatch) as seen:
        source.pipe(
            slow(stopwatch, upper, twice=twice),
            ops.do_action(lambda _: stopwatch.takes(0.004)),
            slow(stopwatch, lower, flush=3),
        ).subscribe(lambda _: stopwatch.takes(0.01))
    for value in values:
        stopwatch.takes(0.5)
        source.on_next(value)
    source.on_completed()

    passed_on = [value for value in values for _ in range((value != 0) + (value in twice))]
    first, between, second, below = (
        [2 * upper[value] for value in values],
        [0.004 for _ in passed_on],
        [2 * lower[value] for value in passed_on],
        [0.01 for _ in passed_on],
    )
    whole = sum(first) + sum(between) + sum(second) + sum(below) + 3 + 0.5 * len(values)
    wanted = [
        ("in", None, len(values), None, []),
        ("slow()", len(values), len(passed_on), values.count(0), first),
        ("(other operators)", len(passed_on), len(passed_on), None, between),
        ("slow()", len(passed_on), len(passed_on), 0, second),
        ("(subscriber)", len(passed_on), None, None, below),
    ]
    *rows, elsewhere = seen.explain().rows
    assert [(row.stage, row.taken, row.given, row.silent) for row in rows] == [told[:4] for told in wanted]
    for cost, (*_, times) in zip(rows, wanted, strict=True):
        if not times:
            assert (cost.p50, cost.p99, cost.total, cost.share) == (None, None, None, None)
            continue
        total = sum(times) + (3 if times is second else 0)
        assert cost.p50 == pytest.approx(median_low(times), rel=0.011)  # as exact as the buckets are
        assert cost.p99 == pytest.approx(sorted(times)[round(len(times) * 0.99) - 1], rel=0.011)
        assert cost.total == pytest.approx(total)
        assert cost.share == pytest.approx(total / whole)
    assert elsewhere.stage == "(elsewhere)"
    assert elsewhere.total == pytest.approx(0.5 * len(values))
    assert sum(cost.share or 0 for cost in [*rows, elsewhere]) == pytest.approx(1)


def test_the_probe_is_in_no_figure() -> None:
    """Each look at the timer takes time, and none of it is told, not even as time that went by elsewhere."""
    looks = 0

    def timer() -> float:
        nonlocal looks
        looks += 1
        return float(looks)

    with probe(timer=timer) as seen:
        Cold([1, 2, 3]).pipe(passed(), passed()).subscribe(Seen())
    told = seen.explain().rows
    spent = sum(cost.total or 0 for cost in told)
    assert spent <= looks / 2


def test_bytes_are_those_that_passed() -> None:
    """Of reads and lines what they are, of deltas the text; of an event that was dropped on the way its number."""
    body = b"".join(recorded("text"))
    explained = explain(replay(body, 50).pipe(decode(), message()), timer=lambda: 0)
    assert row(explained, "reads").bytes == len(body)
    assert row(explained, "reads").given == -(-len(body) // 50)
    assert row(explained, "lines").bytes == sum(len(line) for line in body.splitlines())
    text = "".join(event.text for event in played_values(body) if isinstance(event, TextDelta))
    assert row(explained, "message").bytes == len(text.encode())
    assert explained.seen.running is False
    with probe() as seen:
        Cold([Gap(3), TextDelta("a")]).pipe(select(TextDelta, Gap)).subscribe(Seen())
    assert row(seen.explain(), "select").lost == 3
    assert "dropped" in str(seen.explain()).splitlines()[1]


def played_values(body: bytes) -> list[Any]:
    to = Seen()
    replay(body).pipe(decode()).subscribe(to)
    return to.values


def test_what_did_the_same_is_counted_together() -> None:
    """Thirty chains of a flat_map and forty streams at once are a few rows, with the sums; what differs stands apart."""

    def opened(number: int) -> Observable[int]:
        return reactivex.of(number, number).pipe(summed())

    seen = played(Cold(range(30)).pipe(passed(), ops.flat_map(opened)))
    told = [(cost.stage.partition("(")[0], cost.taken, cost.given) for cost in seen.explain().rows]
    assert told == [
        ("in", None, 30),
        ("passed", 30, 30),
        ("", 30, 60),  # flat_map
        ("summed", 60, row(seen.explain(), "summed").given),
        ("", row(seen.explain(), "summed").given, None),
        ("", None, None),
    ]
    with probe() as seen:
        for number in range(40):
            replay(b"a\n").pipe(lines(), *([passed()] if number % 2 else [])).subscribe(Seen())
    names = [cost.stage.partition("(")[0] for cost in seen.explain().rows]
    assert names.count("lines") == 2
    assert [cost.given for cost in seen.explain().rows if cost.stage == "reads"] == [20, 20]


def test_what_two_streams_give_to_one_is_no_subscribers() -> None:
    """A chain whose items reach another one of ours by way of a merge, as the last of its kind or not."""
    left: Subject[int] = Subject()
    right: Subject[int] = Subject()
    with probe() as seen:
        reactivex.merge(left.pipe(passed()), right.pipe(twice())).pipe(summed()).subscribe(Seen())
    for subject in (left, right):
        subject.on_next(1)
        subject.on_completed()
    stages = [cost.stage for cost in seen.explain().rows]
    assert stages.count("(subscriber)") == 1
    assert stages.count("(other operators)") == 2


# ----------------------------------------------------------------------------------- what it runs


def test_a_stream_that_breaks_is_explained_too() -> None:
    """Nothing is raised for it; the title says how it ended."""
    explained = explain(Cold([b"data: 1\n"], ConnectionLost("gone")).pipe(lines()))
    assert str(explained).startswith("broken (connection)")
    assert row(explained, "lines").given == 1


def test_it_takes_no_time_on_a_virtual_clock() -> None:
    """A recording of an hour is explained at once, and its picture has the times of it."""
    stream = timed(recorded("text"), every=600)
    explained = explain(stream.pipe(decode()), scheduler=VirtualTimeScheduler())
    assert not explained.seen.running
    assert "completed in " in explained.marbles().svg()
    assert explained.seen.marbles().svg() == explained.marbles().svg()


def test_it_waits_for_a_stream_that_runs_on_another_thread() -> None:
    """Until its end."""

    def subscribe(observer: Any, scheduler: Any = None) -> Any:
        threading.Thread(target=lambda: (observer.on_next(1), observer.on_completed())).start()
        return Disposable()

    assert row(explain(Observable(subscribe).pipe(passed())), "passed").given == 1


def test_on_a_loop_it_is_awaited() -> None:
    """Before that it says that there is more to come; of one that has ended there is nothing to wait for."""

    def subscribe(observer: Any, scheduler: Any = None) -> Any:
        asyncio.get_running_loop().call_soon(lambda: (observer.on_next(1), observer.on_completed()))
        return Disposable()

    async def main() -> Explained:
        explained = explain(Observable(subscribe).pipe(passed()))
        assert "await it" in str(explained)
        assert await explained is explained
        assert await explained is explained
        return explained

    explained = asyncio.run(main())
    assert row(explained, "passed").given == 1
    assert "await it" not in str(explained)
    assert asyncio.run(of_a_probe()).startswith("nothing was subscribed")


async def of_a_probe() -> str:
    return str(await explain(probe()))


def test_a_task_that_is_cancelled_leaves_the_stream() -> None:
    """And is cancelled."""
    left: list[str] = []

    async def main() -> None:
        explained = explain(Observable(lambda *_: Disposable(lambda: left.append("left"))).pipe(passed()))
        task = asyncio.ensure_future(explained._arrived())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert left == ["left"]


def waits(frame: FrameType | None) -> bool:
    """What `explain()` waits with has been called."""
    top = frame
    while frame is not None and frame.f_code.co_filename != explain.__code__.co_filename:
        frame = frame.f_back
    return frame is not None and frame is not top and frame.f_code.co_name == "wait"


def test_ctrl_c_leaves_the_stream() -> None:
    """That is being waited for."""
    left: list[str] = []
    main = threading.main_thread().ident or 0

    def interrupt() -> None:
        while not waits(sys._current_frames()[main]):
            pass
        signal.pthread_kill(main, signal.SIGINT)

    def subscribe(*_: Any) -> Any:
        threading.Thread(target=interrupt, daemon=True).start()
        return Disposable(lambda: left.append("left"))

    with pytest.raises(KeyboardInterrupt):
        explain(Observable(subscribe).pipe(passed()))
    assert left == ["left"]


# ----------------------------------------------------------------------------------- how it is shown


def test_the_table_has_a_line_for_each_row_in_columns() -> None:
    """Numbers to the right, times that are too short for the clock's buckets as such."""
    stopwatch = Stopwatch()
    with probe(timer=stopwatch, clock=lambda: 0) as seen:
        Cold([0, 1, 1]).pipe(slow(stopwatch, {0: 1.0, 1: 1.0})).subscribe(lambda _: stopwatch.takes(1e-7))
    assert str(seen.explain()).splitlines() == [
        "completed, 2 items out",
        "stage         in  out  bytes  to nothing     p50     p99   total  share",
        "in                  3",
        "slow()         3    2                  1  2.00 s  2.00 s  6.00 s  100.0% ████████████",
        "(subscriber)   2                           <1 µs   <1 µs  0.2 µs    0.0%",
        "(elsewhere)                                                    0    0.0%",
    ]
    assert repr(seen.explain()) == str(seen.explain())


def test_in_a_notebook_it_is_a_table() -> None:
    """The same cells, in well-formed HTML."""
    with probe(timer=lambda: 0.0, clock=lambda: 0) as seen:
        Cold([b"a\n"]).pipe(lines()).subscribe(Seen())
    root = ET.fromstring(seen.explain()._repr_html_())
    cells = [[cell.text or "" for cell in line] for line in root.iter("tr")]
    assert [line[0] for line in cells] == ["stage", "in", "lines()", "(subscriber)", "(elsewhere)"]
    assert cells[2][1:4] == ["1", "1", "1 B"]
    caption = root.find("caption")
    assert caption is not None
    assert caption.text == "completed, 1 item out"


def test_subscriptions_that_were_one_too_many_are_told() -> None:
    """In the title, as their figures are in no row."""
    with probe() as seen:
        for _ in range(260):
            Cold([1]).pipe(passed()).subscribe(Seen())
    assert "256 items out · 4 subscriptions left out" in str(seen.explain()).splitlines()[0]
    assert row(seen.explain(), "passed").given == 256


def test_the_slowest_stage_of_a_real_run_is_found() -> None:
    """By the real timer: one that does a thousand times the work of the others has the largest share of the stages."""

    @operator
    def busy(out: Out[int]) -> Stage[int]:
        def on_next(value: int) -> None:
            sum(range(200_000))
            out.on_next(value)

        yield on_next

    explained = explain(Cold(range(20)).pipe(passed(), busy(), twice()))
    slowest = max(explained.rows, key=lambda cost: cost.total or 0)
    assert slowest.stage == "busy()"
    body = body_of(chunk({"content": "a"}, "stop"))
    assert "completed" in str(explain(replay(body).pipe(decode())))
