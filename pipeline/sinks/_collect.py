"""Event → messages that can be read at any time."""

from __future__ import annotations

import threading
from typing import Any

from operators import Conversation, Event, Message, RoundStarted, StreamError
from operators._assembly import Assembly
from pipeline._makes_sink import makes_sink
from pipeline.sinks._one_stream import OneStream


class Collected(OneStream):
    """What has come so far. May be read at any time and from any thread: while it comes, at the end, after a dispose.

    `ended` says that the stream completed or broke; after a dispose it stays False. `error` is what it broke with, and
    `conversation` the whole conversation, once its Conversation event has come.
    """

    made_by = "collect()"

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._assembly = Assembly("collect()")
        self._rounds: tuple[Message, ...] = ()  # the messages of the rounds before
        self.ended = False
        self.error: Exception | None = None
        self.conversation: list[dict[str, Any]] | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """One Message a choice, those of earlier rounds first. No tool call is complete before the stream has completed."""
        with self._lock:
            return self._rounds + self._assembly.messages(ended=self.ended and self.error is None)

    @property
    def text(self) -> str:
        """The text of choice 0, or of the first there is, in the round that runs; "" if there is none."""
        with self._lock:
            now = self._assembly.messages(ended=False)
        return now[0].text if now else ""

    def _on_next_core(self, value: Event) -> None:
        with self._lock:
            if isinstance(value, RoundStarted):
                self._rounds += self._assembly.messages(ended=True)
            elif isinstance(value, Conversation):
                self.conversation = value.messages
            self._assembly.add(value)

    def _on_error_core(self, error: Exception) -> None:
        self.error, self.ended = error, True
        if isinstance(error, StreamError) and not error.partial:
            error.partial = self.messages

    def _on_completed_core(self) -> None:
        self.ended = True

    def __repr__(self) -> str:
        state = "running" if not self.ended else "completed" if self.error is None else f"broken by {self.error!r}"
        return f"<collected: {len(self.messages)} messages, {state}>"


@makes_sink
def collect() -> Collected:
    """From events to a sink whose `messages` and `text` can be read at any time, also after a cancel.

    An error is kept, not raised, and its `partial` is filled if it is empty. It collects one stream: another one that
    comes when that has ended gets RuntimeError.

    >>> from operators import TextDelta
    >>> from reactivex.subject import Subject
    >>> events, so_far = Subject(), collect()
    >>> subscription = events.subscribe(so_far)
    >>> events.on_next(TextDelta("Hel"))
    >>> events.on_next(TextDelta("lo"))
    >>> subscription.dispose()
    >>> so_far.text, so_far.ended
    ('Hello', False)
    """
    return Collected()
