"""Numbers given as options."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from operators._given import check_count, check_seconds

INF = float("inf")


@pytest.mark.parametrize("given", [1, 10**30, INF])
def test_counts(given: Any) -> None:
    check_count("n", given)


@pytest.mark.parametrize("given", [0, 0.5, Fraction(1, 2), INF])
def test_seconds(given: Any) -> None:
    check_seconds("s", given)


@pytest.mark.parametrize(
    ("check", "given", "error"),
    [
        *((check_count, given, TypeError) for given in ("3", None, 2.5, 1.0, True, [1])),
        *((check_count, given, ValueError) for given in (0, -1)),
        *((check_seconds, given, TypeError) for given in ("3", None, True, 1j, Decimal(1))),
        *((check_seconds, given, ValueError) for given in (-1, float("nan"), -INF)),
    ],
)
def test_what_is_refused(check: Any, given: Any, error: Any) -> None:
    """The error says what was expected and what came."""
    with pytest.raises(error) as raised:
        check("f(n=…)", given)
    assert str(raised.value).startswith("f(n=…) is a ")
    assert str(raised.value).endswith(f"; not {given!r}")
