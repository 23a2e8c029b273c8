"""A file → what was recorded in it."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from pipeline.recordings._format import (
    EndLine,
    Failure,
    OpenLine,
    ReadLine,
    RequestLine,
    ResponseLine,
    decode_line,
    header_of,
)

log = logging.getLogger("rxchat.recordings")


class RecordedRead(Struct, frozen=True):
    """One read: `at` is in seconds since its attempt was subscribed."""

    at: float
    data: bytes


class RecordedRequest(Struct, frozen=True):
    """What was asked, without secrets."""

    at: float
    method: str
    url: str
    headers: dict[str, str]
    body: Any = None


class RecordedResponse(Struct, frozen=True):
    """The head of the response, without secrets."""

    at: float
    status: int
    headers: dict[str, str]


class RecordedEnd(Struct, frozen=True):
    """How the reads ended: `failure` is None for the end of the body, and where nobody wanted more."""

    at: float
    failure: Failure | None = None


class RecordedAttempt(Struct, frozen=True):
    """One body. `began` is in seconds since the recording began, all other times since `began`.

    `end` is None where the recorder died first.
    """

    number: int = 1
    began: float = 0.0
    request: RecordedRequest | None = None
    response: RecordedResponse | None = None
    reads: tuple[RecordedRead, ...] = ()
    end: RecordedEnd | None = None

    @property
    def body(self) -> bytes:
        """All reads as one."""
        return b"".join(read.data for read in self.reads)


class RecordedStream(Struct, frozen=True):
    """One stream over its attempts; `round` is that of a tool conversation."""

    number: int = 1
    round: int | None = None
    attempts: tuple[RecordedAttempt, ...] = ()

    @property
    def last(self) -> RecordedAttempt:
        """The attempt whose answer counts."""
        return self.attempts[-1]


class Recording(Struct, frozen=True):
    """What a file holds. A plain body (`curl -N … > x.sse`) is a recording of one stream, all of it one read at 0 s."""

    streams: tuple[RecordedStream, ...] = ()
    started: str | None = None
    plain: bool = False

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recording:
        r"""From the path of a recording, or of a plain body, to what is in it.

        A last line that was cut is dropped with a warning in the log. Raises OSError for what cannot be read, ValueError
        for a line that is none of a recording, and for a recording of a later version.

        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".sse") as file:
        ...     _ = file.write(b"data: 1\n\n")
        ...     file.flush()
        ...     Recording.load(file.name).streams[0].last.reads
        (RecordedRead(at=0.0, data=b'data: 1\n\n'),)
        """
        body = Path(path).read_bytes()
        first, _, rest = body.partition(b"\n")
        header = header_of(first)
        if header is None:
            reads = (RecordedRead(0.0, body),) if body else ()
            whole = RecordedAttempt(reads=reads, end=RecordedEnd(0.0))
            return cls((RecordedStream(attempts=(whole,)),), plain=True)
        *lines, cut = rest.split(b"\n")
        if cut:
            log.warning("the last line of %s was cut after %d bytes; it is left out", path, len(cut))
        found: dict[tuple[int, int], _Found] = {}
        for number, line in enumerate(lines, 2):
            try:
                _add(found, line)
            except msgspec.MsgspecError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
        streams: dict[int, list[_Found]] = {}
        for (stream, _), attempt in sorted(found.items()):
            streams.setdefault(stream, []).append(attempt)
        return cls(
            tuple(
                RecordedStream(stream, attempts[0].round, tuple(attempt.made() for attempt in attempts))
                for stream, attempts in streams.items()
            ),
            header.started,
        )

    def stream(self, number: int = 1) -> RecordedStream:
        """The stream of this number; ValueError, saying which there are, if there is none."""
        for stream in self.streams:
            if stream.number == number:
                return stream
        there = ", ".join(str(stream.number) for stream in self.streams) or "none"
        raise ValueError(f"there is no stream {number} in this recording; there are: {there}")


class _Found:
    """An attempt, as its lines come."""

    def __init__(self, number: int, began: float, round: int | None) -> None:  # noqa: A002
        self.number, self.began, self.round = number, began, round
        self.request: RecordedRequest | None = None
        self.response: RecordedResponse | None = None
        self.reads: list[RecordedRead] = []
        self.end: RecordedEnd | None = None

    def made(self) -> RecordedAttempt:
        return RecordedAttempt(self.number, self.began, self.request, self.response, tuple(self.reads), self.end)


def _add(found: dict[tuple[int, int], _Found], text: bytes) -> None:
    line = decode_line(text)
    key = (line.stream, line.attempt)
    if key not in found:
        found[key] = _Found(line.attempt, line.at, line.round)
    attempt = found[key]
    at = round(line.at - attempt.began, 6)
    match line:
        case RequestLine():
            attempt.request = RecordedRequest(at, line.method, line.url, line.headers, line.body)
        case ResponseLine():
            attempt.response = RecordedResponse(at, line.status, line.headers)
        case ReadLine():
            attempt.reads.append(RecordedRead(at, line.data))
        case EndLine():
            attempt.end = RecordedEnd(at, line.error)
        case OpenLine():
            pass
