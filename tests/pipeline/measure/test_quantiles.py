"""Quantiles within 1 %, in bounded memory."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pipeline.measure._quantiles import Quantiles


def quantiles(numbers: list[float]) -> Quantiles:
    made = Quantiles()
    for number in numbers:
        made.add(number)
    return made


@given(st.lists(st.floats(1e-6, 1e5), min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_within_one_per_cent(numbers: list[float], part: float) -> None:
    exact = sorted(numbers)[math.ceil(part * len(numbers)) - 1]
    found = quantiles(numbers).at(part)
    assert found is not None
    assert abs(found - exact) <= exact * 0.01 + 1e-12


def test_no_numbers_and_zeros() -> None:
    assert quantiles([]).at(0.5) is None
    assert quantiles([0.0, 0.0, 5.0]).at(0.5) == 0.0
    assert quantiles([0.0, 0.0, 5.0]).at(0.99) == 5.0
    assert quantiles([0.25] * 9).at(0.5) == 0.25


def test_memory_is_bounded() -> None:
    made = quantiles([1e-7 * 1.0005**step for step in range(60_000)])  # from 0.1 µs to 10⁶ s
    assert len(made._buckets) < 1500
