"""Halves of surrogate pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators import AudioDelta, ConnectionLost, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta
from operators._surrogates import JOINED, Surrogates, scrubbed
from tests.support import FINISHED, answer_of, call, calls_of, chunk, events_of


def test_a_pair_that_was_cut_is_joined() -> None:
    """The high half ends one delta, the low one begins the next; every text that is emitted can be written as UTF-8."""
    seen = events_of(chunk({"content": "ok \ud83d"}), chunk({"content": "\ude00!"}), chunk(finish="stop"))
    assert [event.text for event in seen.values if isinstance(event, TextDelta)] == ["ok ", "😀!"]


def test_a_half_that_stays_alone_is_one_unknown_character() -> None:
    """In the middle of a text, at its end, and when the stream breaks, where it is dropped: more may have been on the way."""
    assert answer_of(chunk({"content": "a\ude00b \ud83dx"}), chunk(finish="stop")).text == "a\ufffdb \ufffdx"
    assert answer_of(chunk({"content": "a\ud83d"}), chunk(finish="stop")).text == "a\ufffd"
    assert answer_of(chunk({"content": "a\ud83d"}), end=ConnectionLost("gone"), done=False).text == "a"


def test_every_channel_and_choice_has_its_own_half() -> None:
    """Reasoning, refusal, arguments; what is held of one is not joined to another."""
    seen = events_of(
        chunk({"reasoning": "r\ud83d"}),
        chunk({"content": "t\ud83d"}, choice=1),
        chunk({"content": "u"}),
        chunk({"content": "\ude00"}, choice=1),
        chunk({"reasoning": "\ude01", "refusal": "n\ud83d"}),
    )
    assert ReasoningDelta("r") in seen.values
    assert ReasoningDelta("😁") in seen.values
    assert TextDelta("😀", 1) in seen.values
    assert TextDelta("u") in seen.values
    assert seen.values[-1] == RefusalDelta("\ufffd")


def test_transcripts_are_joined_too() -> None:
    """And what is left of one at the end is told."""
    said = [{"id": "a", "transcript": "t\ud83d"}, {"transcript": "\ude00", "data": "AAA="}, {"transcript": "\ud83d"}]
    seen = events_of(*[chunk({"audio": audio}) for audio in said])
    assert [(one.transcript, one.data) for one in seen.values if isinstance(one, AudioDelta)] == [
        ("t", None),
        ("😀", "AAA="),
        (None, None),
        ("\ufffd", None),
    ]


@pytest.mark.parametrize(
    ("say", "channel"),
    [
        (lambda text: {"content": text}, TextDelta),
        (lambda text: {"content": [{"type": "text", "text": text}]}, TextDelta),
        (lambda text: {"content": [{"type": "text", "text": {"value": text}}]}, TextDelta),
        (lambda text: {"content": [{"type": "thinking", "thinking": text}]}, ReasoningDelta),
        (lambda text: {"content": [{"type": "thinking", "thinking": [{"text": text}]}]}, ReasoningDelta),
        (lambda text: {"content": [{"type": "refusal", "refusal": text}]}, RefusalDelta),
        (lambda text: {"refusal": text}, RefusalDelta),
        (lambda text: {"reasoning": text}, ReasoningDelta),
        (lambda text: {"reasoning": {"value": text}}, ReasoningDelta),
        (lambda text: {"reasoning_content": text}, ReasoningDelta),
        (lambda text: {"reasoning_text": text}, ReasoningDelta),
        (lambda text: {"thinking": text}, ReasoningDelta),
        (lambda text: {"reasoning_details": [{"text": text}]}, ReasoningDelta),
        (lambda text: {"reasoning_details": [{"summary": text}]}, ReasoningDelta),
        (lambda text: {"reasoning_details": [{"summary": [{"text": text}]}]}, ReasoningDelta),
        (lambda text: {"thinking_blocks": [{"thinking": text}]}, ReasoningDelta),
    ],
)
def test_wherever_a_text_may_stand(say: Callable[[str], dict[str, Any]], channel: Any) -> None:
    """Nothing of it that goes along as it came holds a half."""
    seen = events_of(chunk(say("a\ud83d")), chunk(say("\ude00b")), chunk(finish="stop"))
    assert "".join(event.text for event in seen.values if isinstance(event, channel)) == "a😀b"
    for event in seen.values:
        assert msgspec.json.encode(event)


def test_arguments_are_joined_too() -> None:
    """As raw halves in the text of the arguments; beside them, a piece without arguments."""
    calls = calls_of(
        call(0, "a", "f", '{"x":"\ud83d'),
        call(0, arguments='\ude00"}'),
        call(1, "b", "g\ud83d", more="\ud83d"),
        FINISHED,
    )
    assert calls == [("a", "f", '{"x":"😀"}', True), ("b", "g\ufffd", "", True)]


def test_the_input_of_a_custom_tool_is_joined_too() -> None:
    """What would be arguments of a function there is none of its text."""
    custom = {"name": "f", "input": "a\ud83d", "arguments": "\ud83d"}
    first = {"tool_calls": [{"index": 0, "id": "a", "type": "custom", "custom": custom}]}
    seen = events_of(chunk(first), chunk({"tool_calls": [{"index": 0, "custom": {"input": "\ude00b"}}]}), FINISHED)
    calls = [event for event in seen.values if isinstance(event, ToolCallDelta)]
    assert "".join(event.arguments for event in calls) == "a😀b"
    assert calls[0].extra == {"type": "custom", "function": {"arguments": "\ufffd"}}


def test_a_half_that_stays_alone_in_arguments_is_dropped() -> None:
    """They were cut and are no object; no call of theirs is complete."""
    assert calls_of(call(0, "a", "f", '{"x":"\ud83d'), FINISHED) == [("a", "f", '{"x":"', False)]


@given(st.text(st.sampled_from("a😀\ud83d\ude00é"), max_size=8), st.data())
@example("\ud83d\ude00", None)
def test_any_cut_gives_the_same_text(text: str, data: st.DataObject | None) -> None:
    """Pairs are joined, the rest becomes U+FFFD."""
    places = sorted(data.draw(st.lists(st.integers(0, len(text))))) if data else [1]
    halves = Surrogates()
    edges = [0, *places, len(text)]
    pieces = [halves.join(0, "text", text[start:end]) for start, end in pairwise(edges)]
    joined = "".join(pieces) + "".join(left for _, _, left in halves.left())
    assert joined == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert all(piece.encode() is not None for piece in pieces)
    assert not halves.held


def test_scrubbed_goes_everywhere_but_into_the_texts_that_are_joined_later() -> None:
    """Keys, lists, objects."""
    value: Any = {"\ud83d": ["\ud83d\ude00", 1, None], "content": "\ud83d", "text": ["\ud83d"]}
    assert scrubbed(value, keep=JOINED) == {"\ufffd": ["😀", 1, None], "content": "\ud83d", "text": ["\ufffd"]}
    assert json.dumps(scrubbed(value), ensure_ascii=False).encode()


def test_only_texts_that_come_in_pieces_keep_their_halves() -> None:
    """`content` of a delta does; `text` of an annotation, a usage or an object of arguments is whole."""
    half = "\ud83d"
    said = {
        "choices": [{"delta": {"content": [{"text": half}], "annotations": [{"text": half}]}}],
        "usage": {"text": half},
    }
    assert scrubbed(said, keep=JOINED) == {
        "choices": [{"delta": {"content": [{"text": half}], "annotations": [{"text": "\ufffd"}]}}],
        "usage": {"text": "\ufffd"},
    }
