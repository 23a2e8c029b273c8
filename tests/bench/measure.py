"""Measuring on a machine that others use too: in turn, CPU time, medians of ratios."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple


class Ratio(NamedTuple):
    """A median with the quartiles around it."""

    median: float
    low: float
    high: float


class Costs(dict[str, list[float]]):
    """What each competitor cost in each round, in seconds for one item of work."""

    def each(self, name: str) -> float:
        """The median, in microseconds."""
        return statistics.median(self[name]) * 1e6

    def ratio(self, name: str, to: str) -> Ratio:
        """How many times as much as the other one: the median over the rounds that ran both."""
        return spread([mine / other for mine, other in zip(self[name], self[to], strict=False)])

    def above(self, name: str, base: str) -> float:
        """How much more than the other one, in microseconds: the median over the rounds."""
        return statistics.median(mine - other for mine, other in zip(self[name], self[base], strict=True)) * 1e6


def spread(values: Sequence[float]) -> Ratio:
    """
    >>> spread([3, 1, 2])
    Ratio(median=2.0, low=1.5, high=2.5)
    """
    if len(values) < 2:
        return Ratio(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Ratio(median, low, high)


def in_turn(
    runs: Mapping[str, tuple[Callable[[], object], float]], rounds: int, fewer: Mapping[str, int] | None = None
) -> Costs:
    """Run all, one after the other, so many rounds; each run is given with how many items of work it does.

    `fewer` has the slow ones, which take part in the first rounds only.

    CPU time of the whole process, so that what else the machine does counts as little as can be. The garbage collector
    runs as it does for everybody, but need not look at what was there before.
    """
    costs, fewer = Costs({name: [] for name in runs}), fewer or {}
    for run, _ in runs.values():  # imports, caches, connections
        run()
    gc.collect()
    gc.freeze()
    try:
        for round_ in range(rounds):
            order = [(name, run) for name, run in runs.items() if round_ < fewer.get(name, rounds)]
            for name, (run, items) in order if round_ % 2 else reversed(order):
                gc.collect()
                began = time.process_time()
                run()
                costs[name].append((time.process_time() - began) / items)
    finally:
        gc.unfreeze()
    return costs


def exponent(points: Iterable[tuple[float, float]]) -> float:
    """The k of cost = c·nᵏ, by least squares over the logarithms.

    >>> round(exponent((n, 3 * n**2) for n in (1, 10, 100)), 6)
    2.0
    """
    return _slope((math.log(n), math.log(cost), 1.0) for n, cost in points)


def growth(points: Iterable[tuple[float, float]]) -> float:
    """The same for costs above that of none, which are differences: all are known equally well, so the large ones count for more.

    >>> round(growth([(1, 2), (2, 8), (10, 200)]), 6)
    2.0
    >>> round(growth([(1, 1.5), (5, 5), (20, 20)]), 2)  # what disturbs all alike hardly bends it
    0.96
    """
    return _slope((math.log(n), math.log(cost), cost**2) for n, cost in ((n, max(cost, 1e-9)) for n, cost in points))


def _slope(points: Iterable[tuple[float, float, float]]) -> float:
    """Of the line through these places, by their weights."""
    xs, ys, weights = zip(*points, strict=True)
    x, y = (statistics.fmean(values, weights) for values in (xs, ys))
    ups = (weight * (a - x) * (b - y) for a, b, weight in zip(xs, ys, weights, strict=True))
    return sum(ups) / sum(weight * (a - x) ** 2 for a, weight in zip(xs, weights, strict=True))


def percentile(values: Sequence[float], share: float) -> float:
    """The value that so large a share of all is not above.

    >>> percentile([4, 1, 3, 2], 0.5), percentile([1, 2, 3, 4], 0.99)
    (2, 4)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
