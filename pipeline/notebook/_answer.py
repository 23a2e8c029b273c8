"""A stream that is shown in a cell, and what has come of it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable
from reactivex.scheduler import CurrentThreadScheduler

from operators import Event, Message, ToolCallSnapshot
from operators._stream_event import StreamEvent
from pipeline.notebook._onlooker import Onlooker
from pipeline.notebook._outputs import Output, in_kernel, shell
from pipeline.notebook._view import View
from pipeline.plots._timed import Timed
from pipeline.sinks import collect

if TYPE_CHECKING:
    from pipeline.probing import Probe

KEPT = 100_000
"""Events that are kept with their times."""

WAKE = 0.1
"""Seconds after which the loop of a cell that awaits is woken: what a kernel does on an interrupt, a sleeping loop does not see."""

UNAWAITED = "left when its cell ended: an async client's stream is shown with `await show(…)`"


class Answer(abc.ObserverBase[Event]):
    """What `show()` answers with: all that came, readable at any time.

    It is awaited for a stream that is read by the event loop. `cut` says that it was left before its end, `error` is what
    it broke with, and `events` has the first 100,000 events with their times.
    """

    def __init__(self, view: View, *others: Onlooker) -> None:
        self.events: list[Timed] = []
        self.cut = False
        self.probe: Probe | None = None
        self._view, self._onlookers = view, (view, *others)
        self._collected = collect()
        self._subscription = SerialDisposable()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._ending = False
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None
        self._wrong: Exception | None = None  # what show() was given is nothing to show
        self._cell = getattr(shell(), "execution_count", None)
        self._began = time.monotonic()

    # ------------------------------------------------------------------------------------------------ what has come

    @property
    def messages(self) -> tuple[Message, ...]:
        """One Message a choice and round, in their order; as much of each as has come."""
        return self._collected.messages

    @property
    def message(self) -> Message:
        """The last one: in a tool conversation, the closing answer. Empty if nothing came."""
        return self.messages[-1] if self.messages else Message()

    @property
    def text(self) -> str:
        """The text of the last message."""
        return self.message.text

    @property
    def conversation(self) -> list[dict[str, Any]] | None:
        """All messages of a tool conversation, once it has ended."""
        return self._collected.conversation

    @property
    def error(self) -> Exception | None:
        return self._collected.error

    @property
    def ended(self) -> bool:
        """Nothing more comes: it completed, broke, or was cut."""
        return self._done.is_set()

    # ------------------------------------------------------------------------------------------------ the stream

    def run(self, stream: Observable[Event]) -> None:
        """Subscribe. What blocks is over when this returns; it can be stopped from any thread meanwhile.

        It is subscribed as a step of the current-thread scheduler: so a source that emits there waits until its
        subscription is known.
        """

        def subscribe(*_: Any) -> None:
            self._subscription.disposable = stream.subscribe(self)

        try:
            for onlooker in self._onlookers:
                onlooker.begin(self.stop)
            CurrentThreadScheduler.singleton().schedule(subscribe)
        except KeyboardInterrupt:
            self._leave("interrupted")
            raise
        except BaseException as error:
            self._leave(f"left by {type(error).__name__}")
            raise
        if self._ending:
            self._done.wait()  # who stops it from another thread is about to have said so
        if self._wrong is not None:
            raise self._wrong
        if not self.ended:
            self._leave_with_the_cell()

    def on_next(self, value: Event) -> None:
        if self._ending:
            return
        try:
            self._take(value)
        except Exception as wrong:  # an event loop would only log it, and whoever waits would wait on
            self._wrong = wrong
            self._leave("left, as it could not be shown")

    def _take(self, value: Event) -> None:
        if not isinstance(value, (StreamEvent, ToolCallSnapshot)):
            raise TypeError(f"show() shows events, not {type(value).__name__}: is a decode() missing?")
        timed = Timed(time.monotonic() - self._began, value)
        if len(self.events) < KEPT:
            self.events.append(timed)
        self._collected.on_next(value)
        for onlooker in self._onlookers:
            onlooker.add(timed)

    def on_error(self, error: Exception) -> None:
        self._collected.on_error(error)
        self._end(error=error)

    def on_completed(self) -> None:
        self._collected.on_completed()
        for message in self.messages:
            for call in message.tool_calls:  # these are whole now, and only a stage that is not in every chain says so
                self._view.complete(call)
        self._end()

    def stop(self) -> None:
        """Leave the stream: its connection is closed, and what has come stays. From any thread."""
        self._leave("stopped")

    def _leave(self, mark: str) -> None:
        if not self.ended:
            self._ending = True  # what still comes is too late
            try:
                self._subscription.dispose()
            finally:
                self._end(mark=mark)

    def _end(self, *, error: Exception | None = None, mark: str = "") -> None:
        with self._lock:
            if self.ended:
                return
            self._ending = True
            self.cut = bool(mark)
            with contextlib.ExitStack() as last:  # whatever fails of it
                last.callback(self._tell)
                for onlooker in self._onlookers:
                    last.callback(onlooker.end, error, mark)

    def _tell(self) -> None:
        self._done.set()
        if self._waiting is not None:
            loop, future = self._waiting
            with contextlib.suppress(RuntimeError):  # the loop is gone, and whoever waited
                loop.call_soon_threadsafe(lambda: None if future.done() else future.set_result(None))

    # ------------------------------------------------------------------------------------------------ waiting

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._ended_well().__await__()

    async def _ended_well(self) -> Answer:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting = loop, future
        try:
            while not (self.ended or future.done()):
                await asyncio.wait([future], timeout=WAKE)
        except asyncio.CancelledError:
            self._leave("interrupted")
            raise
        finally:
            self._waiting = None
        if self._wrong is not None:
            raise self._wrong
        return self

    def _leave_with_the_cell(self) -> None:
        """What is not awaited would go on where nobody looks."""
        ipython = shell()
        if ipython is None:
            return

        def left(*_: Any) -> None:
            ipython.events.unregister("post_run_cell", left)
            self._leave(UNAWAITED)

        ipython.events.register("post_run_cell", left)

    # ------------------------------------------------------------------------------------------------ as an output

    def _ipython_display_(self) -> None:
        """All of it; nothing in the cell that shows it already."""
        if not in_kernel() or shell().execution_count != self._cell:
            Output().show(self._view.bundle())

    def __repr__(self) -> str:
        if not self.ended:
            state = "running"
        elif self.cut:
            state = "cut"
        else:
            state = "completed" if self.error is None else f"broken by {self.error!r}"
        return f"<answer: {len(self.messages)} message{'' if len(self.messages) == 1 else 's'}, {state}>"
