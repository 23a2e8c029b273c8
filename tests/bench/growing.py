"""Growing: the exponent k of cost = c·nᵏ, over the number of events, the length of arguments, the stages and the sinks."""

from __future__ import annotations

import gc
import importlib.util
import math
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from reactivex import Observable

from operators import Event, Out, Stage, arguments, message, operator, text, tool_calls
from pipeline import decode, replay
from pipeline.sharing import share_to
from tests.bench.bodies import DONE, event
from tests.bench.measure import Costs, exponent, growth, in_turn, spread
from tests.bench.report import Figure, Report, Target

FLAT = 1.05
FLAT_MEMORY = Target(2.0)
READ = 64 * 1024
LONG = 20_000  # events, where something else grows
TABLE = "Growing"


class Reads:
    """A long body that is not kept: a beginning, one piece over and over in long reads, an end."""

    def __init__(self, begin: bytes, piece: bytes, pieces: int, end: bytes) -> None:
        per_read = READ // len(piece)
        self._begin, self._read, self._end = begin, piece * per_read, end
        self._reads, left = divmod(pieces, per_read)
        self._rest = piece * left
        self.events = pieces + (begin + end).count(b"\n\n")

    def __iter__(self) -> Iterator[bytes]:
        yield from self.without_end()
        yield self._end

    def without_end(self) -> Iterator[bytes]:
        if self._begin:
            yield self._begin
        for _ in range(self._reads):
            yield self._read
        if self._rest:
            yield self._rest


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
        return event(
            {
                "tool_calls": [
                    {"index": 0, **more, "function": {"arguments": arguments, **({"name": "f"} if more else {})}}
                ]
            }
        )

    return Reads(piece(begin, id="call_1"), piece(part), fragments, piece(end) + event({}, "tool_calls") + DONE)


def _ignore(_: object) -> None: ...


@operator
def same(out: Out[Event]) -> Stage[Event]:
    """A stage that does nothing."""
    yield out.on_next


def staged(stages: int) -> list[Any]:
    return [same() for _ in range(stages)]


def shared(sinks: int) -> list[Any]:
    return [share_to(*[_ignore for _ in range(sinks)])]


class Chain(NamedTuple):
    """Something that grows: the body, and what stands below decode()."""

    reads: Callable[[int], Reads]
    below: tuple[Callable[[], Any], ...] = ()


class Beside(NamedTuple):
    """Something of which there are more and more: what one more costs is what n cost above the fewest."""

    below: Callable[[int], list[Any]]
    counts: tuple[int, ...]


SIZES = (1_000, 10_000, 100_000, 1_000_000)

CHAINS = {
    "events: decode()": Chain(text_reads),
    "events: decode() | text()": Chain(text_reads, (text,)),
    "events: decode() | tool_calls() | message()": Chain(text_reads, (tool_calls, message)),
    "length of arguments: decode()": Chain(argument_reads),
    "length of arguments: decode() | tool_calls() | message()": Chain(argument_reads, (tool_calls, message)),
    "length of arguments: decode() | arguments()": Chain(argument_reads, (arguments,)),
    "length of one string: decode() | arguments()": Chain(string_reads, (arguments,)),
}
BESIDE = {
    "stages": Beside(staged, (0, 1, 2, 5, 10, 20)),
    "sinks of share_to()": Beside(shared, (1, 2, 5, 10)),
}


def run(report: Report) -> None:
    for name, chain in CHAINS.items():
        _of_length(report, name, chain)
    for name, beside in BESIDE.items():
        _of_count(report, name, beside)
    _arguments(report)
    _memory(report)


def flat(times: float) -> Target:
    """For what grows so many times: far off is an exponent that makes the longest cost twice what the target lets it."""
    return Target(FLAT, far=1 + math.log(2) / math.log(times) / FLAT)


def _of_length(report: Report, name: str, chain: Chain) -> None:
    """Short streams run as often as makes them comparable, so that what disturbs is spread alike."""
    sizes = SIZES[:-1] if report.quick else SIZES
    runs = {}
    for size in sizes:
        reads, times = chain.reads(size), max(1, min(20, sizes[-1] // 4 // size))
        stream = replay(reads).pipe(decode(), *[stage() for stage in chain.below])
        runs[str(size)] = _often(stream, times), times * reads.events
    costs = in_turn(runs, 3)
    points = {size: costs.each(str(size)) for size in sizes}
    report.curves[name] = {str(size): cost for size, cost in points.items()}
    k = exponent((size, size * cost) for size, cost in points.items())
    report.add(Figure(TABLE, name, k, "exponent", target=flat(sizes[-1] / sizes[0])))
    short, long = sizes[1], sizes[-1]
    ratio = costs.ratio(str(long), str(short))
    target = Target((long / short) ** (FLAT - 1))
    report.add(Figure(TABLE, f"{name}: an event at {long:,}", points[long], "µs/event", ratio, f"at {short:,}", target))


def _often(stream: Observable[Any], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            stream.subscribe(_ignore)

    return run


def _of_count(report: Report, name: str, beside: Beside) -> None:
    costs = costs_of(beside, LONG, rounds=7 if report.quick else 31)
    k, one_more = growth_of(beside, costs)
    report.curves[name] = {n: costs.each(n) for n in costs}
    grown = beside.counts[-1] - beside.counts[0]
    report.add(Figure(TABLE, f"{name}, above {beside.counts[0]}", k, "exponent", target=flat(grown)))
    report.add(Figure(TABLE, f"{name}: one more", one_more * 1e3, "ns/event"))


def costs_of(beside: Beside, events: int, rounds: int) -> Costs:
    runs = {}
    for n in beside.counts:
        reads = text_reads(events)
        runs[str(n)] = _often(replay(reads).pipe(decode(), *beside.below(n)), 1), reads.events
    return in_turn(runs, rounds)


def growth_of(beside: Beside, costs: Costs) -> tuple[float, float]:
    """The exponent of what comes on top of the fewest, and the microseconds of one more."""
    fewest, *more = beside.counts
    above = [(n - fewest, costs.above(str(n), str(fewest))) for n in more]
    most, cost = above[-1]
    return growth(above), cost / most


def _arguments(report: Report) -> None:
    if importlib.util.find_spec("jiter") is None:
        report.leave_out("parsing arguments again with jiter (not installed: pip install -e '.[bench]')")
        return
    from tests.bench.bench_arguments import times_cheaper

    length = 20_000 if report.quick else 100_000
    found = times_cheaper(length)
    what = f"jiter, all so far again at each piece of {length // 1000} KB"
    report.add(Figure(TABLE, what, found, "× arguments()"))


def _memory(report: Report) -> None:
    first, whole = peak_of(100_000 if report.quick else 1_000_000)
    grown = spread([whole / first])
    figure = Figure(TABLE, "peak memory of a long stream that nobody keeps", whole / 1024, "KiB")
    report.add(figure.against(grown, "in the first tenth", FLAT_MEMORY))


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
