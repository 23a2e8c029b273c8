"""A sink of coroutine functions in a task of its own."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable
from typing import Any

from pipeline.sharing._lanes import Queued
from pipeline.sharing._policies import Paced
from pipeline.sharing._progress import Progress, call_on

_running: set[asyncio.Task[None]] = set()
"""Tasks that deliver. The event loop itself holds them only weakly."""


class Task(Queued):
    """Calls its sink, one that is async, from a task on the loop that runs when the stream is subscribed."""

    def __init__(self, paced: Paced, progress: Progress, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(paced, progress, loop.time)
        self._loop = loop
        self._thread = threading.get_ident()
        self._news = asyncio.Event()
        self._task = loop.create_task(self._run(), name=f"rxchat sink {self.name}")
        _running.add(self._task)
        self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        _running.discard(task)
        self._close()

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
        while not self.over:
            self._news.clear()
            to_do = self._to_do()
            if callable(to_do):
                await self._call(to_do)
            else:
                await self._sleep(to_do)

    async def _call(self, call: Callable[[], Any]) -> None:
        try:
            result = call()
            if inspect.isawaitable(result):
                await result
        except (Exception, asyncio.CancelledError) as raised:
            if self._task.cancelling():  # by us or by the loop's end, and not by the sink itself
                raise
            self._failed(raised)
        self._called()

    async def _sleep(self, seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
