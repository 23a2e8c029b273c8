"""Something that changes often → drawn a few times a second."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable

FASTEST = 1 / 15
"""Seconds from one frame to the next: more of them no one can read, and each is a message to a browser."""
MOST = 400_000
"""Characters a second that go to the browser: a frame that is large is drawn less often."""
_SHARE = 4  # a frame that takes long is drawn less often, so that no more than a fifth of the time is spent on it
_CLOCK = 0.5  # seconds after which a frame is drawn though nothing has come: it shows how long it has taken


class Frames:
    """Calls `draw` from a thread of its own when something has changed, and now and then when nothing has.

    `draw` says how many characters it has sent.
    The thread has a copy of the context in which it was made, so what it shows belongs to the cell that made it. What
    `draw` raises ends the frames, and is raised by `end()`.
    """

    def __init__(self, draw: Callable[[], int]) -> None:
        self._draw = draw
        self._changed, self._ended = threading.Event(), threading.Event()
        self._failed: Exception | None = None
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._run,), name="rxchat frames", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def changed(self) -> None:
        """There is something new to draw."""
        self._changed.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            self._changed.wait(_CLOCK)
            if self._ended.is_set():
                return
            self._changed.clear()
            began = time.monotonic()
            try:
                sent = self._draw()
            except Exception as error:
                self._failed = error
                return
            pause = max(FASTEST, _SHARE * (time.monotonic() - began), sent / MOST)

    def end(self) -> None:
        """Draw no more; a frame that is being drawn is finished first."""
        self._ended.set()
        self._changed.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()
        if self._failed is not None:
            raise self._failed
