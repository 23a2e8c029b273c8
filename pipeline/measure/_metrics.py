"""Event → Event | Metrics: adds what was measured, at the end."""

from __future__ import annotations

from msgspec import field

from operators import (
    AudioDelta,
    Event,
    Out,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Retrying,
    RoundStarted,
    Stage,
    StreamError,
    TextDelta,
    ToolCallDelta,
    Usage,
    operator,
)
from operators._no_events import NO_EVENTS, no_event
from operators._stream_event import StreamEvent
from pipeline.measure._quantiles import Quantiles
from pipeline.measure._source_facts import SourceFacts

CONTENT = (TextDelta, ReasoningDelta, RefusalDelta, ToolCallDelta, AudioDelta)
"""What a model generates: a chunk of any of these is an output chunk, a heartbeat is none."""

_CONTENT = frozenset(CONTENT)


class Metrics(StreamEvent, frozen=True):
    """What was measured of one stream, or of one round of a conversation. Times are in seconds; None is unknown.

    The `time_to_first_…` are counted from the subscription or the start of the round, so they include failed attempts and
    the waits between them: byte is the first read of a body, chunk the first event that a chunk gave, content the first
    piece of text, reasoning, refusal, arguments or audio. `requested` is when the last request was issued, so
    `time_to_first_byte - requested` is the server's part where the first attempt went well.
    `duration` goes to the end of the body, or to the last event where no source was seen.

    `gap_…` are between one piece of content and the next (p50, p90, p99 within 1 %, the largest exact). A gap longer than
    the limit is a stall, and so is silence of that length between the last content and the end.

    `characters` are those of all content but audio; rates count what came after the first piece, from then to the last.
    Tokens are the provider's, or counted here (`estimated`). `events` counts by name; `reads`, `bytes` and `heartbeats`
    (comments of the event stream) are those of the sources above, 0 where none was seen. `error` is the kind of error that
    ended it.
    """

    duration: float
    requested: float | None = None
    time_to_first_byte: float | None = None
    time_to_first_chunk: float | None = None
    time_to_first_content: float | None = None
    gap_p50: float | None = None
    gap_p90: float | None = None
    gap_p99: float | None = None
    gap_max: float | None = None
    stalls: int = 0
    longest_stall: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    estimated: bool = False
    tokens_per_second: float | None = None
    characters: int = 0
    characters_per_second: float | None = None
    reads: int = 0
    bytes: int = 0
    heartbeats: int = 0
    events: dict[str, int] = field(default_factory=dict)
    attempts: int = 1
    round: int | None = None
    error: str | None = None


@operator
def metrics(out: Out[Event | Metrics], *, stall: float = 1.0) -> Stage[Event]:
    r"""From events to the same events and, last, one Metrics.

    In a tool conversation there is one for each round, before the next RoundStarted; a restart counts afresh what was said,
    not how long it took. When the stream breaks, the Metrics come before the error. A gap of more than `stall` seconds
    between two pieces of content is a stall. Time is that of the scheduler given to subscribe, so in virtual time the
    same stream gives the same numbers. Memory does not grow with the stream.

    Raises ValueError for a `stall` that is not above 0.

    >>> from operators import TextDelta, select
    >>> from pipeline import decode, replay
    >>> body = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n: alive\n\ndata: [DONE]\n\n'
    >>> found = []
    >>> replay([body]).pipe(decode(), metrics()).subscribe(found.append) and None
    >>> found[-1].events, found[-1].characters, found[-1].bytes, found[-1].heartbeats
    ({'Started': 1, 'TextDelta': 1, 'Finish': 1}, 2, 94, 1)
    """
    if not stall > 0:
        raise ValueError(f"metrics(stall=…) is a number of seconds above 0, not {stall!r}")
    now = out.now
    facts = SourceFacts(now)
    out.watch(facts)
    measure = _Measure(now(), facts, stall)

    def on_next(event: Event) -> None:
        nonlocal measure
        if type(event) in _CONTENT:
            measure.content(event, now())
        else:
            if isinstance(event, RoundStarted):
                if measure.counts:
                    out.on_next(measure.metrics(now()))
                facts.clear()
                measure = _Measure(now(), facts, stall, event.round)
            elif isinstance(event, Restarted):
                measure.restart()
            elif type(event) in NO_EVENTS:
                raise no_event("metrics()", event)
            measure.other(event, now())
        out.on_next(event)

    try:
        yield on_next
    except Exception as error:
        out.on_next(measure.metrics(now(), error))
        raise
    out.on_next(measure.metrics(now()))


