"""Ends in every order: what may come in a body, in all sequences, against the rules written down once more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from operators import ConnectionLost, LimitExceeded, Message, StreamError, StreamTimeout, message
from pipeline import decode
from tests.fuzz.laws import messages_of
from tests.support import COMPLETED, DECODE, WAYS, Seen, body_of, chunk

SAID: dict[str, bytes] = {
    "text": body_of(chunk({"content": "x"}), done=False),
    "other": body_of(chunk({"content": "y"}, choice=1), done=False),
    "finish": body_of(chunk(finish="stop"), done=False),
    "usage": body_of({"choices": [], "usage": {"prompt_tokens": 1}}, done=False),
    "error": body_of({"error": {"message": "bad"}}, done=False),
    "error event": b"event: error\ndata: bad\n\n",
    "no json": b"data: {oops\n\n",
    "null": b"data: null\n\n",
    "heartbeat": b": ping\n\ndata:\n\n",
    "done": b"data: [DONE]\n\n",
}
ENDS = {
    "completed": lambda: COMPLETED,
    "connection": lambda: ConnectionLost("gone"),
    "timeout": lambda: StreamTimeout("late"),
    "limit": lambda: LimitExceeded("too much"),
}


def expected(said: Sequence[str], end: str) -> tuple[str, str, str]:
    """How it ends, and the texts of both choices, by the rules of the README."""
    texts = {"text": "", "other": ""}
    payload = spoken = bad = finished = False
    for word in said:
        if word == "heartbeat":
            continue
        if word == "error event":
            return "api", texts["text"], texts["other"]
        if word == "done" and not payload:
            return "empty", "", ""
        if bad:  # something follows it, so it was not a cut
            return "protocol", texts["text"], texts["other"]
        payload = True
        if word == "done":
            return "completed" if spoken else "empty", texts["text"], texts["other"]
        if word == "error":
            return "api", texts["text"], texts["other"]
        if word in texts:
            texts[word] += {"text": "x", "other": "y"}[word]
        bad = word == "no json"
        finished = finished or word == "finish"
        spoken = spoken or word in {"text", "other", "finish", "usage"}
    whole = finished and not texts["other"]
    if end == "completed":
        how = "empty" if not payload else "completed" if whole else "truncated"
    else:
        how = "completed" if whole and end != "limit" else end
    return how, texts["text"], texts["other"]


def found(said: Sequence[str], end: str, *stages: Any) -> tuple[str, str, str]:
    body = b"".join(SAID[word] for word in said)
    seen: Seen = WAYS[0].run([body], *stages, message(), end=ENDS[end]())
    assert seen.ends == 1
    made: dict[int, Message] = {whole.choice: whole for whole in messages_of(seen)}
    text, other = (made[choice].text if choice in made else "" for choice in (0, 1))
    return seen.end.kind if isinstance(seen.end, StreamError) else COMPLETED, text, other


@pytest.mark.parametrize("length", [0, 1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_sequence_ends_in_one_honest_way(length: int) -> None:
    """With everything that was said before the end."""
    for said in product(SAID, repeat=length):
        for end in ENDS:
            assert found(said, end, decode()) == expected(said, end), (said, end)


@pytest.mark.parametrize("end", ENDS)
def test_stage_by_stage_it_ends_the_same_way(end: str) -> None:
    """decode() has a plain path past its stages."""
    for rest in product(SAID, repeat=2):
        said = ("text", "text", *rest)
        assert found(said, end, *DECODE) == found(said, end, decode()) == expected(said, end), said
