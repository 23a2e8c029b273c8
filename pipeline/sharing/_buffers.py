"""What waits for a slow sink, and what happens when too much does: one class a policy.

A buffer knows no thread and no clock: its lane locks it and tells it the time, in seconds by a clock that is steady.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

from operators import Gap

EVENTS_OVER = 65_536
"""Events over its bound that a buffer takes from a source that cannot be held back."""

STEADY = 1e-5  # seconds: the clock of a virtual scheduler is rounded to microseconds


class Buffer(ABC):
    """Holds what came and is not delivered, within a bound."""

    lossless: ClassVar[bool]
    """Whether all that is put in comes out: then the source is held back while it is `full`."""

    @property
    def full(self) -> bool:
        return False

    @property
    def bursting(self) -> bool:
        """Whether it can take no more at all: the source could not be held back."""
        return False

    @abstractmethod
    def __len__(self) -> int:
        """How many events wait."""

    @abstractmethod
    def put(self, event: Any, now: float, /) -> None: ...

    @abstractmethod
    def ready_in(self, now: float, /) -> float | None:
        """Seconds until the next one is to be delivered; None while nothing waits."""

    @abstractmethod
    def take(self) -> Any:
        """What is to be delivered next."""


class Kept(Buffer):
    """Keeps all; full from `limit` events on."""

    lossless = True

    def __init__(self, limit: int) -> None:
        self._limit, self._events = limit, deque[Any]()

    @property
    def full(self) -> bool:
        return len(self._events) >= self._limit

    @property
    def bursting(self) -> bool:
        return len(self._events) >= self._limit + EVENTS_OVER

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Any, _now: float, /) -> None:
        self._events.append(event)

    def ready_in(self, _now: float, /) -> float | None:
        return 0.0 if self._events else None

    def take(self) -> Any:
        return self._events.popleft()


class Newest(Buffer):
    """Keeps the newest `limit` events. A Gap tells how many are missing, where they are missing."""

    lossless = False

    def __init__(self, limit: int, on_drop: Callable[[int], None]) -> None:
        self._events, self._missing, self._on_drop = deque[Any](maxlen=limit), 0, on_drop

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Any, _now: float, /) -> None:
        if len(self._events) == self._events.maxlen:
            lost = self._events[0]
            dropped = lost.dropped if isinstance(lost, Gap) else 1
            self._missing += dropped
            self._on_drop(dropped)
        self._events.append(event)

    def ready_in(self, _now: float, /) -> float | None:
        return 0.0 if self._events else None

    def take(self) -> Any:
        if self._missing:
            missing, self._missing = self._missing, 0
            return Gap(missing)
        return self._events.popleft()
