"""An event loop in which many streams take turns."""

from __future__ import annotations

import asyncio
import selectors
from collections import deque

_FEW = 16  # sockets at a time


def fair_loop() -> asyncio.AbstractEventLoop:
    """An event loop for many streams at once: what has come for a few sockets is handled before the next few are read.

    asyncio reads all sockets that are ready, and only then runs what that has woken. With a thousand streams on a busy
    core, each event waits for both. Taking sockets few at a time halves that wait and costs no more; one stream
    alone gains nothing. It is a selector loop, which on Windows has no subprocesses. For `asyncio.Runner(loop_factory=fair_loop)`, or `asyncio.run(..., loop_factory=fair_loop)` from Python 3.12 on.

    >>> with asyncio.Runner(loop_factory=fair_loop) as runner:
    ...     runner.run(asyncio.sleep(0, "done"))
    'done'
    """
    return asyncio.SelectorEventLoop(_FewAtATime())


class _FewAtATime(selectors.DefaultSelector):
    """Asks the system when all that was ready the last time has been handed on."""

    def __init__(self) -> None:
        super().__init__()
        self._ready: deque[tuple[selectors.SelectorKey, int]] = deque()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._ready
        if not ready:
            ready.extend(super().select(timeout))
        few: list[tuple[selectors.SelectorKey, int]] = []
        registered = self.get_map()
        while ready and len(few) < _FEW:
            key, events = ready.popleft()
            if registered.get(key.fd) is key:  # else it was closed, or waits for something else, since
                few.append((key, events))
        return few
