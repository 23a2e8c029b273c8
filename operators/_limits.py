"""Guards: a stream that says more than it may ends in LimitExceeded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from operators._assembly import Assembly
from operators._bytes import as_bytes
from operators._errors import LimitExceeded
from operators._events import Event, ReasoningDelta, RefusalDelta, Restarted, TextDelta, ToolCallDelta
from operators._given import check_number
from operators._operator import Operator, Out, Stage, operator

A = TypeVar("A")


class TokenCounter(Protocol):
    """Whatever can count the tokens of a text, as tokenizers do."""

    def count(self, text: str, /) -> int: ...


def limit_text(max_chars: int) -> Operator[Event, Event]:
    r"""From events to the same events, until the answer's text has more than `max_chars` characters.

    All choices and rounds of a stream count together; a restart, which makes void what came, begins afresh. The delta
    that crosses the limit is cut, so that exactly `max_chars` characters came; then LimitExceeded is raised, whose
    `partial` holds everything that passed. Until then it ends as the stream above does. Raises ValueError when called
    with a negative number.

        TextDelta('Hel')  TextDelta('lo')
        limit_text(4)
        TextDelta('Hel')  (TextDelta('l') #LimitExceeded)

    >>> import reactivex
    >>> from operators import TextDelta
    >>> reactivex.of(TextDelta("Hel"), TextDelta("lo")).pipe(limit_text(4)).subscribe(print, print) and None
    TextDelta(text='Hel', choice=0)
    TextDelta(text='l', choice=0)
    the text has more than 4 characters
    """
    return _named(f"limit_text({max_chars})", max_chars, _limit_text(max_chars))


@operator
def _limit_text(out: Out[Event], max_chars: int) -> Stage[Event]:
    passed = Assembly("limit_text()")
    left = max_chars

    def on_next(event: Event) -> None:
        nonlocal left
        if isinstance(event, TextDelta):
            left -= len(event.text)
            if left < 0:
                if fits := event.text[:left]:
                    hand_on(TextDelta(fits, event.choice))
                raise LimitExceeded(
                    f"the text has more than {max_chars} characters", partial=passed.messages(ended=False)
                )
        elif isinstance(event, Restarted):
            left = max_chars
        hand_on(event)

    def hand_on(event: Event) -> None:
        passed.add(event)
        out.on_next(event)

    yield on_next


def limit_tokens(n: int, count: Callable[[str], int] | TokenCounter) -> Operator[Event, Event]:
    r"""From events to the same events, until what the model has said has more than `n` tokens.

    Counted are text, reasoning, refusal, and the names and arguments of tool calls, of all choices and rounds together,
    as a provider's `max_tokens` would; a restart begins afresh. `count` is a function of a text, or a tokenizer with
    such a method. Each delta is counted by itself, so that the cost does not grow; where a provider cuts inside of tokens
    the sum is a little higher than the count of the whole.

    The event that crosses the limit does not pass. LimitExceeded is raised in its place, with all that passed in
    `partial`. Until then it ends as the stream above does. Raises ValueError when called with a negative number,
    TypeError when there is nothing to count with.

        TextDelta('Hel')  TextDelta('lo')
        limit_tokens(4,len)
        TextDelta('Hel')  #LimitExceeded

    >>> import reactivex
    >>> from operators import TextDelta
    >>> few = limit_tokens(2, lambda text: len(text.split()))
    >>> reactivex.of(TextDelta("one two"), TextDelta(" three")).pipe(few).subscribe(print, print) and None
    TextDelta(text='one two', choice=0)
    the answer has more than 2 tokens
    """
    counted: Callable[[str], int] | None = getattr(count, "count", count if callable(count) else None)
    if counted is None:
        raise TypeError(f"limit_tokens() takes a function that counts the tokens of a text; got {count!r}")
    return _named(f"limit_tokens({n}, {count!r})", n, _limit_tokens(n, counted))


@operator
def _limit_tokens(out: Out[Event], n: int, count: Callable[[str], int]) -> Stage[Event]:
    passed = Assembly("limit_tokens()")
    left = n

    def on_next(event: Event) -> None:
        nonlocal left
        if isinstance(event, (TextDelta, ReasoningDelta, RefusalDelta)):
            left -= count(event.text)
        elif isinstance(event, ToolCallDelta):
            left -= sum(count(text) for text in (event.name, event.arguments) if text)
        elif isinstance(event, Restarted):
            left = n
        if left < 0:
            raise LimitExceeded(f"the answer has more than {n} tokens", partial=passed.messages(ended=False))
        passed.add(event)
        out.on_next(event)

    yield on_next


def limit_bytes(n: int) -> Operator[bytes, bytes]:
    r"""From reads to the same reads, until a body has more than `n` bytes.

    The read that crosses the limit is cut, so that exactly `n` bytes came; then LimitExceeded is raised. Goes above
    `decode()`, whose stages still hand on what these bytes say. Until then it ends as the stream above does. Raises
    ValueError when called with a negative number.

        b'abc'  b'de'
        limit_bytes(4)
        b'abc'  (b'd' #LimitExceeded)

    >>> from pipeline import replay
    >>> replay([b"abc", b"de"]).pipe(limit_bytes(4)).subscribe(print, print) and None
    b'abc'
    b'd'
    the body has more than 4 bytes
    """
    return _named(f"limit_bytes({n})", n, _limit_bytes(n))


@operator
def _limit_bytes(out: Out[bytes], n: int) -> Stage[bytes]:
    left = n

    def on_next(read: bytes) -> None:
        nonlocal left
        if type(read) is not bytes:
            read = as_bytes(read)
        left -= len(read)
        if left < 0:
            if fits := read[:left]:
                out.on_next(fits)
            raise LimitExceeded(f"the body has more than {n} bytes")
        out.on_next(read)

    yield on_next


def _named(name: str, limit: int, made: Operator[A, A]) -> Operator[A, A]:
    """The operator under its public name, if its limit is one."""
    check_number(f"the limit of {name}", "a whole number, at least 0", limit, lambda n: n >= 0, whole=True)
    return Operator((name,), made.kernels)
