"""What comes above `deltas()` in a chain, and is no event; an event of a type that is not known here is one."""

from __future__ import annotations

from operators._misplaced import misplaced

NO_EVENTS: set[type] = {bytes, bytearray, memoryview, str}
"""Modules that make other things for the stages above it add theirs."""


def no_event(stage: str, item: object) -> TypeError:
    """The error for an item that is of one of these types.

    >>> no_event("text()", b"data: {}")
    TypeError('text() takes events, got bytes: is decode() missing above it?')
    """
    return misplaced(stage, "events", item, "decode()")
