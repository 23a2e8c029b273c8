"""Event → Event: adds an estimated Usage where the provider sent none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec.structs import replace

from operators import (
    Conversation,
    Event,
    Operator,
    Out,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    RoundStarted,
    Stage,
    Started,
    TextDelta,
    ToolCallDelta,
    Usage,
    operator,
)
from pipeline.measure._token_counter import TokenCounter, token_counter

MakeCounter: TypeAlias = Callable[[str | None], TokenCounter]
"""From the name of a model, as far as it is known, to a counter for one text."""


def count_tokens(*, model: str | None = None, counter: MakeCounter = token_counter) -> Operator[Event, Event]:
    r"""From events to the same events and, if the provider has sent no token counts, one Usage that is an estimate.

    Counts text, reasoning, refusals, and names and arguments of tool calls, each as a text of its own, as they come. The
    estimate has `{"estimated": True}` in its details, with the tokens of the reasoning where there are any, and knows
    nothing of the prompt. It comes when the stream completes or breaks, before the end is passed on; in a conversation at the
    end of each round. What came before a restart is not counted.

    `model` chooses how to count; None takes the name that the answer gives. `counter` makes a TokenCounter for a model.
    Raises ImportError without the extra `tokens`, here and not when it is subscribed.

    >>> import reactivex
    >>> from operators import TextDelta
    >>> reactivex.of(TextDelta("Hello, wor"), TextDelta("ld!")).pipe(count_tokens()).subscribe(print) and None
    TextDelta(text='Hello, wor', choice=0)
    TextDelta(text='ld!', choice=0)
    Usage(prompt_tokens=None, completion_tokens=4, total_tokens=None, details={'estimated': True})
    """
    counter(model)  # what is missing is told here, and tables that take time are loaded

    @operator
    def count_tokens(out: Out[Event]) -> Stage[Event]:
        name = model
        counters: dict[tuple[Any, ...], TokenCounter] = {}
        usage: Usage | None = None

        def count(text: str, *where: Any) -> None:
            if text:
                found = counters.get(where)
                if found is None:
                    found = counters[where] = counter(name)
                found.feed(text)

        def on_next(event: Event) -> None:
            nonlocal name, usage
            match event:
                case TextDelta() | ReasoningDelta() | RefusalDelta():
                    count(event.text, type(event), event.choice)
                case ToolCallDelta():
                    count(event.name, "name", event.choice, event.key)
                    count(event.arguments, "arguments", event.choice, event.key)
                case Started():
                    name = name or event.model
                case Usage():
                    usage = event
                case RoundStarted() | Conversation():
                    estimate()
                case Restarted():
                    begin()
            out.on_next(event)

        def begin() -> None:
            nonlocal usage
            counters.clear()
            usage = None

        def estimate() -> None:
            if counters and (usage is None or usage.completion_tokens is None):
                out.on_next(_estimate(usage or Usage(), counters))
            begin()

        try:
            yield on_next
        except Exception:
            estimate()
            raise
        estimate()

    return count_tokens()


def _estimate(known: Usage, counters: dict[tuple[Any, ...], TokenCounter]) -> Usage:
    tokens = {where: counter.total() for where, counter in counters.items()}
    reasoning = sum(count for where, count in tokens.items() if where[0] is ReasoningDelta)
    details: dict[str, Any] = {**(known.details or {}), "estimated": True}
    if reasoning:
        details["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return replace(known, completion_tokens=sum(tokens.values()), details=details)
