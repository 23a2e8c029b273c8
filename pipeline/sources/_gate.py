"""Schedulers that hold sources back: one by level, and one that runs only when its consumer asks."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from reactivex import abc, typing
from reactivex.disposable import Disposable, SingleAssignmentDisposable
from reactivex.scheduler.periodicscheduler import PeriodicScheduler

_numbers = itertools.count()


class Hold(Protocol):
    """Someone who cannot take more at any time."""

    def has_room(self) -> bool:
        """Whether more may come now; asked on the event loop's thread."""
        ...

    async def room(self) -> None:
        """Return when there is room."""


class Held(PeriodicScheduler):
    """A scheduler that an async source of ours waits at before each read, until all of its `holds` have room."""

    blocking = False  # the consumer blocks its thread: no event loop can run under it

    def __init__(self) -> None:
        super().__init__()
        self.emitting = 0  # a source is emitting what one read gave: it cannot be held back before that is done
        self.tasks: list[asyncio.Task[None]] = []  # of async sources, so that a consumer can wait for their end
        self.holds: list[Hold] = []

    async def passed(self) -> None:
        """Wait until more is wanted."""
        while (full := next((hold for hold in self.holds if not hold.has_room()), None)) is not None:
            await full.room()


class Gate(Held):
    """Holds every scheduled action until `run_due()` is called, and every async source at `passed()` until it is open.

    Sources of ours that are subscribed with a gate schedule one action a read (blocking), or await the gate before each
    read (async). Stock operators hand the scheduler up, so a gate works through them, and their timers run on it.
    """

    def __init__(self, *, blocking: bool) -> None:
        super().__init__()
        self.blocking = blocking
        self.changed = threading.Condition()  # how tell() wakes a consumer that blocks,
        self.arrived = asyncio.Event()  # and one that awaits
        self._loop = None if blocking else asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._due: list[tuple[float, int, SingleAssignmentDisposable, Callable[[], Any]]] = []
        self._open = asyncio.Event()

    # ------------------------------------------------------------------------------------------------ as a scheduler

    @property
    def now(self) -> datetime:
        return self.to_datetime(time.time())

    def schedule(self, action: abc.ScheduledAction[Any], state: Any = None) -> abc.DisposableBase:
        return self._at(time.monotonic(), action, state)

    def schedule_relative(
        self, duetime: typing.RelativeTime, action: abc.ScheduledAction[Any], state: Any = None
    ) -> abc.DisposableBase:
        return self._at(time.monotonic() + max(0.0, self.to_seconds(duetime)), action, state)

    def schedule_absolute(
        self, duetime: typing.AbsoluteTime, action: abc.ScheduledAction[Any], state: Any = None
    ) -> abc.DisposableBase:
        seconds = (self.to_datetime(duetime) - self.now).total_seconds()
        return self._at(time.monotonic() + max(0.0, seconds), action, state)

    def _at(self, due: float, action: abc.ScheduledAction[Any], state: Any) -> abc.DisposableBase:
        handle = SingleAssignmentDisposable()

        def run() -> None:
            if not handle.is_disposed:
                handle.disposable = self.invoke_action(action, state)

        with self.changed:
            heapq.heappush(self._due, (due, next(_numbers), handle, run))
        self.tell()
        return Disposable(handle.dispose)

    # ------------------------------------------------------------------------------------------------ for the consumer

    def run_due(self) -> float | None:
        """Run the action that is due first. 0.0: one ran; else the seconds until one is due, None without any."""
        with self.changed:
            if not self._due:
                return None
            wait = self._due[0][0] - time.monotonic()
            if wait > 0:
                return wait
            run = heapq.heappop(self._due)[3]
        self.emitting += 1
        try:
            run()
        finally:
            self.emitting -= 1
        return 0.0

    def tell(self) -> None:
        """Wake the consumer: something has come, has ended, or is to be run. From any thread."""
        if self._loop is None:
            with self.changed:
                self.changed.notify_all()
        elif threading.get_ident() == self._thread:
            self.arrived.set()
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the consumer with it
                self._loop.call_soon_threadsafe(self.arrived.set)

    def is_due(self) -> bool:
        return bool(self._due) and self._due[0][0] <= time.monotonic()

    def is_here(self) -> bool:
        """Is this the event loop that it was made on, which runs the sources that wait at it?"""
        return asyncio.get_running_loop() is self._loop

    def open(self) -> None:
        """Let async sources read until `shut()`."""
        self._open.set()

    def shut(self) -> None:
        self._open.clear()

    async def passed(self) -> None:
        """Wait until the consumer wants more, and all who hold the source back have room."""
        while True:
            await self._open.wait()
            await super().passed()
            if self._open.is_set():
                return
