"""A button that stops a stream while its cell runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from pipeline.notebook._outputs import Output
from pipeline.notebook._widget import widget

AFTER = 0.4
"""Seconds after which it is shown: what is over before then needs no button."""


class StopButton:
    """Calls `stop` when it is clicked; leaves nothing behind when it is taken away.

    Only a cell that awaits has one. The kernel gives a click to the loop that the cell runs on: one that blocks gets it when
    it is over.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._output = Output()
        self._widget: Any = None

    def show(self) -> None:
        """Show it, where anywidget is installed."""
        if find_spec("anywidget") is None:
            return
        self._widget = widget("stop")
        self._widget.on_msg(self._told)
        self._output.show(self._widget._repr_mimebundle_()[0])  # noqa: SLF001 - it is how an output is asked for

    def _told(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if message == "stop":
            self._stop()

    def take_away(self) -> None:
        if self._widget is not None:
            self._output.show({"text/plain": ""})
            self._widget.close()
