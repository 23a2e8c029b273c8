"""Numbers that were given as options."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any


def check_number(
    option: str,
    rule: str,
    given: object,
    holds: Callable[[Any], bool],
    *,
    whole: bool = False,
) -> None:
    """Raises TypeError for what is no number (`whole`: no int), ValueError for one that does not hold.

    >>> check_number("limit", "a whole number, at least 1", 2.5, lambda n: n >= 1, whole=True)
    Traceback (most recent call last):
    TypeError: limit is a whole number, at least 1; not 2.5
    """
    if isinstance(given, bool) or not isinstance(given, Integral if whole else Real):
        raise TypeError(f"{option} is {rule}; not {given!r}")
    if not holds(given):
        raise ValueError(f"{option} is {rule}; not {given!r}")


def check_count(option: str, given: object) -> None:
    """For what is counted from 1 on; infinity is without limit."""
    if given == math.inf:
        return
    check_number(option, "a whole number, at least 1", given, lambda n: n >= 1, whole=True)


def check_seconds(option: str, given: object) -> None:
    """For times that may be 0."""
    check_number(option, "a number of seconds, at least 0", given, lambda n: n >= 0)
