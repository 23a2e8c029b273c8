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
    count where that has come, else (`estimated`) with each piece taken for a token. Waiting for the first token of a
    round is no part of it.
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


class Account:
    """Keeps the facts of one stream up to date.

    >>> account = Account()
    >>> for at, event in enumerate((TextDelta("H"), TextDelta("i"), Usage(3, 5, 8), Finish("stop"))):
    ...     account.add(event, at * 2.0)
    >>> facts = account.facts
    >>> facts.state, facts.first, facts.rate, facts.tokens_out, facts.finish, facts.stalls
    ('streaming', 0.0, 2.0, 5, 'stop', 1)
    """

    def __init__(self) -> None:
        self.facts = Facts()
        self._reasons: dict[int, str] = {}
        self._pieces = 0
        self._spoken = 0  # rounds that said something
        self._before = 0.0  # seconds that the rounds before spoke
        self._begin: float | None = None  # of the pieces of this round
        self._last = 0.0
        self._usages: list[Usage] = []  # of the rounds before
        self._usage: Usage | None = None

    def add(self, event: Event, at: float) -> None:
        facts = self.facts
        facts.events += 1
        if isinstance(event, _PIECES):
            self._piece(at)
        elif isinstance(event, Started):
            facts.model = event.model or facts.model
        elif isinstance(event, Finish):
            self._reasons.setdefault(event.choice, event.reason)
            facts.finish = ", ".join(dict.fromkeys(self._reasons.values()))
        elif isinstance(event, Usage):
            self._usage = event
            self._count([*self._usages, event])
        elif isinstance(event, Conversation) and event.usage is not None:
            self._count([event.usage])
        elif isinstance(event, RoundStarted):
            self._begin_round(event.round)
        elif isinstance(event, Retrying):
            facts.retries += 1

    def end(self, state: str, at: float, error: str | None = None) -> None:
        self.facts.state, self.facts.ended, self.facts.error = state, at, error

    def _piece(self, at: float) -> None:
        facts = self.facts
        facts.state = "streaming"
        self._pieces += 1
        if facts.first is None:
            facts.first = at
        if self._begin is None:
            self._begin = at
            self._spoken += 1
        elif at - self._last >= STALL:
            facts.stalls += 1
            facts.longest = max(facts.longest, at - self._last)
        self._last = at
        if self._usage is None:
            self._measure(self._pieces, estimated=True)

    def _begin_round(self, number: int) -> None:
        if self._begin is not None:
            self._before += self._last - self._begin
        if self._usage is not None:
            self._usages.append(self._usage)
        self._begin = self._usage = None
        self._reasons.clear()
        self.facts.round, self.facts.finish = number, ""

    def _count(self, usages: list[Usage]) -> None:
        self.facts.tokens_in = _sum([usage.prompt_tokens for usage in usages])
        self.facts.tokens_out = _sum([usage.completion_tokens for usage in usages])
        if self.facts.tokens_out is not None:
            self._measure(self.facts.tokens_out, estimated=False)

    def _measure(self, tokens: int, *, estimated: bool) -> None:
        speaking = self._before + (self._last - self._begin if self._begin is not None else 0.0)
        if tokens > self._spoken and speaking > 0:  # the first token of a round is what its time begins with
            self.facts.rate, self.facts.estimated = (tokens - self._spoken) / speaking, estimated


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
