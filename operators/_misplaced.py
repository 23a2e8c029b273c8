"""What to say when a stage gets what belongs elsewhere in the chain."""

from __future__ import annotations


def misplaced(stage: str, takes: str, item: object, missing: str) -> TypeError:
    """The error for an item that a stage cannot take; `missing` is what should stand above it.

    >>> misplaced("sse()", "lines as bytes", "data: {}", "lines()")
    TypeError('sse() takes lines as bytes, got str: is lines() missing above it?')
    """
    return TypeError(f"{stage} takes {takes}, got {type(item).__name__}: is {missing} missing above it?")
