"""The format of a recording, version 1: JSON Lines, one object a line, in the order in which things happened.

The first line says what the file is; each other one begins with its `kind`, `at` (seconds since the recording began),
`stream` (counted from 1), `attempt` (from 1) and, in a tool conversation, `round` (from 1):

    {"format":"rxchat recording","version":1,"started":"2026-11-30T12:00:00+00:00"}
    {"kind":"open","at":0.0,"stream":1,"attempt":1}                             subscribed
    {"kind":"request", …,"method":"POST","url":"…","headers":{…},"body":{…}}    without secrets
    {"kind":"response", …,"status":200,"headers":{…}}                           without secrets
    {"kind":"read", …,"text":"data: …"}                                         one read, just as it came
    {"kind":"end", …}                                                           with "error" if it broke

A read that is valid UTF-8 stands under `text`, any other (one that was cut inside a character, for one) under `base64`.
Lines end in LF, and in nothing else: U+2028 may stand in a text.

A stream without `end` was still running when the recorder died. A last line that no LF ends was being written then,
and is dropped. A reader of version 1 refuses a higher version.
"""

from __future__ import annotations

import base64
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from operators import StreamError
from pipeline._redact import redact_text

FORMAT = "rxchat recording"
VERSION = 1


class Header(Struct, frozen=True):
    """The first line. `started` is the date and time (ISO 8601, UTC) to which all offsets are relative."""

    format: str
    version: int
    started: str | None = None


class Line(Struct, frozen=True, tag_field="kind", omit_defaults=True):
    at: float
    stream: int
    attempt: int


class OpenLine(Line, frozen=True, tag="open"):
    round: int | None = None


class RequestLine(Line, frozen=True, tag="request"):
    method: str
    url: str
    headers: dict[str, str]
    body: Any = None
    round: int | None = None


class ResponseLine(Line, frozen=True, tag="response"):
    status: int
    headers: dict[str, str]
    round: int | None = None


class ReadLine(Line, frozen=True, tag="read"):
    text: str | None = None
    base64: str | None = None
    round: int | None = None

    @property
    def data(self) -> bytes:
        return base64.b64decode(self.base64) if self.base64 is not None else (self.text or "").encode()


class EndLine(Line, frozen=True, tag="end"):
    error: Failure | None = None
    round: int | None = None


AnyLine: TypeAlias = OpenLine | RequestLine | ResponseLine | ReadLine | EndLine


class Failure(Struct, frozen=True, omit_defaults=True):
    """How a stream broke: the fields of a StreamError; of any other error, its name under `type` and no `kind`."""

    message: str
    kind: str | None = None
    code: str | int | None = None
    type: str | None = None
    param: Any = None
    status: int | None = None
    retry_after: float | None = None
    request_id: str | None = None
    phase: str | None = None

    @classmethod
    def of(cls, error: Exception, secrets: tuple[str, ...] = ()) -> Failure:
        """
        >>> from operators import ConnectionLost
        >>> Failure.of(ConnectionLost("the connection broke")).error()
        ConnectionLost('the connection broke')
        """
        message = redact_text(str(error), secrets)
        if not isinstance(error, StreamError):
            return cls(message, type=type(error).__name__)
        return cls(
            message,
            error.kind,
            error.code,
            error.type,
            error.param,
            error.status,
            error.retry_after,
            error.request_id,
            getattr(error, "phase", None),
        )

    def error(self) -> StreamError:
        """An error of the same kind; StreamError itself for one that was of no kind."""
        kinds = {kind.kind: kind for kind in StreamError.__subclasses__()}
        make = kinds.get(self.kind or "", StreamError)
        error = make(
            self.message if self.kind is not None else f"{self.type}: {self.message}",
            code=self.code,
            type=self.type,
            param=self.param,
            status=self.status,
            retry_after=self.retry_after,
            request_id=self.request_id,
        )
        if self.phase is not None:
            error.phase = self.phase  # type: ignore[attr-defined]  # of a StreamTimeout
        return error


def read_line(data: bytes, at: float, stream: int, attempt: int, round: int | None) -> ReadLine:  # noqa: A002
    """A read as a line: as text if it can be, in base64 if not.

    >>> read_line(b"\\xf0\\x9f", 0.5, 1, 1, None).base64
    '8J8='
    """
    try:
        return ReadLine(at, stream, attempt, text=data.decode(), round=round)
    except UnicodeDecodeError:
        return ReadLine(at, stream, attempt, base64=base64.b64encode(data).decode("ascii"), round=round)


_encoder = msgspec.json.Encoder(enc_hook=repr)
_header_decoder = msgspec.json.Decoder(Header)
_line_decoder: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)


def encode(line: Header | AnyLine) -> bytes:
    """The line with its LF."""
    return _encoder.encode(line) + b"\n"


def header_of(line: bytes) -> Header | None:
    """The header, if this is the first line of a recording; ValueError if this version cannot read it."""
    try:
        header = _header_decoder.decode(line)
    except msgspec.MsgspecError:
        return None
    if header.format != FORMAT:
        return None
    if header.version > VERSION:
        raise ValueError(f"a recording of version {header.version}; this rxchat reads versions up to {VERSION}")
    return header


def decode_line(line: bytes) -> AnyLine:
    return _line_decoder.decode(line)
