"""Events in the order in which they can be read: one choice at a time, and one call at a time.

The plan. One choice has the turn and is passed on as it comes; what the others say waits until that one has its
finish_reason, or the stream ends. Within the choice, one call has the turn until its arguments are whole.
With one choice whose calls come one after the other, as nearly always, nothing ever waits.
"""

from __future__ import annotations

from collections.abc import Callable

from operators import (
    AnnotationDelta,
    Event,
    Finish,
    Gap,
    LogprobsDelta,
    Restarted,
    Started,
    ToolCallDelta,
    ToolCallSnapshot,
    Unknown,
    Usage,
)
from operators._json_depth import JsonDepth

_ASIDE = (Gap, Unknown, Usage)  # belongs to no choice, and may come in the middle of one
_SILENT = (Started, LogprobsDelta, AnnotationDelta, ToolCallSnapshot)  # ends no call


class Turns:
    """Takes events and hands them to `show`, in an order that can be read. Without `calls`, these come as they come.

    >>> from operators import TextDelta
    >>> turns = Turns(lambda event: print(event.text))
    >>> for event in (TextDelta("a", 0), TextDelta("1", 1), TextDelta("b", 0), TextDelta("2", 1)):
    ...     turns.add(event)
    a
    b
    >>> turns.end()
    1
    2
    """

    def __init__(self, show: Callable[[Event], None], *, calls: bool = True) -> None:
        self._show = show
        self._calls_too = calls
        self._clear()

    def _clear(self) -> None:
        self._live: int | None = None  # the choice that has the turn
        self._finished: set[int] = set()
        self._waiting: dict[int, list[Event]] = {}
        self._calls: dict[int, _Calls] = {}

    @property
    def several(self) -> bool:
        """Has more than one choice begun?"""
        return len(self._calls.keys() | self._waiting.keys()) > 1

    @property
    def waiting(self) -> int:
        """How many choices wait for their turn?"""
        return len(self._waiting)

    def add(self, event: Event) -> None:
        choice: int | None = getattr(event, "choice", None)
        if choice is not None:
            if self._live is None or self._live in self._finished:
                self._live = choice
            if choice != self._live:
                self._waiting.setdefault(choice, []).append(event)
            else:
                self._pass_on(choice, event)
                self._next()
            return
        if isinstance(event, Restarted):
            self._clear()
        elif not isinstance(event, _ASIDE):
            self.end()
        self._show(event)

    def _pass_on(self, choice: int, event: Event) -> None:
        calls = self._calls.get(choice)
        if calls is None:
            calls = self._calls[choice] = _Calls(self._show, one_at_a_time=self._calls_too)
        calls.add(event)
        if isinstance(event, Finish):
            self._finished.add(choice)

    def _next(self) -> None:
        """Give the turn on, as long as the one who has it is done and others wait."""
        while self._waiting and self._live in self._finished:
            self._live = min(self._waiting)
            for event in self._waiting.pop(self._live):
                self._pass_on(self._live, event)

    def end(self) -> None:
        """Hand out all that waits, and begin anew."""
        for calls in self._calls.values():
            calls.release()
        for choice, events in sorted(self._waiting.items()):
            for event in events:
                self._pass_on(choice, event)
            self._calls[choice].release()
        self._clear()


class _Calls:
    """The events of one choice, with its calls one after the other."""

    def __init__(self, show: Callable[[Event], None], *, one_at_a_time: bool) -> None:
        self._show = show
        self._one_at_a_time = one_at_a_time
        self._live: int | None = None
        self._depth = JsonDepth()
        self._waiting: dict[int, list[ToolCallDelta]] = {}

    def add(self, event: Event) -> None:
        if not self._one_at_a_time:
            self._show(event)
        elif not isinstance(event, ToolCallDelta):
            if not isinstance(event, _SILENT):
                self.release()
            self._show(event)
        elif self._live is None or event.key == self._live or self._depth.whole:
            self._grow(event)
            while self._waiting and self._depth.whole:
                self._take_next()
        else:
            self._waiting.setdefault(event.key, []).append(event)

    def _grow(self, delta: ToolCallDelta) -> None:
        if delta.key != self._live:
            self._live, self._depth = delta.key, JsonDepth()
        self._show(delta)
        self._depth.feed(delta.arguments)

    def _take_next(self) -> None:
        for delta in self._waiting.pop(next(iter(self._waiting))):
            self._grow(delta)

    def release(self) -> None:
        """Show what waits, and let the next call begin at once."""
        while self._waiting:
            self._take_next()
        self._live = None
