"""Chunks that no server should send: any value in any place, numbers that no type holds, keys twice. One bad value costs itself."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from operators import ApiError, Message, StreamError, TextDelta, ToolCallSnapshot, Usage, arguments, message, tool_calls
from pipeline import decode
from tests.fuzz.laws import messages_of
from tests.support import COMPLETED, DECODE, WAYS, Seen, body_of, chunk, cuts

RUN = WAYS[0].run

# ------------------------------------------------------------------------------------------------ any value in any place

FULL: dict[str, Any] = {
    "id": "c1",
    "model": "m",
    "object": "chat.completion.chunk",
    "created": 1,
    "choices": [
        {
            "index": 0,
            "delta": {
                "role": "assistant",
                "content": "mid",
                "refusal": "no",
                "reasoning_content": "hm",
                "tool_calls": [
                    {"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
                "audio": {"id": "s", "data": "QUI=", "transcript": "aha", "expires_at": 1},
                "annotations": [{"type": "url"}],
                "reasoning_details": [{"type": "t", "index": 0, "text": "hm"}],
            },
            "finish_reason": None,
            "logprobs": {"content": [{"token": "mid"}], "refusal": None},
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
    "error": None,
    "x_groq": {"id": "r", "usage": None, "error": None},
}
JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "{",
    [],
    [None],
    [[]],
    ["x", 1],
    {},
    {"x": 1},
    {"text": []},
]

TEXT = ["choices", 0, "delta", "content"]


def paths(value: Any) -> list[list[Any]]:
    """Every place in a JSON value, from the outside in."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [[], *([key, *rest] for key, item in inner for rest in paths(item))]


PLACES = {"/".join(map(str, path)): path for path in paths(FULL) if path}


def with_junk(path: list[Any], junk: Any) -> dict[str, Any]:
    changed = deepcopy(FULL)
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = junk
    return changed


def first_of(seen: Seen) -> Message:
    return next(made for made in messages_of(seen) if made.choice == 0)


@pytest.mark.parametrize("path", PLACES.values(), ids=PLACES)
def test_a_bad_value_costs_nothing_but_itself(path: list[Any]) -> None:
    """What comes before, beside and after it is there; only the place of an error can end the stream."""
    around = path == TEXT[: len(path)]
    elsewhere = path == ["choices", 0, "index"]  # a number there is another choice
    for junk in JUNK:
        said = (chunk({"content": "Hi "}), with_junk(path, junk), chunk({"content": "!"}), chunk(finish="stop"))
        body = body_of(*said)
        for reads, chain in (([body], decode()), (cuts(body, 11), decode()), ([body], decode(extras=True))):
            seen = RUN(reads, chain, message())
            made = first_of(seen)
            if isinstance(seen.end, ApiError):
                assert path[-1] == "error"
                assert made.text == "Hi mid"
                continue
            assert seen.end == COMPLETED, (junk, seen.end)
            assert made.text.startswith("Hi ")
            assert made.text.endswith("!")
            assert around or elsewhere or made.text == "Hi mid!", junk
            if path[0] not in {"choices", "usage"}:
                assert made.usage == Usage(3, 1, 4)
                assert (made.reasoning, made.refusal) == ("hm", "no")
                assert [(call.id, call.name, call.arguments) for call in made.tool_calls] == [("a", "f", "{}")]


# ------------------------------------------------------------------------------------------ numbers, and texts for numbers

NUMBERS = (
    "1e400",
    "-1e400",
    "0.1e-999",
    "-0",
    "18446744073709551616",
    "1" + "0" * 400,
    "9" * 5000,
    "12345678901234567890123456789.5",
    "NaN",
    "Infinity",
    "-Infinity",
    '"5"',
    '"NaN"',
    '"' + "9" * 400 + '"',
)
WITH_NUMBERS = (
    '{"id":%s,"choices":[{"index":0,"delta":{"content":"x"}}]}',
    '{"choices":[{"index":%s,"delta":{"content":"x"}}]}',
    '{"choices":[{"index":0,"delta":{"content":%s}}]}',
    '{"choices":[{"index":0,"finish_reason":%s,"delta":{"content":"x"}}]}',
    '{"choices":[{"index":0,"logprobs":{"content":[%s]},"delta":{"content":"x"}}]}',
    '{"choices":[],"usage":{"prompt_tokens":%s,"completion_tokens":1}}',
    '{"choices":[],"usage":{"prompt_tokens":1,"details":{"n":%s}}}',
    '{"error":{"message":"bad","code":%s,"status":%s,"param":%s,"retry_after":%s}}',
    '{"code":%s,"message":"bad"}',
    '{"choices":[{"delta":{"tool_calls":[{"index":%s,"id":%s,"function":{"name":"f","arguments":"{}"}}]}}]}',
    '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","n":%s,"function":{"name":"f","arguments":{"x":%s}}}]}}]}',
    '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\\"x\\":1}"}}]}}],"n":%s}',
    '{"choices":[{"delta":{"audio":{"id":"a","expires_at":%s}}}]}',
    '{"choices":[{"delta":{"reasoning_details":[{"index":%s,"text":"x"}]}}]}',
)


