"""A buffer that joins deltas: fewer events, and nothing of them lost.

The plan. A delta is added to the newest one that waits of the same choice, if it goes on with the same thing: text with
text, arguments with arguments of the same call. The order within a choice stays; deltas of different choices pass one
another. Anything else is a barrier: nothing is joined across it, and all before it is delivered at once.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from msgspec.structs import replace

from operators import ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta
from pipeline.sharing._buffers import EVENTS_OVER, STEADY, Buffer

_GROWS: dict[type, str] = {TextDelta: "text", ReasoningDelta: "text", RefusalDelta: "text", ToolCallDelta: "arguments"}
_CHARACTERS_OVER = 256 * EVENTS_OVER


class _Entry:
    """An event that waits, with what has been joined to it."""

    __slots__ = ("due", "field", "first", "pieces", "size")

    def __init__(self, first: Any, field: str | None, due: float) -> None:
        self.first, self.field, self.due, self.size = first, field, due, 0
        self.pieces: list[str] = []

    def add(self, event: Any) -> int:
        piece = getattr(event, self.field) if self.field is not None else ""
        self.pieces.append(piece)
        self.size += len(piece) + 1
        return len(piece) + 1

    def joined(self) -> Any:
        if len(self.pieces) == 1:
            return self.first
        return replace(self.first, **{str(self.field): "".join(self.pieces)})


class Joined(Buffer):
    """Joins deltas for up to `seconds`; full from `limit` characters on, an event counting as one more."""

    lossless = True

    def __init__(self, seconds: float, limit: int) -> None:
        self._seconds, self._limit = seconds, limit
        self._entries: deque[_Entry] = deque()
        self._open: dict[int, _Entry] = {}  # the newest delta of each choice since the last barrier
        self._barriers = self._size = 0

    @property
    def full(self) -> bool:
        return self._size >= self._limit

    @property
    def bursting(self) -> bool:
        return self._size >= self._limit + _CHARACTERS_OVER

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, event: Any, now: float, /) -> None:
        field = _GROWS.get(type(event))
        entry = self._open.get(event.choice) if field is not None else None
        if entry is None or not _goes_on(entry.first, event):
            entry = _Entry(event, field, now + self._seconds)
            self._entries.append(entry)
            if field is not None:
                self._open[event.choice] = entry
            else:
                self._open.clear()
                self._barriers += 1
        self._size += entry.add(event)

    def ready_in(self, now: float, /) -> float | None:
        if not self._entries:
            return None
        wait = self._entries[0].due - now
        return 0.0 if self._barriers or self.full or wait < STEADY else wait

    def take(self) -> Any:
        entry = self._entries.popleft()
        self._size -= entry.size
        if entry.field is None:
            self._barriers -= 1
        elif self._open.get(entry.first.choice) is entry:
            del self._open[entry.first.choice]
        return entry.joined()


def _goes_on(first: Any, event: Any) -> bool:
    """Whether `event`, of the same choice, says only more of what `first` says."""
    if type(first) is not type(event) or getattr(event, "extra", None) is not None:
        return False
    if not isinstance(event, ToolCallDelta):
        return True
    return not event.name and (event.key, event.index, event.id) == (first.key, first.index, first.id)
