"""What looks on while a stream is shown: the view, a timeline, the Stop button."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pipeline.plots._timed import Timed


class Onlooker(Protocol):
    """Is told of one stream."""

    def begin(self, stop: Callable[[], None], /) -> None:
        """The stream is about to be subscribed; `stop` leaves it."""

    def add(self, timed: Timed, /) -> None:
        """An event has come."""

    def end(self, error: Exception | None, mark: str, /) -> None:
        """Nothing more comes. It broke with `error`, or was left before its end and `mark` says how, or has completed."""
