"""4. Growth: the exponent k of cost = c·nᵏ, over the number of events, the length of arguments, the stages and the sinks."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from operators import Event, Out, Stage, TextDelta, arguments, message, operator, text, tool_calls
from pipeline import decode, replay
from pipeline.sharing import share_to
from reactivex import Observable

from tests.bench.bodies import DONE, event
from tests.bench.measure import exponent
from tests.bench.report import Figure, Report, Target

FLAT = Target(1.05)
FLAT_MEMORY = Target(2.0)
READ = 64 * 1024


class Reads:
    """A long body that is not kept: a beginning, one read over and over, an end."""

    def __init__(self, begin: bytes, piece: bytes, events: int, end: bytes) -> None:
        per_read = max(1, min(events, READ // len(piece)))
        self._begin, self._read, self._count, self._end = begin, piece * per_read, max(1, events // per_read), end

    def __iter__(self) -> Iterator[bytes]:
        yield from self.without_end()
        yield self._end

    def without_end(self) -> Iterator[bytes]:
        if self._begin:
            yield self._begin
        for _ in range(self._count):
            yield self._read


def text_reads(events: int) -> Reads:
    return Reads(b"", event({"content": " word"}), events, event({}, "stop") + DONE)


def argument_reads(length: int) -> Reads:
    """One call whose arguments are a list of numbers, four characters a fragment."""
    return _call('{"a":[1', ",123", "]}", length // 4)


def string_reads(length: int) -> Reads:
    """The same, as one long string."""
    return _call('{"a":"', "word", '"}', length // 4)


def _call(begin: str, part: str, end: str, fragments: int) -> Reads:
    def piece(arguments: str, **more: Any) -> bytes:
        return event({"tool_calls": [{"index": 0, **more, "function": {"arguments": arguments, **({"name": "f"} if more else {})}}]})

    return Reads(piece(begin, id="call_1"), piece(part), fragments, piece(end) + event({}, "tool_calls") + DONE)


def _seconds(stream: Observable[Any]) -> float:
    gc.collect()
    began = time.process_time()
    stream.subscribe(_ignore)
    return time.process_time() - began


def _ignore(_: object) -> None: ...


@operator
def same(out: Out[Event]) -> Stage[Event]:
    """A stage that does nothing."""
    yield out.on_next


def staged(stages: int) -> Observable[Any]:
    return replay(text_reads(20_000)).pipe(decode(), *[same() for _ in range(stages)])


def shared(sinks: int) -> Observable[Any]:
    return replay(text_reads(20_000)).pipe(decode(), share_to(*[_ignore for _ in range(sinks)]))


def _chain(make: Callable[[int], Reads], *below: Callable[[], Any]) -> Callable[[int], Observable[Any]]:
    return lambda size: replay(make(size)).pipe(decode(), *[stage() for stage in below])


EVENTS = (1_000, 10_000, 100_000, 1_000_000)
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)

SERIES: dict[str, tuple[Callable[[int], Observable[Any]], tuple[int, ...]]] = {
    "events, decode()": (_chain(text_reads), EVENTS),
    "events, decode() | text()": (_chain(text_reads, text), EVENTS),
    "events, decode() | tool_calls() | message()": (_chain(text_reads, tool_calls, message), EVENTS),
    "argument length, decode()": (_chain(argument_reads), LENGTHS),
    "argument length, decode() | tool_calls() | message()": (_chain(argument_reads, tool_calls, message), LENGTHS),
    "argument length, decode() | arguments()": (_chain(argument_reads, arguments), LENGTHS),
    "length of one string, decode() | arguments()": (_chain(string_reads, arguments), LENGTHS),
    "stages": (staged, (1, 2, 5, 10, 20)),
    "sinks, share_to()": (shared, (1, 2, 5, 10)),
}


def run(report: Report) -> None:
    part = "4. Growth: exponent of the cost"
    curves = report.curves.setdefault("growth", {})
    for name, (make, sizes) in SERIES.items():
        if report.quick:
            sizes = tuple(size for size in sizes if size <= 100_000)
        cost = _costs(make, sizes, 5 if sizes[-1] <= 20 else 3)
        curves[name] = cost
        report.add(Figure(part, name, exponent(cost.items()), "", target=FLAT))
        if sizes[-1] <= 20:
            slope = (cost[sizes[-1]] - cost[sizes[0]]) / (sizes[-1] - sizes[0]) / 20_000
            report.add(Figure(part, f"{name}: each more costs", slope * 1e9, "ns/event"))
        else:
            items = [size if name.startswith("events") else size / 4 for size in (sizes[1], sizes[-1])]
            dearer = (cost[sizes[-1]] / items[1]) / (cost[sizes[1]] / items[0])
            report.add(Figure(part, f"{name}: cost of one at {sizes[-1]:,} / at {sizes[1]:,}", dearer, "×"))
    first, whole = peak_of(100_000 if report.quick else 1_000_000)
    report.add(Figure("4. Growth: memory that nobody keeps", "peak of a long stream / of its first tenth", whole / first, "×", target=FLAT_MEMORY))
    report.add(Figure("4. Growth: memory that nobody keeps", "peak", whole / 1024, "KiB"))


def _costs(make: Callable[[int], Observable[Any]], sizes: tuple[int, ...], rounds: int) -> dict[int, float]:
    """Of each size, the least of some rounds in turn: what disturbs can only add. Short streams run often in a round."""
    times = {size: max(1, min(20, sizes[-1] // 10 // size)) if sizes[-1] > 20 else 1 for size in sizes}
    least = dict.fromkeys(sizes, float("inf"))
    _seconds(make(sizes[0]))
    for _ in range(rounds):
        for size in sizes:
            took = min(_seconds(make(size)) for _ in range(times[size]))
            least[size] = min(least[size], took)
    return least


def peak_of(events: int) -> tuple[int, int]:
    """Bytes held at the peak of the first tenth and of the whole."""
    marks: list[int] = []

    class Marked:
        def __iter__(self) -> Iterator[bytes]:
            for part in range(10):
                yield from text_reads(events // 10).without_end()
                if not part:
                    marks.append(tracemalloc.get_traced_memory()[1])
                    tracemalloc.reset_peak()
            yield event({}, "stop") + DONE

    gc.collect()
    tracemalloc.start()
    replay(Marked()).pipe(decode(), tool_calls()).subscribe(_ignore)
    marks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    return marks[0], max(marks)
