"""decode(): the chain as one operator, and its options."""

from __future__ import annotations

from typing import Any

import pytest

from operators import ProtocolError, ReasoningDelta, TextDelta, TruncatedError, Unknown
from pipeline import decode, replay
from tests.pipeline.wire import ANSWER, DONE, Sub, event, text


def decoded(body: bytes, **options: Any) -> Sub:
    sub = Sub()
    replay(body).pipe(decode(**options)).subscribe(sub)
    return sub


def test_reads_become_events() -> None:
    assert (decoded(ANSWER).text, decoded(ANSWER).completed) == ("Hello", True)


def test_think_tags_are_reasoning_when_asked_for() -> None:
    body = text("<think>hm</think>Hi", "stop") + DONE
    assert decoded(body).text == "<think>hm</think>Hi"
    sub = decoded(body, think_tags=True)
    assert sub.text == "Hi"
    assert [found.text for found in sub.values if isinstance(found, ReasoningDelta)] == ["hm"]


def test_text_that_repeats_itself_is_cut_when_asked_for() -> None:
    body = text("Hel") + text("Hello") + text("Hello", "stop") + DONE
    assert decoded(body, cumulative=True).text == "Hello"


def test_unknown_keys_are_kept_when_asked_for() -> None:
    body = event({"choices": [{"index": 0, "delta": {"content": "a", "mood": "good"}, "finish_reason": "stop"}]}) + DONE
    assert not any(isinstance(found, Unknown) for found in decoded(body).values)
    assert any(isinstance(found, Unknown) for found in decoded(body, extras=True).values)


def test_what_is_no_json_raises_or_is_skipped_or_emitted() -> None:
    body = text("a") + b"data: {nonsense\n\n" + text("b", "stop") + DONE
    assert isinstance(decoded(body).end, ProtocolError)
    assert decoded(body, errors="skip").text == "ab"
    assert [
        type(found) for found in decoded(body, errors="emit").values if isinstance(found, (TextDelta, Unknown))
    ] == [
        TextDelta,
        Unknown,
        TextDelta,
    ]


def test_an_event_without_its_blank_line_counts_or_does_not() -> None:
    body = text("a") + text("b", "stop").rstrip(b"\n")
    assert (decoded(body).text, decoded(body).completed) == ("ab", True)
    assert isinstance(decoded(body, flush=False).end, TruncatedError)


@pytest.mark.parametrize("options", [{"think_tag": True}, {"errors": "raise", "limit": 3}])
def test_an_option_that_is_misspelt_is_told_where_it_stands(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        decode(**options)


def test_a_wrong_policy_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="is one of raise, skip, emit; not 'ignore'"):
        decode(errors="ignore")  # type: ignore[arg-type]
