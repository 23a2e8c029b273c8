"""What comes above `deltas()` in a chain, and is no event; an event of a type that is not known here is one."""

from __future__ import annotations

from operators._chunks import Chunk
from operators._misplaced import misplaced
from operators._sse import ServerSentEvent

NO_EVENTS = frozenset({bytes, bytearray, memoryview, str, ServerSentEvent, Chunk})


def no_event(stage: str, item: object) -> TypeError:
    """The error for an item that is of one of these types.

    >>> no_event("text()", b"data: {}")
    TypeError('text() takes events, got bytes: is decode() missing above it?')
    """
    return misplaced(stage, "events", item, "decode()")
