"""One sink on one stream: how it is called, and where it runs.

A sink without a policy is called where the stream emits. One with a policy has a buffer, and is called from it: by a
thread of its own; if it is async, by a task; in virtual time, by the scheduler.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from operators import LimitExceeded
from reactivex.disposable import SerialDisposable
from reactivex.scheduler import VirtualTimeScheduler

from pipeline.sharing._policies import Paced
from pipeline.sharing._progress import Progress, call_on
from pipeline.sharing._sink import Calls

log = logging.getLogger("rxchat.sharing")

_ToDo: TypeAlias = Callable[[], Any] | float | None
"""A call to make; or the seconds to wait for one; or None, to wait until something comes."""

_running: set[asyncio.Task[None]] = set()
"""Tasks that deliver. The event loop itself holds them only weakly."""


class Lane(ABC):
    """One sink on one stream. It is `over` when the sink has had the end, or has been cut off."""

    over = False
    lossless = False
    has_room = True
    waiting = 0

    def __init__(self, calls: Calls) -> None:
        self.name, self._calls = calls.name, calls
        self._error: Exception | None = None  # how the stream ended

    @abstractmethod
    def offer(self, event: Any) -> None:
        """An event for the sink. Never waits, but for a sink without a policy."""

    @abstractmethod
    def end(self, error: Exception | None) -> None:
        """The stream's end, for the sink to be told after all that waits for it."""

    @abstractmethod
    def cut(self) -> None:
        """Let the sink have no more."""

    def runs_here(self) -> bool:
        """Whether the sink cannot go on before the calling thread does: so nobody may wait for it here."""
        return False

    def _end_call(self) -> Callable[[], Any]:
        return self._calls.on_completed if self._error is None else partial(self._calls.on_error, self._error)

    def _failed(self, raised: BaseException) -> None:
        """The sink raised: it is cut off. One that only raises the stream's own error on, as Rx does, is no news."""
        if raised is not self._error:
            log.error("the sink %s raised and is cut off; the others go on", self.name, exc_info=raised)
        self.cut()


class Direct(Lane):
    """Calls its sink on the thread that emits."""

    def offer(self, event: Any) -> None:
        if not self.over:
            try:
                self._calls.on_next(event)
            except Exception as raised:
                self._failed(raised)

    def end(self, error: Exception | None) -> None:
        if not self.over:
            self._error = error
            try:
                self._end_call()()
            except Exception as raised:
                self._failed(raised)
            self.over = True

    def cut(self) -> None:
        self.over = True


class Queued(Lane):
    """A sink behind a buffer."""

    def __init__(self, paced: Paced, progress: Progress, now: Callable[[], float]) -> None:
        super().__init__(paced.calls)
        self._buffer, self._progress, self._now = paced.buffer(), progress, now
        self.lossless = self._buffer.lossless
        self._changed = threading.Condition()  # its lock guards the buffer and the end
        self._ended = self._told = False

    @property
    def waiting(self) -> int:  # type: ignore[override]
        return len(self._buffer)

    @property
    def has_room(self) -> bool:  # type: ignore[override]
        return self._ended or self.over or not self._buffer.full

    def offer(self, event: Any) -> None:
        if self._buffer.bursting:
            self.end(LimitExceeded(f"the sink {self.name} is too slow for a stream that cannot be held back"))
            return
        with self._changed:
            if self._ended or self.over:
                return
            now, first = self._now(), not len(self._buffer)
            self._buffer.put(event, now)
            news = first or self._buffer.ready_in(now) == 0.0
        if news:
            self._wake()

    def end(self, error: Exception | None) -> None:
        with self._changed:
            if self._ended or self.over:
                return
            self._error, self._ended = error, True
        self._wake()

    def cut(self) -> None:
        self._close()
        self._wake()

    @abstractmethod
    def _wake(self) -> None:
        """There is something to do."""

    def _to_do(self) -> _ToDo:
        """What is to be done now. A call is to be made by the caller, who holds no lock."""
        with self._changed:
            if self.over:
                return None
            wait = self._buffer.ready_in(self._now())
            if wait is None and self._ended:
                self._told = True
                return self._end_call()
            if wait is None or (wait > 0.0 and not self._ended):
                return wait
            was_full = self._buffer.full
            event = self._buffer.take()
        if was_full:
            self._progress.changed()
        return partial(self._calls.on_next, event)

    def _called(self) -> None:
        """A call has returned."""
        if self._told:
            self._close()

    def _close(self) -> None:
        with self._changed:
            self.over = True
        self._progress.changed()


