"""A thread that ticks, until it is told to stop or nobody is left who cares."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import MethodType
from weakref import WeakMethod


class Ticker:
    """Calls a method each `interval` seconds on a thread of its own, without keeping its object alive.

    It ends with `stop()`, when the object is gone, when the method returns False, and when an exception that nobody
    caught has reached the top of an interactive interpreter: a KeyboardInterrupt leaves a subscription without a word
    to the sink, and the traceback keeps the sink alive.
    """

    def __init__(self, tick: Callable[[], bool], interval: float) -> None:
        assert isinstance(tick, MethodType)
        self._tick = WeakMethod(tick)
        self._interval = interval
        self._stopped = threading.Event()
        self._uncaught = getattr(sys, "last_value", None)
        self._thread = threading.Thread(target=self._run, name="rxchat console", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            tick = self._tick()
            if tick is None or getattr(sys, "last_value", None) is not self._uncaught or not tick():
                return
            del tick

    def stop(self) -> None:
        """End the thread, and wait until it has ended."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(1)
