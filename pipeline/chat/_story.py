"""What is remembered of one attempt, so that its error can tell it."""

from __future__ import annotations

from operators import Event, NotEventStream, Out, Stage, Started, StreamError, operator
from operators._assembly import Assembly
from pipeline.sources._http_errors import describe


class Story:
    """The head of the response of one attempt."""

    __slots__ = ("headers", "status")

    def __init__(self) -> None:
        self.status: int | None = None
        self.headers: dict[str, str] = {}

    def answered(self, status: int, headers: dict[str, str]) -> None:
        self.status, self.headers = status, headers

    def complete(self, error: StreamError) -> None:
        """Add to an error what the head of the response says."""
        if isinstance(error, NotEventStream):
            error.status = self.status
            kind = self.headers.get("content-type", "no content-type")
            error.message = f"{error.message} (HTTP {self.status}, {kind})"
        describe(error, self.headers)


@operator
def told(out: Out[Event], story: Story) -> Stage[Event]:
    """Event → Event: what one attempt tells. Started is held back until something else comes, so that an attempt that fails
    first leaves no trace; all is kept, as fragments, and completes an error."""
    assembly = Assembly()
    add = assembly.add
    held: list[Event] | None = []

    def on_next(event: Event) -> None:
        add(event)
        if held is not None:
            if isinstance(event, Started):
                held.append(event)
                return
            let_go()
        out.on_next(event)

    def let_go() -> None:
        nonlocal held
        first, held = held or (), None
        for started in first:
            out.on_next(started)

    try:
        yield on_next
    except StreamError as error:
        error.partial = error.partial or assembly.messages(ended=False)
        story.complete(error)
        raise
    let_go()
