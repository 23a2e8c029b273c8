"""Reads from something that is awaited: async iterables, responses of an async client."""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import anyio
from reactivex import abc
from reactivex.internal import default_error

from operators import Spy, StreamTimeout
from operators._operator import raise_unheard
from pipeline.sources._failures import as_stream_error
from pipeline.sources._gate import Held
from pipeline.sources._source import DRAIN_BYTES, DRAIN_SECONDS, Guard, Observer, Source, Subscription

_running: set[asyncio.Task[None]] = set()
"""Tasks that read. The event loop itself holds them only weakly."""

_LATE = 0.01  # seconds after which a timer that is called shows that the loop was blocked

_draining: dict[int, set[asyncio.Task[None]]] = {}
"""Those whose stream has ended and whose connection will be free in a moment, by the id of the client."""


class AsyncBody(Protocol):
    """Something to read that is opened, read and closed in one task."""

    @property
    def phase(self) -> str | None:
        """Which timeout a wait now would run into: "first" or "idle"."""

    @property
    def idle(self) -> float | None:
        """Seconds without a read after which the stream has timed out."""

    @property
    def client(self) -> object:
        """What will use its connection again when it was read to its end; None if nothing will."""

    async def open(self, spy: Spy | None, /) -> AsyncIterator[bytes]: ...

    async def close(self) -> None:
        """Let go of it, opened or not."""


class LoopingSource(Source):
    """Emits the reads of a body from a task on the loop that runs when it is subscribed."""

    def __init__(
        self, make: Callable[[], AsyncBody], guard: Guard | None = None, secrets: tuple[str, ...] = ()
    ) -> None:
        super().__init__(secrets)
        self._make, self._guard = make, guard

    def _start(self, observer: Observer, scheduler: abc.SchedulerBase | None) -> Subscription:
        gate = scheduler if isinstance(scheduler, Held) else None
        if gate is not None and gate.blocking:
            raise TypeError(
                "this stream is read by an event loop: use `async for` or `async with`, not `for` or `with`"
            )
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "an async client or iterable is read by an event loop, and none is running in this thread: subscribe inside "
                "an `async def`; there, and in a notebook, it is `await stream` and not `stream.run()`. Or use a blocking "
                "client (httpx.Client)"
            ) from None
        return _Reading(self._make(), observer, loop, gate, self._guard)


