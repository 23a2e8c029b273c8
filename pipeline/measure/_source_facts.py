"""What the sources above a stage have done, as far as it can be measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from operators import Spy


class SourceFacts(Spy):
    """Requests, reads, bytes and heartbeats of all sources above, with times by `clock`, in seconds.

    A heartbeat is a comment of the event stream: a line that begins with a colon.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.clear()

    def clear(self) -> None:
        self.requested: float | None = None  # when the last request was issued
        self.first_read: float | None = None
        self.last_read: float | None = None
        self.closed_at: float | None = None  # None while a source runs
        self.reads = self.bytes = self.heartbeats = 0
        self._at_line_start = True

    def request(self, method: str, url: str, headers: Mapping[str, str], body: object) -> None:  # noqa: ARG002
        self.requested = self._clock()
        self.closed_at = None
        self._at_line_start = True

    def read(self, data: bytes) -> None:
        self.last_read = self._clock()
        if self.first_read is None:
            self.first_read = self.last_read
        self.closed_at = None
        self.reads += 1
        self.bytes += len(data)
        if b":" in data:
            self.heartbeats += data.count(b"\n:") + data.count(b"\r:") + (self._at_line_start and data[:1] == b":")
        if data:
            self._at_line_start = data[-1] in b"\r\n"

    def closed(self, error: Exception | None) -> None:  # noqa: ARG002
        self.closed_at = self._clock()
        self._at_line_start = True
