"""Pull instead of push: a stream as an iterator and as an async iterator."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections import deque
from collections.abc import AsyncIterable, Callable, Iterable
from types import TracebackType
from typing import Any, BinaryIO, Generic, Protocol, TypeVar, overload

from reactivex import Observable, abc

from operators import LimitExceeded
from pipeline.sources._gate import Gate
from pipeline.sources._reads import reads

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
T = TypeVar("T")

LIMIT = 65_536
"""Items that may wait for the consumer of a stream that cannot be held back."""


class _Inbox(abc.ObserverBase[T]):
    """What has come and is not used up. Knows nothing of the Pull, so that a forgotten Pull can go."""

    def __init__(self, gate: Gate, limit: int) -> None:
        self.gate, self.limit = gate, limit
        self.items: deque[T] = deque()
        self.error: Exception | None = None
        self.ended = False
        self.subscription: abc.DisposableBase | None = None

    def on_next(self, value: T) -> None:
        if self.ended:
            return
        if len(self.items) >= self.limit and not self.gate.emitting:
            self.on_error(
                LimitExceeded(
                    f"{self.limit} items wait: the stream cannot be held back, and is not used up fast enough"
                )
            )
            return
        self.items.append(value)
        self.gate.shut()  # or a source that never waits would read on before the consumer had its turn
        self.gate.tell()

    def on_error(self, error: Exception) -> None:
        if not self.ended:
            self.error, self.ended = error, True
            self.gate.tell()
            self.dispose()

    def on_completed(self) -> None:
        self.ended = True
        self.gate.tell()

    def is_silent(self) -> bool:
        """Nothing is there, and something may still come."""
        return not self.items and not self.ended

    def dispose(self) -> None:
        self.ended = True
        self.gate.tell()  # who waits in another thread or task
        if self.subscription is not None:
            self.subscription.dispose()


class Pull(Generic[T]):
    """An iterator, an async iterator and a context manager over one subscription, which is made at the first `next`.

    The next read happens only when what came of the last one is used up. It closes when it is exhausted or broken, on
    `close()` or `aclose()`, on leaving the `with`, and when nobody refers to it any more.
    """

    def __init__(self, stream: Observable[T], limit: int) -> None:
        self._stream, self._limit = stream, limit
        self._inbox: _Inbox[T] | None = None
        self._closed = False

    def _begin(self, *, blocking: bool) -> _Inbox[T]:
        if self._inbox is None:
            gate = Gate(blocking=blocking)
            inbox = self._inbox = _Inbox(gate, self._limit)
            weakref.finalize(self, inbox.dispose).atexit = False
            try:
                inbox.subscription = self._stream.subscribe(inbox, scheduler=gate)
            except BaseException:
                self._closed = inbox.ended = True
                raise
            if inbox.ended:  # it came to its end inside subscribe, before there was anything to dispose
                inbox.dispose()
        elif self._inbox.gate.blocking is not blocking:
            raise TypeError("a Pull is used either with `for` or with `async for`, not with both")
        return self._inbox

    # ------------------------------------------------------------------------------------------------ blocking

    def __iter__(self) -> Pull[T]:
        return self

    def __next__(self) -> T:
        if self._closed:
            raise StopIteration
        inbox = self._begin(blocking=True)
        while not inbox.items:
            if inbox.ended:
                raise self._end(inbox) or StopIteration
            wait = self._run_due(inbox)
            if wait is None or wait > 0:
                with inbox.gate.changed:
                    if inbox.is_silent() and not inbox.gate.is_due():
                        inbox.gate.changed.wait(wait)
        return inbox.items.popleft()

    def _run_due(self, inbox: _Inbox[T]) -> float | None:
        try:
            return inbox.gate.run_due()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the stream: its source is closed at once."""
        self._closed = True
        if self._inbox is not None:
            self._inbox.items.clear()
            self._inbox.dispose()

    def __enter__(self) -> Pull[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------ async

    def __aiter__(self) -> Pull[T]:
        return self

    async def __anext__(self) -> T:
        if self._closed:
            raise StopAsyncIteration
        inbox = self._begin(blocking=False)
        arrived = inbox.gate.arrived
        while not inbox.items:
            if inbox.ended:
                raise self._end(inbox) or StopAsyncIteration
            if not inbox.gate.is_here():
                raise RuntimeError(
                    "this stream was begun on another event loop, and only there it goes on; begin a new one here"
                )
            arrived.clear()
            inbox.gate.open()
            try:
                wait = self._run_due(inbox)  # of a blocking source: it blocks the loop, as reading it here would
                if wait == 0.0:
                    await asyncio.sleep(0)
                elif inbox.is_silent():
                    await self._until(arrived, wait)
            except asyncio.CancelledError:
                self.close()
                raise
            finally:
                inbox.gate.shut()
        return inbox.items.popleft()

    @staticmethod
    async def _until(arrived: asyncio.Event, wait: float | None) -> None:
        if wait is None:
            await arrived.wait()
            return
        try:
            async with asyncio.timeout(wait):
                await arrived.wait()
        except TimeoutError:
            pass

    async def aclose(self) -> None:
        """Leave the stream, and wait until its source is closed (a second at most)."""
        self.close()
        if self._inbox is not None and self._inbox.gate.tasks and self._inbox.gate.is_here():
            await asyncio.wait(self._inbox.gate.tasks, timeout=1)

    async def __aenter__(self) -> Pull[T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _end(self, inbox: _Inbox[T]) -> Exception | None:
        self._closed = True
        inbox.dispose()
        return inbox.error


_Op = Callable[[Observable[A]], Observable[B]]


class _Response(Protocol):
    @property
    def headers(self) -> Any: ...


_Bytes = Iterable[bytes] | AsyncIterable[bytes] | BinaryIO | os.PathLike[str] | _Response


@overload
def iterate(source: Observable[A], /, *, limit: int = ...) -> Pull[A]: ...  # pyright: ignore[reportOverlappingOverload]
@overload
def iterate(source: Observable[A], a: _Op[A, B], /, *, limit: int = ...) -> Pull[B]: ...
@overload
def iterate(source: Observable[A], a: _Op[A, B], b: _Op[B, C], /, *, limit: int = ...) -> Pull[C]: ...
@overload
def iterate(source: Observable[A], a: _Op[A, B], b: _Op[B, C], c: _Op[C, D], /, *, limit: int = ...) -> Pull[D]: ...
@overload
def iterate(
    source: Observable[A], a: _Op[A, B], b: _Op[B, C], c: _Op[C, D], d: _Op[D, E], /, *, limit: int = ...
) -> Pull[E]: ...
@overload
def iterate(source: _Bytes, /, *, limit: int = ...) -> Pull[bytes]: ...
@overload
def iterate(source: _Bytes, a: _Op[bytes, B], /, *, limit: int = ...) -> Pull[B]: ...
@overload
def iterate(source: _Bytes, a: _Op[bytes, B], b: _Op[B, C], /, *, limit: int = ...) -> Pull[C]: ...
@overload
def iterate(source: _Bytes, a: _Op[bytes, B], b: _Op[B, C], c: _Op[C, D], /, *, limit: int = ...) -> Pull[D]: ...
@overload
def iterate(
    source: _Bytes, a: _Op[bytes, B], b: _Op[B, C], c: _Op[C, D], d: _Op[D, E], /, *, limit: int = ...
) -> Pull[E]: ...
@overload
def iterate(
    source: Observable[Any] | _Bytes,
    a: _Op[Any, Any],
    b: _Op[Any, Any],
    c: _Op[Any, Any],
    d: _Op[Any, Any],
    e: _Op[Any, Any],
    /,
    *operators: Callable[[Any], Any],
    limit: int = ...,
) -> Pull[Any]: ...
def iterate(source: Any, /, *operators: Callable[[Any], Any], limit: int = LIMIT) -> Pull[Any]:
    """From a stream that pushes to an iterator, blocking and async, that pulls.

    `source` is one of our sources or chains (`iterate(completion(...))`) or anything that `reads()` takes: an iterable or
    async iterable of bytes, a response, a file. The operators are put below it. What is read by an event loop
    is used with `async for`; all else with `for`, or with `async for` where blocking the loop does no harm.

    The next read happens only when the last one's output is used up, through stock operators too. An Observable that
    cannot be held back goes through a buffer of `limit` items and ends with LimitExceeded when that overflows. An error
    is raised after everything that came before it.

    >>> from operators import lines
    >>> with iterate([b"one\\ntw", b"o\\nthree\\n"], lines()) as found:
    ...     for line in found:
    ...         print(line)
    ...         if line == b"two":
    ...             break
    b'one'
    b'two'
    """
    return Pull(reads(source).pipe(*operators), limit)
