"""Numbers → their quantiles, in bounded memory."""

from __future__ import annotations

import math

_ERROR = 0.01
_LOG_BASE = math.log((1 + _ERROR) / (1 - _ERROR))
_CENTRE = 1 - _ERROR  # of a bucket, as a part of its upper bound
_SMALLEST = 1e-6


class Quantiles:
    """Counts numbers in buckets whose width grows with them, so that a quantile is off by 1 % at most.

    A number is a time in seconds. Below a microsecond it counts as 0. From there to a day there are 1,258 buckets, of which
    only those that hold something exist. (The buckets of DDSketch: Masson, Rim and Lee, 2019.) What comes twice
    in the same order gives the same quantiles.

    >>> times = Quantiles()
    >>> for hundredths in range(1, 101):
    ...     times.add(hundredths / 100)
    >>> [round(times.at(part), 2) for part in (0.5, 0.9, 0.99)]
    [0.5, 0.9, 0.99]
    """

    __slots__ = ("_buckets", "_zeros", "count", "largest", "smallest")

    def __init__(self) -> None:
        self.count = self._zeros = 0
        self.smallest, self.largest = math.inf, 0.0
        self._buckets: dict[int, int] = {}

    def add(self, number: float) -> None:
        self.count += 1
        self.smallest = min(self.smallest, number)
        self.largest = max(self.largest, number)
        if number < _SMALLEST:
            self._zeros += 1
        else:
            bucket = math.ceil(math.log(number) / _LOG_BASE)
            self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    def at(self, part: float) -> float | None:
        """The number below which this part of all numbers lies; None if there are none."""
        if not self.count:
            return None
        rank = math.ceil(part * self.count)
        passed = self._zeros
        if rank <= passed:
            return 0.0
        if rank >= self.count:
            return self.largest
        for bucket in sorted(self._buckets):
            passed += self._buckets[bucket]
            if rank <= passed:
                return min(max(math.exp(bucket * _LOG_BASE) * _CENTRE, self.smallest), self.largest)
        raise AssertionError("the buckets hold all that was counted")