@pytest.mark.parametrize("number", NUMBERS, ids=[number[:16] for number in NUMBERS])
@pytest.mark.parametrize("payload", WITH_NUMBERS)
def test_a_number_that_no_type_holds(payload: str, number: str) -> None:
    """In every place where a number may stand, in a stream and as an error event: an end from the table, all of it JSON."""
    data = payload.replace("%s", number).encode()
    before = body_of(chunk({"content": "Hi"}), done=False)
    for body in (before + b"data: " + data + b"\n\ndata: [DONE]\n\n", b"event: error\ndata: " + data + b"\n\n", data):
        for stages in ((message(),), (tool_calls(snapshots=True), arguments()), ()):
            seen = RUN([body], decode(extras=True), *stages)
            assert seen.end == COMPLETED or isinstance(seen.end, StreamError), seen.end
            repr(seen.end).encode()
            for value in seen.values:
                assert isinstance(value, ToolCallSnapshot) or msgspec.json.encode(value)
        if body.startswith(before):
            assert "Hi" in "".join(made.text for made in messages_of(RUN([body], decode(), message())))


# ---------------------------------------------------------------------------------------------------------------- keys twice


@pytest.mark.parametrize(
    "payload",
    [
        b'{"choices":[{"index":0,"delta":{"content":"a","content":"b"}}]}',
        b'{"choices":[{"index":0,"delta":{"content":"a"},"delta":{"content":"b"}}]}',
        b'{"choices":[{"index":0,"delta":{"content":"a"}}],"choices":[{"index":0,"delta":{"content":"b"}}]}',
        b'{"choices":[{"index":1,"index":0,"delta":{"content":5,"content":"b"}}]}',
        b'{"choices":5,"choices":[{"delta":7,"delta":{"content":"b"},"index":0}]}',
        b'{"error":{"message":"bad"},"error":null,"choices":[{"index":0,"delta":{"content":"b"}}]}',
    ],
)
def test_of_a_key_that_comes_twice_the_last_one_counts(payload: bytes) -> None:
    """As every JSON decoder has it; on the plain path too."""
    plain = body_of(chunk({"content": "1"}), chunk({"content": "2"}), done=False)
    body = plain + b"data: " + payload + b"\n\n" + plain
    for chain in (DECODE, (decode(),)):
        values = RUN([body], *chain).values
        assert "".join(event.text for event in values if isinstance(event, TextDelta) and not event.choice) == "12b12"


# --------------------------------------------------------------------------------------------------------- bytes in between


@pytest.mark.parametrize(
    "noise",
    [
        b"\0\n\n",
        b"\xff\xfe\n\n",
        b": \xff\0\n\n",
        b"data\0: {}\n\n",
        b" data: {}\n\n",
        b"Data: {}\n\n",
        b"data : {}\n\n",
        b"\xef\xbb\xbfid: 1\n\n",
        b"id: \0\n\n",
        b"retry: -1\nretry: 1e9\nretry: 99999999999999999999999\n\n",
        b"event\n\n",
        b":" * 5000 + b"\n\n",
        b"x" * 100_000 + b"\n\n",
        b"\r\r\n\n\r\n\r\r\n\n",
        b"\x0b\x0c\x1c\x85\n\n",
    ],
)
def test_lines_that_are_no_data_say_nothing(noise: bytes) -> None:
    """Before, between and after the chunks, in any cut."""
    hi, end = body_of(chunk({"content": "Hi"}), done=False), body_of(chunk(finish="stop"), done=False)
    body = noise.join([hi, hi, end])
    for whole in (body, body + noise, b"\n" + noise + body):
        for size in (7, len(whole)) if len(whole) > 20_000 else (1, 7, len(whole)):
            (made,) = RUN(cuts(whole, size), decode(), message()).values
            assert (made.text, made.finish_reason) == ("HiHi", "stop")


def test_ends_of_lines_may_change_at_every_line() -> None:
    """CR, LF and CRLF in one stream, in all combinations, each cut between any two bytes."""
    first, second = (json.dumps(chunk({"content": text})).encode() for text in ("a", "b"))
    for one in (b"\n", b"\r", b"\r\n"):
        for two in (b"\n", b"\r", b"\r\n"):
            for three in (b"\n", b"\r", b"\r\n"):
                if (one, two) == (b"\r", b"\n"):
                    continue  # these are one end, not two
                body = b"data: " + first + one + two + b"data: " + second + three
                for place in range(len(body)):
                    values = RUN([body[:place], body[place:]], decode()).values
                    assert "".join(event.text for event in values if isinstance(event, TextDelta)) == "ab"
