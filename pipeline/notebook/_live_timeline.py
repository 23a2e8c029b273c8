"""A stream that is shown → a timeline while it runs, and its picture when it has ended."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.notebook._frames import Frames
from pipeline.notebook._outputs import Output
from pipeline.notebook._timeline import Timeline
from pipeline.plots._timed import Timed


class LiveTimeline:
    """The picture stays, not the widget: a notebook that is opened without its kernel cannot show one."""

    def __init__(self) -> None:
        self._timeline = Timeline()
        self._output = Output()
        self._frames = Frames(self._timeline.send)

    def begin(self, _stop: Callable[[], None]) -> None:
        self._output.show(self._timeline.live())
        self._frames.start()

    def add(self, timed: Timed) -> None:
        with self._timeline.lock:
            self._timeline.items.add(*timed)
        self._frames.changed()

    def end(self, error: Exception | None, mark: str) -> None:
        self._timeline.items.end(error, mark)
        try:
            self._frames.end()
        finally:
            self._output.show(self._timeline.still())
            self._timeline.close()
