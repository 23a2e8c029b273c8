"""What has been seen of a stream → its events, each with the time when it came."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeAlias

from reactivex.subject import Subject

from operators import Event, Operator
from pipeline.chat._decode import decode
from pipeline.recordings import Recording


class Timed(NamedTuple):
    """An event, and when it came: in seconds since the stream was subscribed."""

    at: float
    event: Event


class Seen(Protocol):
    """Something that has kept events with their times; what `show()` answers with, for one."""

    @property
    def events(self) -> Iterable[tuple[float, Event]]: ...


Source: TypeAlias = Recording | str | os.PathLike[str] | Seen | Iterable[tuple[float, Event]]


def timed(source: Source, *, stream: int = 1, decoder: Operator[bytes, Event] | None = None) -> list[Timed]:
    r"""From a recording, its path, an answer that was shown, or pairs of time and event, to events with their times.

    Of a recording it is the attempt whose answer counted of one `stream`, decoded by `decoder` (`decode()`), up to where it
    broke if it did. Raises what `Recording.load` does, and ValueError for a stream that is not there.

    >>> from operators import TextDelta
    >>> timed([(0.5, TextDelta("Hi"))])
    [Timed(at=0.5, event=TextDelta(text='Hi', choice=0))]
    """
    if isinstance(source, (str, os.PathLike)):
        source = Recording.load(source)
    if isinstance(source, Recording):
        return _decoded(source, stream, decoder or decode())
    pairs = source if isinstance(source, Iterable) else getattr(source, "events", None)
    try:
        return [Timed(float(at), event) for at, event in pairs]  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise TypeError(
            "a stream to look at is a recording, its path, an answer that was shown, or pairs (seconds, event); "
            f"not {source!r:.80}"
        ) from None


def _decoded(recording: Recording, number: int, decoder: Operator[bytes, Event]) -> list[Timed]:
    reads = recording.stream(number).last.reads
    body: Subject[bytes] = Subject()
    found: list[Timed] = []
    at = 0.0
    body.pipe(decoder).subscribe(lambda event: found.append(Timed(at, event)), on_error=lambda _: None)
    for read in reads:
        at = read.at
        body.on_next(read.data)
    body.on_completed()
    return found
