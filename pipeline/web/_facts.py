"""Event → what stands in the line above an answer."""

from __future__ import annotations

from msgspec import Struct

from operators import (
    AudioDelta,
    Conversation,
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    Retrying,
    RoundStarted,
    Started,
    TextDelta,
    ToolCallDelta,
    Usage,
)

STALL = 1.0
"""Seconds between two pieces that are a stall."""

_PIECES = (TextDelta, ReasoningDelta, ToolCallDelta, RefusalDelta, AudioDelta)


class Facts(Struct, omit_defaults=True):
    """What is known of a stream. Times are in seconds since it began.

    `state` is waiting, streaming, completed, broken or left. `rate` is tokens a second while it spoke: by the provider's
    count where that has come, else (`estimated`) with each piece taken for a token. Waiting for a round's first token
    is no part of it.

    >>> facts = Facts()
    >>> for at, event in enumerate((TextDelta("H"), TextDelta("i"), Usage(3, 5, 8), Finish("stop"))):
    ...     facts.add(event, at * 2.0)
    >>> facts.state, facts.first, facts.rate, facts.tokens_out, facts.finish, facts.stalls
    ('streaming', 0.0, 2.0, 5, 'stop', 1)
    """

    state: str = "waiting"
    model: str | None = None
    events: int = 0
    first: float | None = None
    ended: float | None = None
    rate: float | None = None
    estimated: bool = True
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish: str = ""
    stalls: int = 0
    longest: float = 0.0
    retries: int = 0
    round: int = 0
    error: str | None = None

    # what it is made of, and not told
    _reasons: dict[int, str] = {}  # noqa: RUF012  # msgspec makes a new one for each
    _pieces: int = 0
    _speaking: float = 0.0  # in the rounds before
    _spoken: int = 0  # rounds that said something, this one too
    _begin: float | None = None  # of the pieces of this round
    _last: float = 0.0
    _usages: list[Usage] = []  # noqa: RUF012  # of the rounds before
    _usage: Usage | None = None

    def add(self, event: Event, at: float) -> None:
        self.events += 1
        if isinstance(event, _PIECES):
            self._piece(at)
        elif isinstance(event, Started):
            self.model = event.model or self.model
        elif isinstance(event, Finish):
            self._reasons.setdefault(event.choice, event.reason)
            self.finish = ", ".join(dict.fromkeys(self._reasons.values()))
        elif isinstance(event, Usage):
            self._usage = event
            self._count([*self._usages, event])
        elif isinstance(event, Conversation) and event.usage is not None:
            self._count([event.usage])
        elif isinstance(event, RoundStarted):
            self._begin_round(event.round)
        elif isinstance(event, Retrying):
            self.retries += 1

    def end(self, state: str, at: float) -> None:
        self.state, self.ended = state, at

    def _piece(self, at: float) -> None:
        self.state = "streaming"
        self._pieces += 1
        self.first = at if self.first is None else self.first
        if self._begin is None:
            self._begin = at
            self._spoken += 1
        elif at - self._last >= STALL:
            self.stalls += 1
            self.longest = max(self.longest, at - self._last)
        self._last = at
        self._measure()

    def _begin_round(self, number: int) -> None:
        if self._begin is not None:
            self._speaking += self._last - self._begin
        self._usages += [self._usage] if self._usage else []
        self._begin = self._usage = None
        self.round = number
        self._reasons.clear()
        self.finish = ""

    def _count(self, usages: list[Usage]) -> None:
        self.tokens_in = _sum([usage.prompt_tokens for usage in usages])
        self.tokens_out = _sum([usage.completion_tokens for usage in usages])
        self._measure()

    def _measure(self) -> None:
        counted = self._usage is not None and self.tokens_out is not None
        tokens = self.tokens_out if counted and self.tokens_out is not None else self._pieces
        speaking = self._speaking + (self._last - self._begin if self._begin is not None else 0.0)
        # the first token of each round is what its time begins with
        if tokens > self._spoken and speaking > 0:
            self.rate, self.estimated = (tokens - self._spoken) / speaking, not counted


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
