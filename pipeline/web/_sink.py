"""Events → one stream of a page."""

from __future__ import annotations

from operators import Event, Operator, Out, Stage, operator
from pipeline.sinks._one_stream import OneStream
from pipeline.web._feed import Feed
from pipeline.web._hub import Hub


class WebSink(OneStream):
    """The observer that `Page.sink()` makes. `dispose()` says that the stream was left."""

    made_by = "Page.sink()"

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self._feed = feed

    def _on_next_core(self, value: Event) -> None:
        self._feed.add(value)

    def _on_error_core(self, error: Exception) -> None:
        self._feed.end("broken", error)

    def _on_completed_core(self) -> None:
        self._feed.end("completed")

    def dispose(self) -> None:
        """Say that the stream was left before its end, after disposing the subscription."""
        super().dispose()
        self._feed.end("left")


def shown(hub: Hub, title: str) -> Operator[Event, Event]:
    """From events to the same events, each subscription being a stream of the page."""

    def shown(out: Out[Event]) -> Stage[Event]:
        feed = hub.open(title)

        def on_next(event: Event) -> None:
            feed.add(event)
            out.on_next(event)

        try:
            yield on_next
            feed.end("completed")
        except Exception as error:
            feed.end("broken", error)
            raise
        finally:
            feed.end("left")

    return operator(shown)()
