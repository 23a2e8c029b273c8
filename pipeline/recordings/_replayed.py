"""A recording → Observable[bytes]: the same reads again."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Literal, TypeAlias

from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable
from reactivex.scheduler import VirtualTimeScheduler
from reactivex.scheduler.trampolinescheduler import TrampolineScheduler

from operators import Spy
from pipeline.recordings._recording import RecordedEnd, RecordedRead, Recording
from pipeline.sources._blocking import BlockingSource
from pipeline.sources._gate import Gate, Held
from pipeline.sources._source import Observer, Subscription

Speed: TypeAlias = float | Literal["virtual"]


def replayed(
    path: str | os.PathLike[str] | Recording,
    *,
    speed: Speed = 1,
    stream: int = 1,
    attempt: int | None = None,
    read_size: int | None = None,
) -> Observable[bytes]:
    r"""From a recording, or a plain body (`curl -N … > x.sse`), to its reads, cut and timed as they came.

    `speed` 1 is real time, 2 twice as fast, 0 at once. On a VirtualTimeScheduler or TestScheduler given to subscribe,
    the reads come at their offsets in virtual time; "virtual" is speed 1 that insists on one. Without a scheduler it
    blocks the subscribing thread, on any other one (an AsyncIOScheduler, say) it does not. `stream` is which one of the
    recording, `attempt` which one of the stream (None: the last, whose answer counted). `read_size` cuts each read into
    pieces of that many bytes, at the same time.

    Ends as the recording did: it completes, or breaks with an error of the same kind. A recording that was cut short
    completes after its last read. The file is read when this is called. Raises OSError, and ValueError for a file
    that is no recording, for a stream or an attempt that is not in it, and for a speed below 0; TypeError when "virtual"
    is subscribed without virtual time.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"data: 1\n\n")
    ...     file.flush()
    ...     replayed(file.name, read_size=8).subscribe(print) and None
    b'data: 1\n'
    b'\n'
    """
    if speed != "virtual" and not (isinstance(speed, (int, float)) and 0 <= speed < float("inf")):  # type: ignore[redundant-expr]
        raise ValueError(f'speed is a number of at least 0, or "virtual"; not {speed!r}')
    if read_size is not None and read_size < 1:
        raise ValueError(f"read_size is a number of bytes of at least 1, not {read_size}")
    recording = path if isinstance(path, Recording) else Recording.load(path)
    found = recording.stream(stream)
    numbers = [one.number for one in found.attempts]
    if attempt is not None and attempt not in numbers:
        raise ValueError(f"there is no attempt {attempt} in stream {stream}; there are: {', '.join(map(str, numbers))}")
    chosen = found.last if attempt is None else found.attempts[numbers.index(attempt)]
    reads = chosen.reads if read_size is None else _cut(chosen.reads, read_size)
    last = reads[-1].at if reads else 0.0
    return Replayed(reads, chosen.end or RecordedEnd(last), speed)


def _cut(reads: Sequence[RecordedRead], size: int) -> list[RecordedRead]:
    return [RecordedRead(r.at, r.data[at : at + size]) for r in reads for at in range(0, len(r.data), size)]


class Replayed(BlockingSource):
    """The source that `replayed()` makes."""

    def __init__(self, reads: Sequence[RecordedRead], end: RecordedEnd, speed: Speed) -> None:
        self._reads, self._end, self._speed = reads, end, speed
        self._rate = 1.0 if speed == "virtual" else float(speed)
        super().__init__(lambda: _Body(reads, end, self._rate))

    def _start(self, observer: Observer, scheduler: abc.SchedulerBase | None) -> Subscription:
        if self._speed == "virtual" and not isinstance(scheduler, VirtualTimeScheduler):
            raise TypeError('speed="virtual" plays on a VirtualTimeScheduler: subscribe(…, scheduler=…) takes it')
        clock = scheduler
        if isinstance(scheduler, Held) and not isinstance(scheduler, Gate):  # it schedules as another one does, or none
            clock = getattr(scheduler, "inner", None)
        if clock is None or isinstance(clock, TrampolineScheduler) or self._rate == 0:
            return super()._start(observer, scheduler)
        return _Timed(self._reads, self._end, self._rate, observer, clock)


class _Body:
    """The reads, each when it is due; waiting blocks the thread."""

    phase: str | None = None
    idle: float | None = None
    client = None

    def __init__(self, reads: Sequence[RecordedRead], end: RecordedEnd, rate: float) -> None:
        self._reads, self._end, self._rate = reads, end, rate
        self._was_cut = threading.Event()

    def open(self, spy: Spy | None) -> Iterator[bytes]:  # noqa: ARG002
        began = time.monotonic()
        for read in self._reads:
            if self._waited(began, read.at):
                return
            yield read.data
        if not self._waited(began, self._end.at) and self._end.failure is not None:
            raise self._end.failure.error()

    def _waited(self, began: float, at: float) -> bool:
        """Wait until it is due; True if that was cut short."""
        if self._rate == 0:
            return False
        return self._was_cut.wait(max(0.0, began + at / self._rate - time.monotonic()))

    def close(self) -> None: ...

    def cut(self) -> None:
        self._was_cut.set()


class _Timed(Subscription):
    """The reads, each when it is due by the clock of a scheduler."""

    def __init__(
        self,
        reads: Sequence[RecordedRead],
        end: RecordedEnd,
        rate: float,
        observer: Observer,
        scheduler: abc.SchedulerBase,
    ) -> None:
        self._reads, self._end, self._rate, self._observer, self._scheduler = reads, end, rate, observer, scheduler
        self._began = scheduler.now
        self._next = 0
        self._left = self._closed = False
        self._timer = SerialDisposable()
        self._wait()

    def _wait(self) -> None:
        at = self._reads[self._next].at if self._next < len(self._reads) else self._end.at
        due = self._began + timedelta(seconds=at / self._rate)
        self._timer.disposable = self._scheduler.schedule_relative(
            max(timedelta(0), due - self._scheduler.now), self._run
        )

    def _run(self, *_: Any) -> None:
        """All that is due: a virtual clock is moved on by too many actions at one time. Under a gate, one read."""
        while not self._left:
            if self._next == len(self._reads):
                self._ended()
                return
            read = self._reads[self._next]
            self._next += 1
            self._emit(read.data)
            if self._next == len(self._reads) or isinstance(self._scheduler, Gate) or not self._is_due():
                break
        if not self._left:
            self._wait()

    def _is_due(self) -> bool:
        due = self._began + timedelta(seconds=self._reads[self._next].at / self._rate)
        return due <= self._scheduler.now

    def _emit(self, data: bytes) -> None:
        try:
            if self._observer.spy is not None:
                self._observer.spy.read(data)
            self._observer.on_next(data)
        except BaseException:
            self.dispose()
            raise

    def _ended(self) -> None:
        error = self._end.failure.error() if self._end.failure is not None else None
        self._left = True
        self._close(error)
        if error is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(error)

    def finish(self) -> None:
        self.dispose()

    def dispose(self) -> None:
        self._left = True
        self._timer.dispose()
        self._close(None)

    def _close(self, error: Exception | None) -> None:
        if not self._closed:
            self._closed = True
            self._observer.closed(error)
