"""Streams that are drawn, cut and damaged, and the laws that must hold of all of them."""

from __future__ import annotations

import json
import os
from itertools import accumulate

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from operators import Message, message
from pipeline import decode
from tests.fuzz.laws import check_body, check_prefix, messages_of, outcome
from tests.fuzz.streams import Answer, answers, bodies, completions, damaged, framed, garbled
from tests.support import COMPLETED, DECODE, cut_at

EXAMPLES = int(os.environ.get("RXCHAT_FUZZ_EXAMPLES", "0"))
"""How many streams of each kind are drawn; 0 leaves it to the tests: few by default, many in the slow ones."""


def drawn(count: int) -> settings:
    return settings(
        max_examples=EXAMPLES or count,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )


def check_answer(answer: Answer, found: list[Message]) -> None:
    """The messages are what was said."""
    assert [made.choice for made in found] == sorted(answer.said)
    usage = answer.usage
    for made in found:
        said = answer.said[made.choice]
        assert (made.text, made.reasoning, made.refusal) == (said.text, said.reasoning, said.refusal)
        assert ((made.audio and made.audio.transcript) or "") == said.transcript
        assert list(made.annotations) == said.annotations
        assert made.finish_reason == said.finish
        assert made.usage == usage
        assert [(call.name, json.loads(call.arguments or "{}", strict=False)) for call in made.tool_calls] == [
            (name, arguments) for _, name, arguments in said.calls
        ]
        assert all(call.complete for call in made.tool_calls)
        for call, (id_, *_) in zip(made.tool_calls, said.calls, strict=True):
            assert call.id == (id_ or call.id)


def a_good_stream(given_: tuple[Answer, list[bytes]], places: list[int]) -> None:
    answer, blocks = given_
    body = b"".join(blocks)
    for reads in ([body], cut_at(body, places)):
        for chain in (DECODE, (decode(),)):
            seen = outcome(reads, *chain, message())
            assert seen.end == COMPLETED, seen.end
            check_answer(answer, seen.values)
    check_body(body)


def a_damaged_stream(data: st.DataObject) -> None:
    answer, blocks = data.draw(bodies())
    body = b"".join(blocks)
    broken, place = data.draw(damaged(body))
    check_body(broken)
    check_prefix(body, broken, place)
    whole = sum(end <= place for end in accumulate(map(len, blocks[:-1])))  # the last event may have no end of its own
    check_said(answer.texts(whole), messages_of(outcome([broken], decode(), message())))


def check_said(texts: dict[int, str], found: list[Message]) -> None:
    """Each message begins with the text that came whole."""
    begun = {made.choice: made.text for made in found}
    for choice, text in texts.items():
        assert begun.get(choice, "").startswith(text)


def a_garbled_stream(data: st.DataObject) -> None:
    answer = data.draw(answers() | completions())
    check_body(b"".join(data.draw(framed(Answer(data.draw(garbled(answer)), {})))))


PLACES = st.lists(st.integers(0, 3000), max_size=12)


@given(bodies(), PLACES)
@drawn(50)
def test_a_good_stream_gives_the_answer_in_any_cut(given_: tuple[Answer, list[bytes]], places: list[int]) -> None:
    """Whatever the provider's habits are, in whatever framing."""
    a_good_stream(given_, places)


@given(st.data())
@drawn(50)
def test_a_damaged_stream_ends_in_one_honest_way(data: st.DataObject) -> None:
    """And what came before the damage is there."""
    a_damaged_stream(data)


@given(st.data())
@drawn(50)
def test_values_of_any_kind_break_nothing(data: st.DataObject) -> None:
    """JSON that is JSON, but nothing that anybody would have sent."""
    a_garbled_stream(data)


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([b"data: ", b"\n", b"{", b"}", b"[DONE]", b"\r", b":"])).map(b"".join)
)
@drawn(50)
def test_bytes_of_any_kind_break_nothing(body: bytes) -> None:
    """No stream at all."""
    check_body(body)


@pytest.mark.slow
@pytest.mark.timeout(600)
@given(bodies(), PLACES)
@drawn(250)
def test_many_good_streams(given_: tuple[Answer, list[bytes]], places: list[int]) -> None:
    """The same, for longer."""
    a_good_stream(given_, places)


@pytest.mark.slow
@pytest.mark.timeout(600)
@given(st.data())
@drawn(400)
def test_many_damaged_streams(data: st.DataObject) -> None:
    """The same, for longer."""
    a_damaged_stream(data)


@pytest.mark.slow
@pytest.mark.timeout(600)
@given(st.data())
@drawn(400)
def test_many_garbled_streams(data: st.DataObject) -> None:
    """The same, for longer."""
    a_garbled_stream(data)
