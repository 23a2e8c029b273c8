"""A request that may be tried again, as long as nothing of its answer has been seen."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from reactivex import Observable, abc
from reactivex.internal import default_error, noop
from reactivex.scheduler import VirtualTimeScheduler
from tenacity import RetryCallState, wait_random_exponential

from operators import Event, LimitExceeded, Restarted, Retrying, StreamError, current_spy
from operators._given import check_count, check_seconds
from operators._leavable import Leavable
from operators._operator import on_trampoline
from operators._spy import under, watched_by
from pipeline.sources._gate import Gate

log = logging.getLogger("rxchat.retry")

_streams = itertools.count(1)


class Retry(Struct, frozen=True):
    """When to try again, and how often.

    `attempts` counts requests, so 1 never retries. Between two of them it waits a random time between 0 and `backoff`
    seconds, twice, four times that (full jitter), or what the server asks for in Retry-After; never more than `max_wait` seconds: a server
    that asks for more ends the stream at once, with the number in the error.

    `on_break="restart"` tries again even after visible output; a `Restarted` event then tells to begin anew.

    >>> Retry(attempts=1)
    Retry(attempts=1, backoff=0.5, max_wait=60, on_break='raise')
    """

    attempts: int = 3
    backoff: float = 0.5
    max_wait: float = 60
    on_break: Literal["raise", "restart"] = "raise"

    def __post_init__(self) -> None:
        check_count("Retry(attempts=…)", self.attempts)
        check_seconds("Retry(backoff=…)", self.backoff)
        check_seconds("Retry(max_wait=…)", self.max_wait)
        if self.on_break not in {"raise", "restart"}:
            raise ValueError(f'Retry(on_break=…) is "raise" or "restart", not {self.on_break!r}')

    def wait(self, attempt: int, error: StreamError) -> float | None:
        """Seconds to wait after `attempt` (from 1) failed; None if there shall be no other one."""
        if attempt >= self.attempts or not error.retryable:
            return None
        if error.retry_after is not None:
            if error.retry_after <= self.max_wait:
                return error.retry_after
            error.add_note(
                f"not tried again: it asks to wait {error.retry_after:g} s, Retry(max_wait={self.max_wait:g}) allows less"
            )
            return None
        state = RetryCallState(retry_object=None, fn=None, args=(), kwargs={})  # type: ignore[arg-type]
        state.attempt_number = attempt
        return float(wait_random_exponential(multiplier=self.backoff, max=self.max_wait)(state))


Attempt: TypeAlias = Callable[[int, Callable[[], None]], Observable[Event]]
"""`attempt(n, seen)` makes the stream of the n-th attempt, which calls `seen()` before it emits what cannot be taken back."""


class Attempts(Leavable[Event]):
    """One stream over several attempts, each with operators' state of its own."""

    def __init__(
        self,
        attempt: Attempt,
        retry: Retry,
        *,
        looping: bool = False,
        until: float | None = None,
    ) -> None:
        super().__init__()
        self._attempt, self._retry, self._looping, self._until = attempt, retry, looping, until

    def subscribe(
        self,
        on_next: abc.ObserverBase[Event] | abc.OnNext[Event] | None = None,
        on_error: abc.OnError | None = None,
        on_completed: abc.OnCompleted | None = None,
        *,
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        receive: Any = on_next
        if hasattr(receive, "on_next"):
            receive, on_error, on_completed = receive.on_next, receive.on_error, receive.on_completed
        trying = _Trying(
            self._attempt,
            self._retry,
            _Wait(scheduler, looping=self._looping),
            receive or noop,
            on_error or default_error,
            on_completed or noop,
            scheduler,
            self._until,
        )
        on_trampoline(trying.begin)
        return trying


class _Wait:
    """Waits on what the stream runs on: virtual time, a gate, an event loop, or the thread itself."""

    __slots__ = ("_left", "_looping", "_scheduler", "_timer")

    def __init__(self, scheduler: abc.SchedulerBase | None, *, looping: bool) -> None:
        self._scheduler, self._looping = scheduler, looping
        self._left = None if looping else threading.Event()
        self._timer: Any = None

    def then(self, seconds: float, action: Callable[[], None]) -> None:
        if isinstance(self._scheduler, (VirtualTimeScheduler, Gate)) and not (
            self._looping and isinstance(self._scheduler, Gate)
        ):
            self._timer = self._scheduler.schedule_relative(seconds, lambda *_: action())
        elif self._left is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, action)
        elif not self._left.wait(seconds):
            action()

    def leave(self) -> None:
        if self._left is not None:
            self._left.set()
        if self._timer is not None:
            (self._timer.dispose if hasattr(self._timer, "dispose") else self._timer.cancel)()


class _Trying(abc.DisposableBase):
    __slots__ = (
        "_attempt",
        "_current",
        "_left",
        "_number",
        "_on_completed",
        "_on_error",
        "_on_next",
        "_retry",
        "_scheduler",
        "_spy",
        "_until",
        "_visible",
        "_wait",
    )

    def __init__(
        self,
        attempt: Attempt,
        retry: Retry,
        wait: _Wait,
        on_next: Callable[[Event], None],
        on_error: Callable[[Exception], None],
        on_completed: Callable[[], None],
        scheduler: abc.SchedulerBase | None,
        until: float | None,
    ) -> None:
        self._attempt, self._retry, self._wait, self._scheduler, self._until = attempt, retry, wait, scheduler, until
        self._on_next, self._on_error, self._on_completed = on_next, on_error, on_completed
        spy = current_spy()
        self._spy = spy and spy.scope("stream", next(_streams))
        self._current: abc.DisposableBase | None = None
        self._number = 0
        self._visible = self._left = False

    def begin(self) -> None:
        self._number = number = self._number + 1
        with watched_by(self._spy and self._spy.scope("attempt", number)):
            subscription = self._attempt(number, self._seen).subscribe(
                self._on_next, under(self._spy, self._failed), self._on_completed, scheduler=self._scheduler
            )
        if number == self._number:  # else it has ended, and been tried again, while it was subscribed
            self._current = subscription
        if self._left:  # looked at last, for a dispose may come from another thread at any time
            subscription.dispose()

    def _seen(self) -> None:
        self._visible = True

    def _failed(self, error: Exception) -> None:
        wait = self._wait_after(error)
        if wait is None:
            self._on_error(error)
            return
        if self._until is not None and time.monotonic() + wait >= self._until:
            self._on_error(_no_time_left(wait, error))
            return
        log.warning("attempt %d failed (%s); trying again in %.2f s", self._number, error, wait)
        self._on_next(Retrying(self._number + 1, wait, str(error)))
        if self._visible and not self._left:
            self._visible = False
            self._on_next(Restarted())
        if not self._left:
            self._wait.then(wait, self._again)

    def _wait_after(self, error: Exception) -> float | None:
        if not isinstance(error, StreamError) or (self._visible and self._retry.on_break == "raise"):
            return None
        return self._retry.wait(self._number, error)

    def _again(self) -> None:
        if not self._left:
            self.begin()

    def dispose(self) -> None:
        self._left = True
        self._wait.leave()
        if self._current is not None:
            self._current.dispose()


def _no_time_left(wait: float, error: Exception) -> LimitExceeded:
    limit = LimitExceeded(f"the time was up before another attempt could be made, {wait:.1f} s after: {error}")
    limit.partial = error.partial if isinstance(error, StreamError) else ()
    limit.__cause__ = error
    return limit