class Worker(Queued):
    """Calls its sink from a thread of its own, which begins with the first event and lives until the lane is over."""

    def __init__(self, paced: Paced, progress: Progress) -> None:
        super().__init__(paced, progress, time.monotonic)
        self._context = contextvars.copy_context()
        self._thread: threading.Thread | None = None

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()
            if self._thread is None and not self.over:
                run = partial(self._context.run, self._run)
                self._thread = threading.Thread(target=run, name=f"rxchat sink {self.name}", daemon=True)
                self._thread.start()

    def runs_here(self) -> bool:
        return threading.current_thread() is self._thread

    def _run(self) -> None:
        while (call := self._next_call()) is not None:
            try:
                call()
            except BaseException as raised:  # SystemExit too: nobody else would tell that this sink gets no more
                self._failed(raised)
            self._called()

    def _next_call(self) -> Callable[[], Any] | None:
        with self._changed:
            while not self.over:
                to_do = self._to_do()
                if callable(to_do):
                    return to_do
                self._changed.wait(to_do)
        return None


class Task(Queued):
    """Calls its sink, one that is async, from a task on the loop that runs when the stream is subscribed."""

    def __init__(self, paced: Paced, progress: Progress, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(paced, progress, loop.time)
        self._loop = loop
        self._thread = threading.get_ident()
        self._news = asyncio.Event()
        self._task = loop.create_task(self._run(), name=f"rxchat sink {self.name}")
        _running.add(self._task)
        self._task.add_done_callback(_running.discard)

    def _wake(self) -> None:
        self._on_loop(self._news.set)

    def runs_here(self) -> bool:
        return threading.get_ident() == self._thread

    def cut(self) -> None:
        super().cut()
        self._on_loop(self._cancel)

    def _cancel(self) -> None:
        if self._task is not asyncio.current_task(self._loop):  # else the sink sees to its own end
            self._task.cancel()

    def _on_loop(self, action: Callable[[], object]) -> None:
        if threading.get_ident() == self._thread:
            action()
        else:
            call_on(self._loop, action)

    async def _run(self) -> None:
        try:
            while not self.over:
                self._news.clear()
                to_do = self._to_do()
                if callable(to_do):
                    await self._call(to_do)
                else:
                    await self._sleep(to_do)
        finally:
            self._close()

    async def _call(self, call: Callable[[], Any]) -> None:
        try:
            result = call()
            if inspect.isawaitable(result):
                await result
        except BaseException as raised:
            if self._task.cancelling():  # by us or by the loop's end, and not by the sink itself
                raise
            self._failed(raised)
        self._called()

    async def _sleep(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass


class Virtual(Queued):
    """Calls its sink from a scheduler of virtual time: at once, or when a timer of that scheduler says so."""

    def __init__(self, paced: Paced, progress: Progress, scheduler: VirtualTimeScheduler) -> None:
        super().__init__(paced, progress, lambda: scheduler.to_seconds(scheduler.now))
        self._scheduler = scheduler
        self._timer = SerialDisposable()
        self._calling = False

    def cut(self) -> None:
        super().cut()
        self._timer.dispose()

    def runs_here(self) -> bool:
        return True

    def _wake(self) -> None:
        if self._calling:
            return
        self._calling = True
        try:
            while callable(to_do := self._to_do()):
                self._make(to_do)
        finally:
            self._calling = False
        if to_do is not None:
            self._timer.disposable = self._scheduler.schedule_relative(to_do, lambda *_: self._wake())

    def _make(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as raised:
            self._failed(raised)
        self._called()
