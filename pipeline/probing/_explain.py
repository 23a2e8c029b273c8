"""What a probe has seen, or a stream that is run for it → what each stage took and gave."""

from __future__ import annotations

import asyncio
import html
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from reactivex import Observable, abc
from reactivex.scheduler import VirtualTimeScheduler

from pipeline.measure._quantiles import Quantiles
from pipeline.probing._marbles import Marbles
from pipeline.probing._probe import Probe, probe
from pipeline.probing._rows import Row, rows_of
from pipeline.probing._seen import Lane
from pipeline.probing._shown import escaped, seconds, shown, size, stage_name, width
from pipeline.probing._summary import summary

_SHARE = 12  # cells of a bar


def explain(
    what: Observable[Any] | Probe,
    *,
    scheduler: abc.SchedulerBase | None = None,
    timer: Callable[[], float] = time.perf_counter,
) -> Explained:
    r"""From a stream, or from what a probe has seen of some, to a table of what each stage took and gave.

    A stream is subscribed and run to its end, on `scheduler` where one is given, and what it emits is dropped. That blocks,
    unless the stream runs on the event loop of this very thread: then `await explain(stream)` waits for its end, and
    cancels it when it is cancelled. A stream that breaks is explained too; nothing is raised for it.

    Times are a stage's own: without what is below it, and without the probe. In a row: items in and out, their bytes, how
    many items led to nothing at once, the median and the 99th percentile for one item, the total, its share of the whole.
    The rest of the whole went by elsewhere: in waits, in the source, in operators above.

    >>> from operators import lines
    >>> from pipeline import replay
    >>> print(explain(replay(b"data: 1\n\n", 4).pipe(lines()), timer=lambda: 0))
    completed in ...
    stage         in  out  bytes  to nothing  p50  p99  total  share
    reads              3     9 B
    lines()        3   2     7 B           1    0    0      0
    (subscriber)   2                            0    0      0
    (elsewhere)                                             0
    """
    if isinstance(what, Probe):
        return Explained(what)
    if not isinstance(what, Observable):
        raise TypeError(f"explain() takes a stream, which it runs, or a probe; not {what!r:.80}")
    seen = probe(timer=timer) if scheduler is None else probe(clock=scheduler, timer=timer)
    run = _Run()
    with seen:
        subscription = what.subscribe(_nothing, run.ended, run.ended, scheduler=scheduler)
    run.subscription = subscription
    if isinstance(scheduler, VirtualTimeScheduler):
        scheduler.start()
    elif not _loop_is_running():
        run.wait()
    return Explained(seen, run)


class _Run:
    """A subscription that is waited for."""

    def __init__(self) -> None:
        self.subscription: abc.DisposableBase | None = None
        self._done = threading.Event()
        self._tell: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    def ended(self, *_: object) -> None:
        with self._lock:
            self._done.set()
            told, self._tell = self._tell, []
        for tell in told:
            tell()

    def wait(self) -> None:
        try:
            self._done.wait()
        except BaseException:
            self._leave()
            raise

    async def arrive(self) -> None:
        loop = asyncio.get_running_loop()
        arrived = asyncio.Event()
        with self._lock:
            if self._done.is_set():
                return
            self._tell.append(lambda: loop.call_soon_threadsafe(arrived.set))
        try:
            await arrived.wait()
        except asyncio.CancelledError:
            self._leave()
            raise

    def _leave(self) -> None:
        if self.subscription is not None:
            self.subscription.dispose()


def _nothing(_: object) -> None:
    pass


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class StageCost(NamedTuple):
    """One row of the table. Times are in seconds; None is what there is nothing to say of."""

    stage: str
    taken: int | None = None
    given: int | None = None
    bytes: int | None = None
    silent: int | None = None
    lost: int = 0
    p50: float | None = None
    p99: float | None = None
    total: float | None = None
    share: float | None = None


