"""A slow sink in a thread of its own."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from pipeline.sharing._lanes import Queued
from pipeline.sharing._policies import Paced
from pipeline.sharing._progress import Progress


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
