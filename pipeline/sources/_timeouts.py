"""How long to wait for what."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Timeouts(Struct, frozen=True):
    """Limits in seconds; None waits for ever.

    `connect`: until the connection stands. `first`: from then until the response's headers (between two of its
    reads, to a server that sends these in drips). `idle`: between two reads
    after that; any byte counts, a heartbeat too. `first_content` and `idle_content` (off): until the first event that
    says something, and between two of them; heartbeats do not count.

    >>> Timeouts(idle=5)
    Timeouts(connect=10, first=60, idle=5, first_content=None, idle_content=None)
    """

    connect: float | None = 10
    first: float | None = 60
    idle: float | None = 60
    first_content: float | None = None
    idle_content: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and value > 0):
                raise ValueError(f"Timeouts({name}=…) is a number of seconds above 0, or None; not {value!r}")

    def as_extension(self) -> dict[str, Any]:
        """As httpx's transports look them up; "read" stands for the wait for the headers until these have come."""
        return {"connect": self.connect, "pool": self.connect, "write": self.first, "read": self.first}
