"""How those who wait for sinks learn that something has changed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from functools import partial


class Progress:
    """Wakes threads and tasks, of any event loop, that wait for something to become true."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tasks: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def changed(self) -> None:
        """Let all who wait look again; from any thread."""
        with self._changed:
            self._changed.notify_all()
            tasks, self._tasks = self._tasks, []
        for loop, future in tasks:
            call_on(loop, partial(_wake, future))

    def wait(self, true: Callable[[], bool], seconds: float | None = None) -> None:
        """Block this thread until it is true, or the time is up."""
        with self._changed:
            self._changed.wait_for(true, seconds)

    async def until(self, true: Callable[[], bool], seconds: float | None = None) -> None:
        """Await that it is true, or the time is up."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    future = loop.create_future()
                    with self._changed:
                        self._tasks.append((loop, future))
                    if true():  # looked at only now, or a change could be missed
                        return
                    await future


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def call_on(loop: asyncio.AbstractEventLoop, action: Callable[[], object]) -> None:
    """Run on the loop's thread, soon; not at all if the loop is closed, as nobody waits there any more."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(action)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that runs on this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
