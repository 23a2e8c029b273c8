"""A stream → a timeline that can be played again: live, or from what was kept of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pipeline.notebook._frames import Frames
from pipeline.notebook._items import COLORS, Items
from pipeline.notebook._outputs import Output
from pipeline.notebook._picture import picture
from pipeline.notebook._widget import widget
from pipeline.plots._timed import Source, Timed, timed

if TYPE_CHECKING:
    from pipeline.notebook._answer import Answer

_BATCH = 2000
"""Items in one message."""


def timeline(source: Source, *, stream: int = 1) -> Timeline:
    """From an answer that was shown, a recording or pairs of time and event, to a timeline to look at and to play again.

    A lane for the text, the reasoning, each tool call, and all other events; the mark under the pointer tells what it is, and
    a slider (arrow keys: an event at a time) or the Replay button shows what had been said by then. `show(…,
    timeline=True)` draws one while the stream runs. What is saved in the notebook is a picture, which needs no kernel.

    Raises ImportError without the extra `notebook`, and for a recording what `Recording.load` raises.
    """
    made = Timeline()
    for at, event in timed(source, stream=stream):
        made.items.add(at, event)
    error = getattr(source, "error", None)
    if error is not None:
        made.items.failed(made.items.all[-1].at if made.items.all else 0.0, str(error))
    made.ended = True
    return made


class Timeline:
    """What `timeline()` makes."""

    def __init__(self) -> None:
        self.items = Items()
        self.ended = False
        self._sent = 0
        self._heard = False  # a view has asked: while a cell blocks, none can
        self._lock = threading.RLock()
        self._output = Output()
        self._answer: Answer | None = None
        self._frames: Frames | None = None
        self._widget = widget("timeline")
        self._widget.on_msg(self._asked)

    # ------------------------------------------------------------------------------------------------ as an onlooker

    def begin(self, answer: Answer) -> None:
        self._answer = answer
        self._output.show(self._repr_mimebundle_())
        self._frames = Frames(self._send)

    def add(self, timed: Timed) -> None:
        with self._lock:
            self.items.add(timed.at, timed.event)
        if self._frames is not None:
            self._frames.changed()

    def end(self) -> None:
        with self._lock:
            if self._frames is not None:
                self._frames.end()
            at = self.items.all[-1].at if self.items.all else 0.0
            if self._answer is not None and self._answer.error is not None:
                self.items.failed(at, str(self._answer.error))
            self.ended = True
        self._send()
        self._output.show(self._repr_mimebundle_())

    # ------------------------------------------------------------------------------------------------ to the browser

    def _asked(self, _widget: Any, message: Any, _buffers: Any) -> None:
        """A view asks for all from some item on."""
        if isinstance(message, dict) and isinstance(message.get("ask"), int):
            with self._lock:
                self._heard = True
                self._sent = max(0, min(self._sent, message["ask"]))
            self._send()

    def _send(self) -> None:
        with self._lock:
            lanes = [(lane.kind, lane.name, COLORS[lane.kind]) for lane in self.items.lanes]
            if not self._heard and len(self.items.all) <= _BATCH:
                self._sent = 0  # views that came since have missed what was sent before
            while True:
                batch = self.items.all[self._sent : self._sent + _BATCH]
                self._widget.send({"from": self._sent, "items": batch, "lanes": lanes, "ended": self.ended})
                self._sent += len(batch)
                if self._sent >= len(self.items.all):
                    return

    # ------------------------------------------------------------------------------------------------ as an output

    def svg(self) -> str:
        """The picture of it."""
        with self._lock:
            return picture(self.items.all, self.items.lanes)

    def __repr__(self) -> str:
        seconds = self.items.all[-1].at if self.items.all else 0.0
        lanes = ", ".join(lane.name for lane in self.items.lanes)
        return f"<timeline: {len(self.items.all)} events in {seconds:.2f} s: {lanes}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        live = self._widget._repr_mimebundle_()
        return {**(live[0] if live else {}), "image/svg+xml": self.svg(), "text/plain": repr(self)}
