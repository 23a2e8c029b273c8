"""What all sources share: a cold Observable of bytes whose subscription can be finished as well as disposed."""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from reactivex import abc
from reactivex.internal import default_error, noop

from operators import Spy, StreamError, current_spy
from operators._leavable import Leavable
from operators._spy import under
from pipeline._redact import redact_error

_sources = itertools.count(1)

DRAIN_BYTES = 64 * 1024
DRAIN_SECONDS = 0.1
"""How much of a body, and for how long, is still read after the stream has ended, so that its connection lives on."""


class Observer(NamedTuple):
    """The three callbacks of a subscriber, with the spy in force while they run."""

    on_next: Callable[[bytes], None]
    tell_error: Callable[[Exception], None]
    on_completed: Callable[[], None]
    spy: Spy | None
    redact: Callable[[Exception | None], None]

    def on_error(self, error: Exception) -> None:
        """Hand the error on, without the secrets that the source has."""
        self.redact(error)
        self.tell_error(error)

    def closed(self, error: Exception | None) -> None:
        """Tell the spy that what was read is closed."""
        if self.spy is not None:
            self.redact(error)
            self.spy.closed(error)


class Guard(Protocol):
    """Told when a body begins and ends to be read; may break it in between, also with what `waiting()` raises."""

    def started(self, abort: Callable[[Exception], bool]) -> None:
        """Reading begins. `abort(error)` ends the stream with that error if it waits for a read now, else answers False.

        Call it from any thread for a blocking source, from the loop's own for an async one.
        """

    def waiting(self) -> None:
        """A read is waited for from now on."""

    def came(self) -> None:
        """It has come and was handed on, and what follows until the next wait is the consumer's time."""

    def stopped(self) -> None:
        """Reading has ended."""


class Subscription(abc.DisposableBase):
    """A running source. `dispose()` closes at once; `finish()` first reads on to the end of the body, within bounds."""

    @abstractmethod
    def finish(self) -> None: ...


class Source(Leavable[bytes]):
    """A cold Observable of reads. Each subscription opens its own body. No error shows its `secrets`."""

    def __init__(self, secrets: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.redact: Callable[[Exception | None], None] = functools.partial(_redact, secrets)
        """Takes the secrets out of an error, of the source or of a stage of ours below it, before anybody sees it."""

    def subscribe(
        self,
        on_next: abc.ObserverBase[bytes] | abc.OnNext[bytes] | None = None,
        on_error: abc.OnError | None = None,
        on_completed: abc.OnCompleted | None = None,
        *,
        scheduler: abc.SchedulerBase | None = None,
    ) -> Subscription:
        observer: Any = on_next
        if hasattr(observer, "on_next"):
            on_next, on_error, on_completed = observer.on_next, observer.on_error, observer.on_completed
        spy = current_spy()
        own = spy and spy.scope("source", next(_sources))
        return self._start(
            Observer(
                under(spy, on_next or noop),  # type: ignore[arg-type]
                under(spy, on_error or default_error),
                under(spy, on_completed or noop),
                own,
                self.redact,
            ),
            scheduler,
        )

    @abstractmethod
    def _start(self, observer: Observer, scheduler: abc.SchedulerBase | None) -> Subscription: ...


def _redact(secrets: tuple[str, ...], error: Exception | None) -> None:
    if isinstance(error, StreamError):
        redact_error(error, secrets)
