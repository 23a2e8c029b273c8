"""What stands under an answer: how it ended, how many tokens it took, and how fast they came."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from operators import (
    AudioDelta,
    Conversation,
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    RoundStarted,
    TextDelta,
    ToolCallDelta,
    Usage,
)

TOKENS = (TextDelta, ReasoningDelta, ToolCallDelta, RefusalDelta, AudioDelta)


class Prices(NamedTuple):
    """What a million tokens cost."""

    input: float
    output: float
    sign: str = "$"

    def of(self, tokens_in: int, tokens_out: int) -> str:
        """What these tokens cost.

        >>> Prices(0.15, 0.6).of(1200, 340), Prices(3, 15, "€").of(400_000, 20_000)
        ('$0.000384', '€1.50')
        """
        cost = (tokens_in * self.input + tokens_out * self.output) / 1e6
        return f"{self.sign}{cost:,.{2 if cost >= 1 or not cost else 4 if cost >= 0.01 else 6}f}"


class Tally:
    """Counts events as they come. Time is read from `clock`, in seconds, and begins with the tally; None: no times.

    >>> times = iter([0.0, 0.5, 2.5])
    >>> tally = Tally(lambda: next(times))
    >>> for event in (TextDelta("H"), TextDelta("i"), Usage(3, 5, 8), Finish("stop")):
    ...     tally.add(event)
    >>> tally.parts()
    ['stop', '3 tokens in, 5 out', '0.50 s to first token', '2.0 tokens/s']
    """

    def __init__(self, clock: Callable[[], float] | None, prices: Prices | None = None) -> None:
        self._clock = clock
        self._prices = prices
        self._began = clock() if clock is not None else 0.0
        self._waited: float | None = None  # until the first token of all
        self._usages: list[Usage] = []  # of the rounds before
        self._spans: list[float] = []  # from first to last token of the rounds before
        self._pieces_before = 0  # deltas of the rounds before that no usage speaks for
        self._total: Usage | None = None
        self._clear()

    def _clear(self) -> None:
        self._first = self._last = 0.0
        self._speaks = False
        self._pieces = 0
        self._usage: Usage | None = None
        self._reasons: dict[int, str] = {}

    def add(self, event: Event) -> None:
        if isinstance(event, TOKENS):
            if self._clock is not None:
                self._last = self._clock()
                if not self._speaks:
                    self._first = self._last
                    self._waited = self._last - self._began if self._waited is None else self._waited
            self._speaks = True
            self._pieces += 1
        elif isinstance(event, Finish):
            self._reasons.setdefault(event.choice, event.reason)
        elif isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, Conversation):
            self._total = event.usage
        elif isinstance(event, RoundStarted):
            self._close_round()
        elif isinstance(event, Restarted):
            self._waited = None if not self._spans else self._waited
            self._clear()

    def _close_round(self) -> None:
        if self._speaks:
            self._spans.append(self._last - self._first)
        if self._usage is not None:
            self._usages.append(self._usage)
        else:
            self._pieces_before += self._pieces
        self._clear()

    def so_far(self, now: float) -> list[str]:
        """What is known while the stream runs; a `~` is before what is counted in deltas until the provider's count comes."""
        tokens_in, known = self._counts()
        guessed = self._pieces_before + (self._pieces if self._usage is None else 0)
        tokens_out = (known or 0) + guessed
        about = "~" if guessed else ""
        took = now - self._began
        found = [f"{took:.{0 if took >= 10 else 1}f} s"] if self._clock is not None else []
        if tokens_out:
            found.append(f"{about}{_tokens(tokens_out)}")
        if self._pieces > 1 and self._last > self._first:
            found.append(f"{about}{(self._pieces - 1) / (self._last - self._first):,.0f} tokens/s")
        if tokens_out and self._prices is not None:
            found.append(about + self._prices.of(tokens_in or 0, tokens_out))
        return found

    def parts(self, *, took: bool = False) -> list[str]:
        """What is known at the end, in the order in which it is shown; with how long it all `took` if that is asked for."""
        spans = self._spans + ([self._last - self._first] if self._speaks else [])
        tokens_in, tokens_out = self._counts()
        found = [self._reason()]
        if tokens_in is not None:
            found.append(f"{_tokens(tokens_in)} in" + (f", {tokens_out:,} out" if tokens_out is not None else ""))
        elif tokens_out is not None:
            found.append(f"{_tokens(tokens_out)} out")
        if self._waited is not None:
            found.append(f"{self._waited:.2f} s to first token")
        # the first token of each round is what its span begins with
        if tokens_out is not None and tokens_out > len(spans) and sum(spans) > 0:
            found.append(_per_second((tokens_out - len(spans)) / sum(spans)))
        if took and self._clock is not None and self._waited is not None:
            found.append(f"{self._clock() - self._began:.1f} s in all")
        if self._prices is not None and tokens_out is not None:
            found.append(self._prices.of(tokens_in or 0, tokens_out))
        return [part for part in found if part]

    def _reason(self) -> str:
        reasons = set(self._reasons.values())
        if len(reasons) < 2:
            return "".join(reasons)
        return ", ".join(f"{choice}: {reason}" for choice, reason in sorted(self._reasons.items()))

    def _counts(self) -> tuple[int | None, int | None]:
        usages = [self._total] if self._total is not None else [*self._usages, *([self._usage] if self._usage else [])]
        return _sum(usage.prompt_tokens for usage in usages), _sum(usage.completion_tokens for usage in usages)


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _tokens(count: int) -> str:
    return f"{count:,} token{'' if count == 1 else 's'}"


def _per_second(rate: float) -> str:
    return f"{rate:,.{1 if rate < 100 else 0}f} tokens/s"
