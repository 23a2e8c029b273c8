"""What is remembered of one attempt, so that its error can tell it."""

from __future__ import annotations

from collections.abc import Callable

from operators import Event, NotEventStream, Out, Stage, Started, StreamError, Usage, operator
from operators._assembly import Assembly
from pipeline.sources._http_errors import describe, telling


class Story:
    """What the head of the response of one attempt said."""

    __slots__ = ("content_type", "headers", "status")

    def __init__(self) -> None:
        self.status: int | None = None
        self.content_type = "no content-type"
        self.headers: dict[str, str] = _NOTHING

    def answered(self, status: int, headers: dict[str, str]) -> None:
        self.status, self.headers = status, telling(headers) or _NOTHING
        self.content_type = headers.get("content-type", self.content_type)

    def complete(self, error: StreamError) -> None:
        """Add to an error what the head of the response says."""
        if isinstance(error, NotEventStream):
            error.status = self.status
            error.message = f"{error.message} (HTTP {self.status}, {self.content_type})"
        describe(error, self.headers)


_NOTHING: dict[str, str] = {}


@operator
def told(out: Out[Event], story: Story, seen: Callable[[], None]) -> Stage[Event]:
    """Event → Event: what one attempt tells. Started is held back until something else comes, so that an attempt that fails
    first leaves no trace; all is kept, as fragments, and completes an error. `seen` is called when it becomes visible."""
    assembly = Assembly()
    add, emit = assembly.add, out.on_next
    held: list[Event] | None = []
    visible = False

    def on_next(event: Event) -> None:
        add(event)
        if visible:
            emit(event)
        else:
            begin(event)

    def begin(event: Event) -> None:
        nonlocal held, visible
        if held is not None:
            if isinstance(event, Started):
                held.append(event)
                return
            first, held = held, None
            for started in first:
                emit(started)
        if not isinstance(event, _INVISIBLE):
            visible = True
            seen()
        emit(event)

    try:
        yield on_next
    except StreamError as error:
        error.partial = error.partial or assembly.messages(ended=False)
        story.complete(error)
        raise
    for started in held or ():
        emit(started)


_INVISIBLE = (Started, Usage)
"""What nobody misses if the request is made again."""
