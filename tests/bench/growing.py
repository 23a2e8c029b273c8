"""Growing: the exponent k of cost = c·nᵏ, over the number of events, the length of arguments, the stages and the sinks."""

from __future__ import annotations

import gc
import importlib.util
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

from reactivex import Observable

from operators import Event, Out, Stage, arguments, message, operator, text, tool_calls
from pipeline import decode, replay
from pipeline.sharing import share_to
from tests.bench.bodies import DONE, event
from tests.bench.measure import exponent, in_turn, spread
from tests.bench.report import Figure, Report, Target

FLAT = Target(1.05)
FLAT_MEMORY = Target(2.0)
READ = 64 * 1024
LONG = 20_000  # events, where something else grows
TABLE = "Growing"


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


def staged(stages: int) -> Observable[Any]:
    return replay(text_reads(LONG)).pipe(decode(), *[same() for _ in range(stages)])


def shared(sinks: int) -> Observable[Any]:
    return replay(text_reads(LONG)).pipe(decode(), share_to(*[_ignore for _ in range(sinks)]))


def _chain(make: Callable[[int], Reads], *below: Callable[[], Any]) -> Callable[[int], Observable[Any]]:
    return lambda size: replay(make(size)).pipe(decode(), *[stage() for stage in below])


SIZES = (1_000, 10_000, 100_000, 1_000_000)

EVENTS: dict[str, Callable[[int], Observable[Any]]] = {
    "events: decode()": _chain(text_reads),
    "events: decode() | text()": _chain(text_reads, text),
    "events: decode() | tool_calls() | message()": _chain(text_reads, tool_calls, message),
}
LENGTHS: dict[str, Callable[[int], Observable[Any]]] = {
    "length of arguments: decode()": _chain(argument_reads),
    "length of arguments: decode() | tool_calls() | message()": _chain(argument_reads, tool_calls, message),
    "length of arguments: decode() | arguments()": _chain(argument_reads, arguments),
    "length of one string: decode() | arguments()": _chain(string_reads, arguments),
}
BESIDE: dict[str, tuple[Callable[[int], Observable[Any]], tuple[int, ...]]] = {
    "stages": (staged, (1, 2, 5, 10, 20)),
    "sinks of share_to()": (shared, (1, 2, 5, 10)),
}


def run(report: Report) -> None:
    for name, make in (EVENTS | LENGTHS).items():
        _of_length(report, name, make, per_item=1 if name in EVENTS else 4)
    for name, (make, counts) in BESIDE.items():
        _of_count(report, name, make, counts)
    _arguments(report)
    _memory(report)


def _of_length(report: Report, name: str, make: Callable[[int], Observable[Any]], per_item: int) -> None:
    """Short streams run as often as makes them comparable, so that what disturbs is spread alike."""
    sizes = SIZES[:-1] if report.quick else SIZES
    costs = in_turn({str(size): (_often(make, size, sizes[-1]), _times(size, sizes[-1]) * size) for size in sizes}, 3)
    points = {size: costs.each(str(size)) * per_item for size in sizes}  # for one item
    report.curves[name] = {str(size): cost for size, cost in points.items()}
    k = exponent((size, size * cost) for size, cost in points.items())
    report.add(Figure(TABLE, name, k, "exponent", target=FLAT))
    short, long = sizes[1], sizes[-1]
    ratio = costs.ratio(str(long), str(short))
    target = Target((long / short) ** (FLAT.limit - 1))
    report.add(Figure(TABLE, f"{name}: an event at {long:,}", points[long], "µs/event", ratio, f"at {short:,}", target))


def _times(size: int, longest: int) -> int:
    return max(1, min(20, longest // 4 // size))


def _often(make: Callable[[int], Observable[Any]], size: int, longest: int) -> Callable[[], None]:
    streams = [make(size)] * _times(size, longest)

    def run() -> None:
        for stream in streams:
            stream.subscribe(_ignore)

    return run


def _of_count(report: Report, name: str, make: Callable[[int], Observable[Any]], counts: tuple[int, ...]) -> None:
    costs = in_turn({str(n): (_often(make, n, 0), LONG) for n in counts}, 3 if report.quick else 7)
    points = {n: costs.each(str(n)) for n in counts}
    report.curves[name] = {str(n): cost for n, cost in points.items()}
    report.add(Figure(TABLE, name, exponent(points.items()), "exponent", target=FLAT))
    slope = (points[counts[-1]] - points[counts[0]]) / (counts[-1] - counts[0])
    report.add(Figure(TABLE, f"{name}: one more", slope * 1e3, "ns/event"))


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
