"""limit_text(), limit_tokens(), limit_bytes(): guards that end in `limit` with what came before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators import (
    Finish,
    LimitExceeded,
    Operator,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    RoundStarted,
    Started,
    TextDelta,
    ToolCallDelta,
    message,
)
from operators._limits import limit_bytes, limit_text, limit_tokens
from tests.support import WAYS, Seen, Way

WAY = WAYS[0]


def broken(seen: Seen) -> LimitExceeded:
    assert isinstance(seen.end, LimitExceeded)
    return seen.end


def test_the_delta_that_crosses_is_cut(each_way: Way) -> None:
    seen = each_way.run([Started("id"), TextDelta("Hel"), TextDelta("lo"), TextDelta("!")], limit_text(4))
    assert seen.values == [Started("id"), TextDelta("Hel"), TextDelta("l")]
    assert [whole.text for whole in broken(seen).partial] == ["Hell"]
    assert "4" in broken(seen).message


@given(st.lists(st.text(min_size=1), max_size=8), st.integers(0, 20))
def test_exactly_the_limit_passes(texts: list[str], limit: int) -> None:
    whole = "".join(texts)
    seen = WAY.run(map(TextDelta, texts), limit_text(limit))
    assert "".join(event.text for event in seen.values) == whole[:limit]
    assert all(event.text for event in seen.values)
    assert seen.completed == (len(whole) <= limit)


def test_choices_and_rounds_count_together_a_restart_does_not() -> None:
    seen = WAY.run([TextDelta("ab"), RoundStarted(2), TextDelta("cd", 1), TextDelta("e")], limit_text(3))
    assert seen.values == [TextDelta("ab"), RoundStarted(2), TextDelta("c", 1)]
    assert [(whole.choice, whole.text) for whole in broken(seen).partial] == [(1, "c")]
    assert WAY.run([TextDelta("ab"), Restarted(), TextDelta("abc")], limit_text(3)).completed


def test_only_the_text_counts() -> None:
    assert WAY.run(
        [ReasoningDelta("long enough"), ToolCallDelta(0, arguments="{}"), TextDelta("a")], limit_text(1)
    ).completed


def test_below_a_guard_the_message_keeps_what_came() -> None:
    seen = WAY.run([TextDelta("abc")], limit_text(2), message())
    assert [whole.text for whole in broken(seen).partial] == ["ab"]


class Tokenizer:
    def count(self, text: str, /) -> int:
        return len(text.split())


@pytest.mark.parametrize("count", [lambda text: len(text.split()), Tokenizer()])
def test_the_event_that_has_too_many_tokens_does_not_pass(count: Any, each_way: Way) -> None:
    seen = each_way.run([TextDelta("one two"), TextDelta(" three four"), Finish("stop")], limit_tokens(3, count))
    assert seen.values == [TextDelta("one two")]
    assert [whole.text for whole in broken(seen).partial] == ["one two"]
    assert broken(seen).message == "the answer has more than 3 tokens"


@pytest.mark.parametrize(
    "event",
    [ReasoningDelta("abc"), RefusalDelta("abc"), ToolCallDelta(0, name="ab", arguments="c"), TextDelta("abc", 1)],
)
def test_all_that_is_said_has_tokens(event: Any) -> None:
    assert WAY.run([event, Finish("stop")], limit_tokens(3, len)).completed
    assert broken(WAY.run([event, TextDelta("d")], limit_tokens(3, len))).kind == "limit"
    assert broken(WAY.run([event], limit_tokens(2, len))).kind == "limit"
    assert WAY.run([event, Restarted(), event], limit_tokens(3, len)).completed


@given(st.lists(st.binary(), max_size=8), st.integers(0, 20))
def test_exactly_so_many_bytes_pass(reads: list[bytes], limit: int) -> None:
    whole = b"".join(reads)
    seen = WAY.run(reads, limit_bytes(limit))
    assert b"".join(seen.values) == whole[:limit]
    assert seen.completed == (len(whole) <= limit)
    assert seen.completed or "bytes" in broken(seen).message


@pytest.mark.parametrize("make", [limit_text, limit_bytes, lambda n: limit_tokens(n, len)])
def test_a_negative_limit_is_refused_at_the_call(make: Any) -> None:
    assert isinstance(make(0), Operator)
    with pytest.raises(ValueError, match="at least 0; not -1"):
        make(-1)


def test_nothing_to_count_with_is_refused_at_the_call() -> None:
    with pytest.raises(TypeError, match="counts the tokens"):
        limit_tokens(1, 5)  # type: ignore[arg-type]


def test_a_guard_is_shown_as_it_is_written() -> None:
    assert repr(limit_bytes(9).then(limit_text(5)).then(limit_tokens(7, len))) == (  # type: ignore[arg-type]
        "limit_bytes(9) | limit_text(5) | limit_tokens(7, <built-in function len>)"
    )