class _Measure:
    """One round, as it is measured."""

    def __init__(self, began: float, facts: SourceFacts, stall: float, round: int | None = None) -> None:  # noqa: A002
        self._began, self._facts, self._stall, self._round = began, facts, stall, round
        self._attempts = 1
        self.restart()

    def restart(self) -> None:
        """What was said is void."""
        self._gaps = Quantiles()
        self._stalls, self._longest = 0, 0.0
        self._characters = self._first_characters = 0
        self._first_chunk: float | None = None
        self._first: float | None = None
        self._last = 0.0
        self._usage = Usage()
        self.counts: dict[type[Event], int] = {}

    def other(self, event: Event, at: float) -> None:
        kind = type(event)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, Retrying):
            self._attempts = event.attempt
            return
        elif isinstance(event, (RoundStarted, Restarted)):
            return
        if self._first_chunk is None:
            self._first_chunk = at

    def content(self, event: Event, at: float) -> None:
        kind = type(event)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        length = _length(event)
        self._characters += length
        if self._first is None:
            self._first, self._first_characters = at, length
            if self._first_chunk is None:
                self._first_chunk = at
        else:
            gap = at - self._last
            self._gaps.add(gap)
            if gap > self._stall:
                self._silence(gap)
        self._last = at

    def _silence(self, seconds: float) -> None:
        self._stalls += 1
        self._longest = max(self._longest, seconds)

    def metrics(self, at: float, error: Exception | None = None) -> Metrics:
        facts, gaps = self._facts, self._gaps
        end = at if facts.closed_at is None else facts.closed_at
        if self._first is not None and end - self._last > self._stall:
            self._silence(end - self._last)
        span = self._last - (self._first or 0.0)
        tokens = self._usage.completion_tokens
        return Metrics(
            duration=round(end - self._began, 6),
            requested=self._since(facts.requested),
            time_to_first_byte=self._since(facts.first_read),
            time_to_first_chunk=self._since(self._first_chunk),
            time_to_first_content=self._since(self._first),
            gap_p50=_rounded(gaps.at(0.5)),
            gap_p90=_rounded(gaps.at(0.9)),
            gap_p99=_rounded(gaps.at(0.99)),
            gap_max=_rounded(gaps.at(1)),
            stalls=self._stalls,
            longest_stall=round(self._longest, 6),
            prompt_tokens=self._usage.prompt_tokens,
            completion_tokens=tokens,
            estimated=bool((self._usage.details or {}).get("estimated")),
            tokens_per_second=(tokens - 1) / span if tokens and span > 0 else None,
            characters=self._characters,
            characters_per_second=(self._characters - self._first_characters) / span if span > 0 else None,
            reads=facts.reads,
            bytes=facts.bytes,
            heartbeats=facts.heartbeats,
            events={kind.__name__: count for kind, count in self.counts.items()},
            attempts=self._attempts,
            round=self._round,
            error=None if error is None else error.kind if isinstance(error, StreamError) else type(error).__name__,
        )

    def _since(self, at: float | None) -> float | None:
        return None if at is None else round(at - self._began, 6)


def _rounded(seconds: float | None) -> float | None:
    """In whole microseconds: what is below is noise of the clock."""
    return None if seconds is None else round(seconds, 6)


def _length(event: Event) -> int:
    if isinstance(event, (TextDelta, ReasoningDelta, RefusalDelta)):
        return len(event.text)
    return len(event.name) + len(event.arguments) if isinstance(event, ToolCallDelta) else 0
