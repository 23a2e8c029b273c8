"""bytes → bytes: makes sure that a body is an event stream, and makes one of a JSON completion."""

from __future__ import annotations

import re

from operators._bytes import BOM, as_bytes
from operators._calls import loads
from operators._errors import LimitExceeded, NotEventStream, TruncatedError
from operators._inband import error_of_body
from operators._json_depth import JsonDepth
from operators._operator import Out, Stage, operator

_FIELD = re.compile(rb"[\r\n](?:data|event|id|retry)[:\r\n]")
_SHOWN = 160


@operator
def event_stream(out: Out[bytes], *, limit: int | None = 64 * 1024 * 1024) -> Stage[bytes]:
    r"""From the reads of a body to those of an event stream.

    The first bytes that are not blank tell: `{` or `[` begins one JSON body, a completion that was not streamed or an
    error, which is collected and emitted as one event; `<` begins a page. All else is handed on as it is.

    Raises NotEventStream, with the start of the body, for a page, for JSON that is no completion (JSON lines, for
    one), and when a body ends in which no line was a field of an event stream; TruncatedError for a JSON body that was
    cut.

        b'{"choices":'  b'[]}'  |
        event_stream()
        -               -       (b'data: {"choices":[]}\n' b'\ndata: [DONE]\n\n' |)

    >>> from pipeline import replay
    >>> replay(b"<html>").pipe(event_stream()).subscribe(on_error=lambda error: print(repr(error))) and None
    NotEventStream("expected an event stream, got a body that starts with b'<html>'")
    """
    head = bytearray()  # a JSON body as a whole; of any other, the start
    tail = b"\n"  # the last bytes, in which a field may have begun
    kind = ""
    blank = False  # the head, so far

    def on_next(read: bytes) -> None:
        if kind == "events":
            out.on_next(read)
        elif kind == "unsure":
            look_on(read)
        else:
            head.extend(read if type(read) is bytes else as_bytes(read))
            if not kind and not (blank and not bytes(read).strip()):
                begin()
            if kind == "page" and len(head) >= _SHOWN:
                raise _not_events(head)
            if limit is not None and len(head) > limit:
                raise LimitExceeded(
                    f"a JSON body has more than {limit} bytes; event_stream(limit=…) sets how many it may have"
                )

    def begin() -> None:
        """Know the body by its first byte that is not blank, once it is there."""
        nonlocal blank, kind
        stripped = head.removeprefix(BOM).lstrip()
        blank = not stripped
        if blank or BOM.startswith(stripped):
            return
        kind = _KINDS.get(bytes(stripped[:1]), "unsure")
        if kind in {"events", "unsure"}:
            first = bytes(head)
            head.clear()
            if kind == "events":
                out.on_next(first)
            else:
                look_on(first.removeprefix(BOM))

    def look_on(read: bytes) -> None:
        """Hand on, and look for the first field."""
        nonlocal kind, tail
        window = tail + read
        if _FIELD.search(window):
            kind = "events"
            head.clear()
        else:
            tail = window[-8:]
            head.extend(read[: _SHOWN - len(head)])
        out.on_next(read)

    try:
        yield on_next
    except Exception:
        if kind != "json" or not _is_json(head):
            raise
    if kind == "unsure" and any(name.startswith(head) for name in (b"data:", b"event:", b"id:", b"retry:")):
        raise TruncatedError(f"the body was cut after {len(head)} bytes")
    if kind in {"page", "unsure"}:
        raise _not_events(head)
    if kind == "json":
        for line in _completion(head).splitlines():
            out.on_next(b"data: " + line + b"\n")
        out.on_next(b"\ndata: [DONE]\n\n")
    elif not kind and head:
        out.on_next(bytes(head))


_KINDS = {b"{": "json", b"[": "json", b"<": "page", b":": "events"}


def _completion(body: bytearray) -> bytes:
    """The body, if it is a completion or an error, as one line or several."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    value = loads(text)
    if value is None:
        depth = JsonDepth()
        depth.feed(text)
        if depth.whole:
            raise _not_events(body)
        raise TruncatedError(f"the body is a JSON object that was cut after {len(body)} bytes")
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict) or not (value.keys() & {"choices", "message", "delta"} or error_of_body(value)):
        raise _not_events(body)
    return text.encode()


def _is_json(body: bytearray) -> bool:
    return loads(body.decode("utf-8", "replace")) is not None


def _not_events(head: bytearray) -> NotEventStream:
    shown = bytes(head[:_SHOWN])
    return NotEventStream(f"expected an event stream, got a body that starts with {shown!r}")