class _Reading(Subscription):
    __slots__ = (
        "_body",
        "_broken",
        "_finishing",
        "_gate",
        "_guard",
        "_left",
        "_loop",
        "_observer",
        "_opened",
        "_scope",
        "_since",
        "_task",
        "_timer",
    )

    def __init__(
        self,
        body: AsyncBody,
        observer: Observer,
        loop: asyncio.AbstractEventLoop,
        gate: Held | None,
        guard: Guard | None,
    ) -> None:
        self._body, self._observer, self._loop, self._gate, self._guard = body, observer, loop, gate, guard
        self._opened = self._left = self._finishing = False
        self._broken: Exception | None = None  # what abort() was called with
        self._since: float | None = None  # when the read that is awaited now was begun
        self._timer: asyncio.TimerHandle | None = None
        self._scope: anyio.CancelScope | None = None  # once the task has begun
        self._task = loop.create_task(self._run())
        _running.add(self._task)
        if gate is not None:
            gate.tasks.append(self._task)
        self._task.add_done_callback(_running.discard)

    async def _run(self) -> None:
        error: Exception | None = None
        try:
            with anyio.CancelScope() as self._scope:
                if not self._left:
                    await self._read_all()
            if self._scope.cancelled_caught:
                error = self._broken
                self._left = error is None
        except asyncio.CancelledError:  # from outside: by whoever cancels the loop's tasks
            self._left = True
            raise
        except _SubscriberRaised as raised:
            self._left = True
            self._report(raised.error)
        except Exception as failure:
            error = as_stream_error(failure, self._body.phase, self._body.idle)
        finally:
            if self._timer is not None:
                self._timer.cancel()
            if self._guard is not None:
                self._guard.stopped()
            with contextlib.suppress(Exception):  # it is gone, and that is what was wanted
                await self._body.close()
            if self._opened:
                self._observer.closed(error)
        if self._left:
            return
        self._left = True
        try:
            if error is None:
                self._observer.on_completed()
            else:
                self._observer.on_error(error)
        except Exception as raised_by_subscriber:
            self._report(raised_by_subscriber)

    async def _read_all(self) -> None:
        body, gate, guard, loop = self._body, self._gate, self._guard, self._loop
        on_next, spy = self._observer.on_next, self._observer.spy
        drained = 0
        if gate is not None:
            await gate.passed()
        await self._until_drained()
        self._opened = True
        if guard is not None:
            guard.started(self.abort)
            guard.waiting()
        self._since = loop.time()
        reads = await body.open(spy)
        if body.idle is not None:
            self._timer = loop.call_later(body.idle, self._watch, body.idle)
        if gate is not None and not self._finishing:
            self._since = None  # what follows is the consumer's time
            if guard is not None:
                guard.came()
            await gate.passed()
        self._since = loop.time()
        if guard is not None:
            guard.waiting()
        async for read in reads:
            self._since = None
            if self._left:
                drained += len(read)
                if drained > DRAIN_BYTES:
                    return
            else:
                try:
                    if spy is not None:
                        spy.read(read)
                    if gate is None:
                        on_next(read)
                    else:
                        gate.emitting += 1
                        try:
                            on_next(read)
                        finally:
                            gate.emitting -= 1
                except Exception as error:
                    raise _SubscriberRaised(error) from None
            if guard is not None:
                guard.came()
            if self._left and not self._finishing:
                return
            if gate is not None and not self._finishing:
                await gate.passed()
            self._since = loop.time()
            if guard is not None:
                guard.waiting()
        self._since = None
        if guard is not None:
            guard.came()

    async def _until_drained(self) -> None:
        """Wait for the connections of streams that have ended: they come sooner than a new one would be made."""
        found = [task for task in _draining.get(id(self._body.client), ()) if task.get_loop() is self._loop]
        if found:
            await asyncio.wait(found)

    def _watch(self, idle: float, suspect: float | None = None) -> None:
        """Time out if the read that is awaited has taken too long; else look again when it could have."""
        since = self._since
        now = self._loop.time()
        late = now - self._timer.when() if self._timer is not None else 0.0
        if since is None or now - since < idle:
            self._timer = self._loop.call_at((now if since is None else since) + idle, self._watch, idle)
        elif late > _LATE and since != suspect:  # something blocked the loop, and what came meanwhile is not read yet
            self._timer = self._loop.call_later(late, self._watch, idle, since)
        else:
            self.abort(_idle_timeout(idle))

    def abort(self, error: Exception) -> bool:
        """End the stream with this error if it waits for a read now; from the loop's own thread."""
        if self._since is None or self._left or self._broken is not None:
            return False
        self._broken = error
        if self._scope is not None:
            self._scope.cancel()
        return True

    def finish(self) -> None:
        if self._body.client is None:
            self.dispose()
        elif not self._left:
            self._left = self._finishing = True
            self._call(self._drain)

    def _drain(self) -> None:
        self._loop.call_later(DRAIN_SECONDS, self._cancel)
        key = id(self._body.client)
        _draining.setdefault(key, set()).add(self._task)
        self._task.add_done_callback(lambda task: _drained(key, task))

    def dispose(self) -> None:
        if not self._left or self._finishing:
            self._left, self._finishing = True, False
            self._call(self._cancel)

    def _cancel(self) -> None:
        """Cancel by a scope: a bare `task.cancel()` may hit the client while it gives a connection back, and lose it.

        A task that has not begun sees the flag when it does, and one that is in on_next when that returns.
        """
        if self._scope is not None and not self._task.done() and self._task is not asyncio.current_task(self._loop):
            self._scope.cancel()

    def _call(self, action: Callable[[], Any]) -> None:
        """Run on the loop: at once if it runs here, else as soon as it does."""
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if here:
            action()
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the task with it
                self._loop.call_soon_threadsafe(action)

    def _report(self, error: Exception) -> None:
        if _was_unheard(error):
            what, error = (
                "a stream ended with an error, and was subscribed without on_error",
                error.with_traceback(None),
            )
        else:
            what = "a subscriber raised; its stream was closed"
        # without the task: from Python 3.12 on it would be told in that task's context, which is entered already
        self._loop.call_exception_handler({"message": what, "exception": error})


def _was_unheard(error: Exception) -> bool:
    """Was it raised for want of an on_error?"""
    codes = {frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)}
    return not codes.isdisjoint({default_error.__code__, raise_unheard.__code__})


def _drained(key: int, task: asyncio.Task[None]) -> None:
    _draining[key].discard(task)
    if not _draining[key]:
        del _draining[key]


class _SubscriberRaised(Exception):  # noqa: N818 - no error of ours, but what carries one
    def __init__(self, error: Exception) -> None:
        self.error = error


def _idle_timeout(idle: float) -> StreamTimeout:
    timeout = StreamTimeout(f"nothing came for {idle:g} s")
    timeout.phase = "idle"
    return timeout
