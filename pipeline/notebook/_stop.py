"""A button that stops a stream while its cell runs."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from pipeline.notebook._outputs import Output
from pipeline.notebook._widget import say, widget
from pipeline.plots._timed import Timed

AFTER = 0.4
"""Seconds after which it is shown: what is over before then needs no button."""


class StopButton:
    """Stops a stream when it is clicked; is gone when the stream has ended.

    Not every frontend lets a message into a kernel whose cell runs. So it asks first, and stays hidden until the answer
    has come: a button that is seen works.
    """

    def __init__(self) -> None:
        self._output = Output()
        self._lock = threading.Lock()
        self._ended = False
        self._widget: Any = None
        self._stop: Callable[[], None]
        in_cell = contextvars.copy_context().run
        self._timer = threading.Timer(AFTER, in_cell, (self._show,))
        self._timer.daemon = True

    def begin(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._timer.start()

    def add(self, timed: Timed) -> None:
        """It shows nothing of it."""

    def _show(self) -> None:
        with self._lock:
            if not self._ended:
                self._widget = widget("stop")
                self._widget.on_msg(self._told)
                self._output.show({**self._widget._repr_mimebundle_()[0], "text/plain": ""})

    def _told(self, button: Any, message: Any, _buffers: Any) -> None:
        if message == "stop":
            self._stop()
        else:
            say(button, "heard")

    def end(self, _error: Exception | None, _mark: str) -> None:
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._widget is not None:
                self._output.show({"text/plain": ""})
                self._widget.close()