class Explained:
    """The table of what each stage took and gave; `str()` of it, or shown in a notebook."""

    def __init__(self, seen: Probe, run: _Run | None = None) -> None:
        self.seen, self._run = seen, run

    def __await__(self) -> Generator[Any, None, Explained]:
        return self._arrived().__await__()

    async def _arrived(self) -> Explained:
        if self._run is not None:
            await self._run.arrive()
        return self

    @property
    def rows(self) -> list[StageCost]:
        """What it says, in the order of the flow."""
        costs = _costs(rows_of(self.seen.frozen(), "all", apart=False)[0])
        spent = sum(cost.total or 0.0 for cost in costs)
        whole = max(self.seen.clocks.passed, spent)
        costs.append(StageCost("(elsewhere)", total=whole - spent))
        return [cost._replace(share=cost.total / whole if whole and cost.total is not None else None) for cost in costs]

    def marbles(self, **options: Any) -> Marbles:
        """The picture of the same; see `Marbles`."""
        return Marbles(self.seen, **options)

    def __str__(self) -> str:
        return "\n".join([self._title(), *_text(_cells(self.rows))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = _cells(self.rows)
        lines = [f"<table><caption>{escaped(self._title())}</caption>"]
        lines += [f"<thead>{_line('th', head)}</thead>", "<tbody>", *(_line("td", row) for row in rows)]
        return "\n".join([*lines, "</tbody></table>"])

    def _title(self) -> str:
        told = summary(self.seen, self.seen.frozen(), self.seen.unseen)
        return told.words if told.state != "running" else f"{told.words} (await it, to see it to its end)"


def _costs(rows: Sequence[Row]) -> list[StageCost]:
    costs: list[StageCost] = []
    above: Row | None = None
    for row in rows:
        if above is not None and not row.first:
            costs.append(_cost(row.name, above, row))
        elif row.name == "reads":
            costs.append(StageCost("reads", given=row.count, bytes=row.size))
        elif above is None or not row.foreign:
            costs += _below(above)
            costs.append(StageCost("in", given=row.count, bytes=row.size))
        elif above.name != "reads":
            costs.append(_cost("(other operators)", above, row))
        elif (above.count, above.size) != (row.count, row.size):  # nobody has seen what that took
            costs.append(StageCost("(other operators)", above.count, row.count, row.size))
        above = row
    return costs + _below(above)


def _below(last: Row | None) -> list[StageCost]:
    """What took what the last stage gave."""
    if last is None or last.name == "reads":
        return []
    name = "(other operators)" if last.read else "(subscriber)"
    return [_timed(StageCost(name, taken=last.count), [lane for _, lane in last.lanes])]


def _cost(name: str, above: Row, row: Row) -> StageCost:
    lanes = [lane for _, lane in above.lanes]
    silent = None if name.startswith("(") else sum(lane.silent for lane in lanes)
    lost = sum(lane.lost for _, lane in row.lanes)
    return _timed(StageCost(name, above.count, row.count, row.size, silent, lost), lanes)


def _timed(cost: StageCost, lanes: Iterable[Lane]) -> StageCost:
    lanes = list(lanes)
    times = _merged([lane.times for lane in lanes])
    return cost._replace(p50=times.at(0.5), p99=times.at(0.99), total=sum(lane.busy for lane in lanes))


def _merged(many: Sequence[Quantiles]) -> Quantiles:
    """All that was added to any of them."""
    if len(many) == 1:
        return many[0]
    merged = Quantiles()
    for one in many:
        merged.count += one.count
        merged.smallest, merged.largest = min(merged.smallest, one.smallest), max(merged.largest, one.largest)
        merged._zeros += one._zeros  # noqa: SLF001
        for bucket, count in list(one._buckets.items()):  # noqa: SLF001 - a copy, as it may grow in another thread
            merged._buckets[bucket] = merged._buckets.get(bucket, 0) + count  # noqa: SLF001
    return merged


# ------------------------------------------------------------------------------------------------ for people


def _cells(rows: Iterable[StageCost]) -> list[tuple[str, ...]]:
    rows = list(rows)
    lost = any(row.lost for row in rows)
    head = ("stage", "in", "out", "bytes", "to nothing", *(["dropped"] if lost else []), "p50", "p99", "total", "share")
    cells: list[tuple[str, ...]] = [head]
    for row in rows:
        told = [
            shown(row.stage) if row.stage.startswith("(") else stage_name(row.stage, 32),
            *(_told(value, "{:,}".format) for value in (row.taken, row.given)),
            _told(row.bytes or None, size),
            _told(row.silent or None, "{:,}".format),
            *([_told(row.lost or None, "{:,}".format)] if lost else []),
            *(_told(value, partial(_each, row)) for value in (row.p50, row.p99)),
            _told(row.total, seconds),
            "" if row.share is None else f"{row.share:6.1%} {_bar(row.share)}".rstrip(),
        ]
        cells.append(tuple(told))
    return cells


def _told(value: Any, how: Callable[[Any], str]) -> str:
    return "" if value is None else how(value)


def _each(row: StageCost, time: float) -> str:
    """What one item took: of less than a microsecond only that much is known."""
    return "<1 µs" if not time and row.total else seconds(time)


def _bar(share: float) -> str:
    eighths = round(share * _SHARE * 8)
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8]).strip()


def _line(tag: str, cells: Sequence[str]) -> str:
    """A row in HTML: words to the left, numbers to the right."""
    sides = ["left", *["right"] * (len(cells) - 2), "left"]
    told = (
        f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>' for side, cell in zip(sides, cells, strict=True)
    )
    return f"<tr>{''.join(told)}</tr>"


def _text(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(width(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = []
    for row in cells:
        first, *others, last = (
            cell + " " * (size - width(cell)) if column in {0, len(row) - 1} else " " * (size - width(cell)) + cell
            for column, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others, last]).rstrip())
    return lines
