"""Reads from something that blocks: iterables, files, responses of a blocking client.

The plan. A reading is a row of steps, each of which is one read. Whoever disposes says so (`_left`) and then looks whether
a step runs (`_thread`); a step says that it runs and then looks whether it was left. So one of the two always sees the
other, without a lock: a body that no step runs on is closed by the dispose, any other one is cut, and the step
that runs closes it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

from reactivex import abc
from reactivex.scheduler import CurrentThreadScheduler, EventLoopScheduler

from operators import Spy
from pipeline.sources._failures import as_stream_error
from pipeline.sources._gate import Gate
from pipeline.sources._source import DRAIN_BYTES, DRAIN_SECONDS, Guard, Observer, Source, Subscription


class Body(Protocol):
    """Something to read that is opened, read and closed on one thread, and may be cut from any."""

    @property
    def phase(self) -> str | None:
        """Which timeout a wait now would run into: "first" or "idle"."""
        ...

    @property
    def idle(self) -> float | None:
        """Seconds without a read after which it raises, where that is known."""
        ...

    @property
    def client(self) -> object:
        """What will use its connection again when it was read to its end; None if nothing will."""
        ...

    def open(self, spy: Spy | None, /) -> Iterator[bytes]:
        """Open it and begin to read."""
        ...

    def close(self) -> None:
        """Let go of it, opened or not; while no read is running."""

    def cut(self) -> None:
        """Make a read that blocks end at once, as far as that is possible; called from another thread."""


_draining: dict[int, set[threading.Event]] = {}
"""One for each stream that has ended and whose connection will be free in a moment, by the id of the client."""
_draining_lock = threading.Lock()


class BlockingSource(Source):
    """Emits the reads of a body on the scheduler given to subscribe, else on the current thread."""

    def __init__(self, make: Callable[[], Body], guard: Guard | None = None, secrets: tuple[str, ...] = ()) -> None:
        super().__init__(secrets)
        self._make, self._guard = make, guard

    def _start(self, observer: Observer, scheduler: abc.SchedulerBase | None) -> Subscription:
        reading = _Reading(self._make(), observer, self._guard)
        if isinstance(scheduler, Gate):
            reading.schedule_next(scheduler)
        else:
            free(scheduler or CurrentThreadScheduler.singleton()).schedule(lambda *_: reading.run())
        return reading


def free(scheduler: abc.SchedulerBase) -> abc.SchedulerBase:
    """The scheduler, or one like it on another thread if its only thread will have to bring the dispose.

    `subscribe_on(NewThreadScheduler())`, or a ThreadPoolScheduler, subscribes on a thread made for that and disposes on it
    too: what blocks there could not be left.
    """
    if isinstance(scheduler, EventLoopScheduler) and scheduler._exit_if_empty:  # noqa: SLF001
        return EventLoopScheduler(scheduler._thread_factory, exit_if_empty=True)  # noqa: SLF001
    return scheduler


@contextlib.contextmanager
def cut_after(seconds: float, cut: Callable[[], object]) -> Iterator[None]:
    """Cut what is read inside, from a thread of its own, if it takes longer than that."""
    watchdog = threading.Timer(seconds, cut)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


class _Reading(Subscription):
    def __init__(self, body: Body, observer: Observer, guard: Guard | None) -> None:
        self._body, self._observer, self._guard = body, observer, guard
        self._reads: Iterator[bytes] | None = None
        self._thread: int | None = None  # the thread that runs a step now
        self._waiting = False  # and waits for its read
        self._opened = self._left = self._closed = False
        self._drained: threading.Event | None = None  # the body is read on, and it will be set when that is over
        self._broken: Exception | None = None  # what abort() was called with
        self._lock = threading.Lock()

    def run(self) -> None:
        """Read to the end."""
        self._steps(once=False)

    def schedule_next(self, gate: Gate) -> None:
        gate.schedule(lambda *_: self.schedule_next(gate) if self._steps(once=True) else None)

    def _steps(self, *, once: bool) -> bool:
        """Read once, or to the end; True while there may be more."""
        self._thread = threading.get_ident()
        try:
            return self._read(once=once)
        except BaseException:
            self._left = True
            raise
        finally:
            self._thread = None
            if self._left:
                self._close()

    def _read(self, *, once: bool) -> bool:
        guard, spy, on_next = self._guard, self._observer.spy, self._observer.on_next
        while not self._left:
            read = error = None
            self._waiting = True
            try:
                reads = self._reads
                if reads is None:
                    reads = self._reads = self._open()
                if guard is not None:
                    guard.waiting()
                if not self._left:
                    read = next(reads, None)
            except Exception as failure:
                error = as_stream_error(failure, self._body.phase, self._body.idle)
            finally:
                self._waiting = False
            error = self._broken or error
            if read is None or error is not None:
                if guard is not None:
                    guard.came()
                self._end(error)
                break
            if spy is not None:
                spy.read(read)
            on_next(read)
            if guard is not None:
                guard.came()
            if self._drained is not None:
                self._drain()
            if once:
                break
        return not self._left

    def _open(self) -> Iterator[bytes]:
        _until_drained(self._body.client)
        self._opened = True
        if self._guard is not None:
            self._guard.started(self.abort)
            self._guard.waiting()
        return self._body.open(self._observer.spy)

    def _end(self, error: Exception | None) -> None:
        self._close(error)
        if self._left:
            return
        self._left = True
        if error is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(error)

    def _drain(self) -> None:
        """Read on to the end of the body, so that its connection can be used again; not for long, and not for much."""
        drained = 0
        # What is raised comes too late: the stream has had its end already.
        with cut_after(DRAIN_SECONDS, self._body.cut), contextlib.suppress(Exception):
            for read in self._reads or ():
                drained += len(read)
                if drained > DRAIN_BYTES:
                    break

    def abort(self, error: Exception) -> bool:
        """End the stream with this error if it waits for a read now; from any thread."""
        if not self._waiting or self._left:
            return False
        self._broken = self._broken or error
        self._body.cut()
        return True

    def finish(self) -> None:
        if self._body.client is not None and self._thread == threading.get_ident() and not self._left:
            self._drained = _begin_drain(self._body.client)
        self.dispose()

    def dispose(self) -> None:
        self._left = True
        thread = self._thread
        if thread is None:
            self._close()
        elif thread != threading.get_ident() and self._drained is None:
            self._body.cut()

    def _close(self, error: Exception | None = None) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        if self._guard is not None:
            self._guard.stopped()
        with contextlib.suppress(Exception):  # it is gone, and that is what was wanted
            self._body.close()
        if self._drained is not None:
            _end_drain(self._body.client, self._drained)
        if self._opened:
            self._observer.closed(error)


def _begin_drain(client: object) -> threading.Event:
    drained = threading.Event()
    with _draining_lock:
        _draining.setdefault(id(client), set()).add(drained)
    return drained


def _end_drain(client: object, drained: threading.Event) -> None:
    with _draining_lock:
        found = _draining[id(client)]
        found.discard(drained)
        if not found:
            del _draining[id(client)]
    drained.set()


def _until_drained(client: object) -> None:
    """Wait for the connections of streams that have ended: they come sooner than a new one would be made."""
    with _draining_lock:
        found = list(_draining.get(id(client), ()))
    for drained in found:
        drained.wait(2 * DRAIN_SECONDS)
