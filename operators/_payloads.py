"""ServerSentEvent → bytes: the data that is a chunk."""

from __future__ import annotations

from operators._errors import EmptyStream, TruncatedError
from operators._inband import error_of_event
from operators._misplaced import misplaced
from operators._operator import Out, Stage, operator
from operators._sse import ServerSentEvent


@operator
def payloads(out: Out[bytes], sentinel: bytes = b"[DONE]") -> Stage[ServerSentEvent]:
    r"""From server-sent events to the data of those that hold a chunk.

    Completes at the sentinel, which is a whole payload with nothing but white space around it, never a part of one, and
    finishes what is above. Events whose data is blank are heartbeats and say nothing.

    Raises ApiError at an event named "error"; TruncatedError when the body ends without the sentinel, EmptyStream when
    there was nothing but blank events, or nothing but the sentinel.

        ServerSentEvent(b'{}')  ServerSentEvent(b'')  ServerSentEvent(b'[DONE]')
        payloads()
        b'{}'                   -                     |

        ServerSentEvent(b'{}')  |
        payloads()
        b'{}'                   #TruncatedError

    >>> from operators import lines, sse
    >>> from pipeline import replay
    >>> replay(b"data: {}\n\ndata: [DONE]\n\n").pipe(lines(), sse(), payloads()).subscribe(print) and None
    b'{}'
    """
    seen = False
    marked = sentinel[:1]

    def on_next(event: ServerSentEvent) -> None:
        nonlocal seen
        try:
            data, kind = event.data, event.event
        except AttributeError:
            raise misplaced("payloads()", "server-sent events", event, "sse()") from None
        if kind == "error":
            seen = True
            raise error_of_event(data)
        if data[:1] != b"{" or marked == b"{":
            stripped = data.strip()
            if not stripped:
                return
            if stripped == sentinel:
                if not seen:
                    raise EmptyStream("the stream said nothing but its end mark")
                out.on_completed()
        seen = True
        out.on_next(data)

    yield on_next
    if not seen:
        raise EmptyStream("the body ended without a single chunk")
    raise TruncatedError(f"the body ended without {sentinel.decode('utf-8', 'replace')}")
