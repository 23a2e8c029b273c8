"""What is remembered of one attempt, so that its error can tell it."""

from __future__ import annotations

from operators import Event, NotEventStream, Out, Stage, Started, StreamError, operator
from operators._assembly import Assembly
from pipeline.sources._http_errors import describe


class Story:
    """The head of the response of one attempt."""

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
def kept(out: Out[Event], story: Story) -> Stage[Event]:
    """Event → Event: keeps what passes as fragments, and completes an error with it."""
    assembly = Assembly()
    add = assembly.add

    def on_next(event: Event) -> None:
        add(event)
        out.on_next(event)

    try:
        yield on_next
    except StreamError as error:
        error.partial = error.partial or assembly.messages(ended=False)
        story.complete(error)
        raise


@operator
def led_by_started(out: Out[Event]) -> Stage[Event]:
    """Event → Event: holds Started back until something else comes, so that an attempt that fails first leaves no trace."""
    held: list[Event] | None = []

    def on_next(event: Event) -> None:
        nonlocal held
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

    yield on_next
    let_go()
