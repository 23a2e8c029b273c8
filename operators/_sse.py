"""bytes → ServerSentEvent: the event-stream rules."""

from __future__ import annotations

from msgspec import Struct

from operators._errors import LimitExceeded
from operators._misplaced import misplaced
from operators._no_events import NO_EVENTS
from operators._operator import Out, Stage, operator


class ServerSentEvent(Struct, frozen=True, gc=False):
    """One event of an event stream. `id` is the last event id, which stays until it is changed; `retry` is in ms."""

    data: bytes
    event: str = "message"
    id: str = ""
    retry: int | None = None

    @property
    def text(self) -> str:
        """The data as text; a byte that is no UTF-8 costs one U+FFFD."""
        return self.data.decode("utf-8", "replace")


NO_EVENTS.add(ServerSentEvent)


@operator
def sse(out: Out[ServerSentEvent], *, flush: bool = True, limit: int | None = 64 * 1024 * 1024) -> Stage[bytes]:
    r"""From lines to server-sent events, by the rules of the WHATWG standard (HTML, section 9.2.6).

    Emits an event at each blank line that follows a `data` field; lines of data are joined with LF. One space after the
    colon is dropped; comments, unknown fields, an `id` with NUL and a `retry` that is not all digits are ignored.
    When the stream ends, by completion or by an error from above, an event that no blank line has ended is emitted
    too; the standard discards it (`flush=False`), but API servers end their last event with the body.

    Raises LimitExceeded when the data of one event has more than `limit` bytes (None: no limit).

        b'event: a'  b'data: 1'  b'data: 2'  b''                           b': hm'  b'data: 3'  |
        sse()
        -            -           -           ServerSentEvent(b'1\n2','a')  -        -           (ServerSentEvent(b'3') |)

    >>> from operators import lines
    >>> from pipeline import replay
    >>> replay(b"event: greeting\ndata: Hi\n\n").pipe(lines(), sse()).subscribe(print) and None
    ServerSentEvent(data=b'Hi', event='greeting', id='', retry=None)
    """
    data: list[bytes] = []
    size = -1  # of the data, joined: one LF less than there are lines
    kind, last_id = "message", ""
    retry: int | None = None

    def dispatch() -> None:
        nonlocal kind, retry, size
        if data:
            event = ServerSentEvent(data[0] if len(data) == 1 else b"\n".join(data), kind, last_id, retry)
            data.clear()
            kind, retry, size = "message", None, -1
            out.on_next(event)
        else:  # a block without data says nothing, and its event name and retry go with it
            kind, retry = "message", None

    def on_next(line: bytes) -> None:
        nonlocal size
        try:
            common = line[:6] == b"data: "
        except (TypeError, LookupError):  # a dict, for one, whose keys may be slices
            raise _no_line(line) from None
        if common:
            value = line[6:]
        elif not line:
            dispatch()
            return
        elif line[:5] == b"data:":
            value = line[5:]
        elif line == b"data":
            value = b""
        else:
            other_field(line)
            return
        size += len(value) + 1
        if limit is not None and size > limit:
            raise LimitExceeded(
                f"the data of an event has more than {limit} bytes; sse(limit=…) sets how many it may have"
            )
        data.append(value)

    def other_field(line: bytes) -> None:
        nonlocal kind, last_id, retry
        if not isinstance(line, (bytes, bytearray)):
            raise _no_line(line)
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            kind = value.decode("utf-8", "replace") or "message"
        elif name == b"id":
            if b"\0" not in value:
                last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 16:
            retry = int(value)

    try:
        yield on_next
    except Exception:
        if flush:
            dispatch()
        raise
    if flush:
        dispatch()


def _no_line(item: object) -> TypeError:
    return misplaced("sse()", "lines as bytes", item, "lines()")
