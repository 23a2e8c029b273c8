"""All streams of a page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from pipeline.web._feed import Feed

STREAMS = 24
"""Streams that a page has. Then the oldest that has ended goes, or the oldest of all."""


class Hub:
    """Where streams are opened by those who emit, and found by those who look on. From any thread."""

    def __init__(
        self, *, events: int, secrets: Sequence[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._events, self._clock = events, clock
        self.secrets = secrets
        self._lock = threading.Lock()
        self._count = 0
        self.feeds: tuple[Feed, ...] = ()  # replaced as a whole, so that it can be read without the lock
        self.closed = False

    def open(self, title: str = "") -> Feed:
        """A new stream, the last in the list."""
        with self._lock:
            self._count += 1
            name = title or f"Stream {self._count}"
            feed = Feed(self._count, name, events=self._events, secrets=self.secrets, clock=self._clock)
            kept = list(self.feeds)
            if len(kept) >= STREAMS:
                kept.remove(next((one for one in kept if one.ended), kept[0]))
            self.feeds = (*kept, feed)
            return feed

    def find(self, id: int | None) -> Feed | None:  # noqa: A002
        """The stream with this number, if it is still there; None: the newest."""
        if id is None:
            return self.feeds[-1] if self.feeds else None
        return next((feed for feed in self.feeds if feed.id == id), None)

    def close(self) -> None:
        """No one is to look on any more."""
        self.closed = True
