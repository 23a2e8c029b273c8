"""Events with their times → a timeline that can be played again."""

from __future__ import annotations

import threading
from typing import Any

from pipeline.notebook._items import COLORS, Items
from pipeline.notebook._outputs import Output, in_kernel
from pipeline.notebook._picture import picture
from pipeline.notebook._widget import say, widget
from pipeline.plots._timed import Source, timed

_BATCH = 2000
"""Items in one message."""
_AROUND = 40
"""Characters of an item beside its text."""


def timeline(source: Source, *, stream: int = 1) -> Timeline:
    """From an answer that was shown, a recording or pairs of time and event, to a timeline to look at and to play again.

    A lane for the text, the reasoning, each tool call, and all other events; the mark under the pointer tells what it is, and
    a slider (arrow keys: an event at a time) or the Replay button shows what had been said by then. `show(…,
    timeline=True)` draws one while the stream runs. `svg()` is a picture of it, which needs no kernel; it stays in the
    notebook, and JupyterLab hides it while the timeline itself is there.

    Raises ImportError without the extra `notebook`, and for a recording what `Recording.load` raises.
    """
    made = Timeline()
    for at, event in timed(source, stream=stream):
        made.items.add(at, event)
    if getattr(source, "ended", True):
        error = getattr(source, "error", None)
        made.items.end(error, "left" if getattr(source, "cut", False) else "")
    return made


class Timeline:
    """What `timeline()` makes."""

    def __init__(self) -> None:
        self.items = Items()
        self.lock = threading.RLock()
        self._sent = 0
        self._pictured = False  # its picture stands above it
        self._heard = False  # a view has asked: in some frontends none can while a cell runs
        self._widget = widget("timeline")
        self._widget.on_msg(self._asked)

    def send(self) -> int:
        """To the views of it: what they have not been sent yet. The answer is about how many characters that were."""
        sent = 0
        with self.lock:
            lanes = [(lane.kind, lane.name, COLORS[lane.kind]) for lane in self.items.lanes]
            if not self._heard and len(self.items.all) <= _BATCH:
                self._sent = 0  # views that came since have missed what was sent before
            while True:
                batch = self.items.all[self._sent : self._sent + _BATCH]
                told = {"from": self._sent, "items": batch, "lanes": lanes, "ended": self.items.ended}
                say(self._widget, {**told, "pictured": self._pictured})
                self._sent += len(batch)
                sent += sum(len(item.text) + _AROUND for item in batch)
                if self._sent >= len(self.items.all):
                    return sent

    def close(self) -> None:
        """Let go of the views."""
        self._widget.close()

    def _asked(self, _widget: Any, message: Any, _buffers: Any) -> None:
        """A view asks for all from some item on."""
        if isinstance(message, dict) and isinstance(message.get("ask"), int):
            with self.lock:
                self._heard = True
                self._sent = max(0, min(self._sent, message["ask"]))
                self.send()

    # ------------------------------------------------------------------------------------------------ as an output

    def svg(self) -> str:
        """The picture of it."""
        with self.lock:
            return picture(self.items.all, self.items.lanes)

    def still(self) -> dict[str, Any]:
        """What is shown of it where no kernel runs."""
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        seconds = self.items.all[-1].at if self.items.all else 0.0
        lanes = ", ".join(lane.name for lane in self.items.lanes)
        return f"<timeline: {len(self.items.all)} events in {seconds:.2f} s: {lanes}>"

    def live(self) -> dict[str, Any]:
        """What is shown of it where a kernel runs."""
        return {**self._widget._repr_mimebundle_()[0], "text/plain": ""}

    def _ipython_display_(self) -> None:
        """In two outputs: a frontend that finds no kernel shows nothing else of an output in which there is a widget."""
        Output().show(self.still())
        if in_kernel():
            self._pictured = True
            Output().show(self.live())
