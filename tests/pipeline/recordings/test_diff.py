"""Where two runs part, and what is no parting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from pipeline.recordings import (
    Failure,
    RecordedAttempt,
    RecordedEnd,
    RecordedRead,
    RecordedStream,
    Recording,
    diff,
)


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> bytes:
    choice = {"index": more.pop("index", 0), "delta": delta or {}, "finish_reason": finish}
    return b"data: " + msgspec.json.encode({"id": "x", "choices": [choice], **more}) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def recorded(*reads: bytes, failure: Failure | None = None) -> Recording:
    timed = tuple(RecordedRead(number / 4, read) for number, read in enumerate(reads, 1))
    attempt = RecordedAttempt(reads=timed, end=RecordedEnd(len(reads) / 4, failure))
    return Recording((RecordedStream(attempts=(attempt,)),))


def test_the_same() -> None:
    one = recorded(chunk({"content": "Hi"}, "stop"), DONE)
    found = diff(one, one)
    assert found.same
    assert found.same_reads
    assert "both say the same" in str(found)
    assert "byte by byte" in str(found)


def test_cuts_ids_and_running_totals_are_no_parting() -> None:
    calls = [{"index": 0, "id": "call_1", "function": {"name": "f", "arguments": '{"a":'}}]
    more = [{"index": 0, "function": {"arguments": "1}"}}]
    whole = [{"index": 0, "id": "call_2", "function": {"name": "f", "arguments": '{"a":1}'}}]
    usage = {"usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    a = recorded(
        chunk({"content": "Hel"}, **usage), chunk({"content": "lo"}, **usage), chunk({"tool_calls": calls}),
        chunk({"tool_calls": more}), chunk({}, "tool_calls"), DONE,
    )  # fmt: skip
    b = recorded(
        chunk({"content": "Hello"}, id="y", **usage), chunk({"tool_calls": whole}), chunk({}, "tool_calls"), DONE
    )
    found = diff(a, b)
    assert found.same, str(found)
    assert not found.same_bytes


def test_choices_may_be_interleaved_otherwise() -> None:
    parts = [chunk({"content": text}, index=index) for index, text in ((0, "a"), (1, "b"), (0, "c"), (1, "d"))]
    ends = [chunk({}, "stop", index=0), chunk({}, "stop", index=1), DONE]
    assert diff(recorded(*parts, *ends), recorded(parts[1], parts[3], parts[0], parts[2], *ends)).same


def test_texts_part_at_a_character() -> None:
    a = recorded(chunk({"content": "The answer "}), chunk({"content": "is 42."}, "stop"), DONE)
    b = recorded(chunk({"content": "The answer is"}), chunk({"content": " 43."}, "stop"), DONE)
    (parting,) = diff(a, b).partings
    assert (parting.stream, parting.what, parting.position) == (1, "text of choice 0", 15)
    assert (parting.a.event, parting.a.at) == (2, 0.5)
    assert (parting.b.event, parting.b.at) == (2, 0.5)
    assert "is 42" in parting.a.says
    assert "is 43" in parting.b.says
    shown = str(diff(a, b))
    assert "they part in text of choice 0, character 15" in shown
    assert "event 2, 0.500 s" in shown


def test_one_says_more() -> None:
    a = recorded(chunk({"content": "Hi"}, "stop"), DONE)
    b = recorded(chunk({"content": "Hi there"}, "stop"), DONE)
    (parting,) = diff(a, b).partings
    assert (parting.position, parting.a.says) == (2, "'Hi', and ends there")
    (parting,) = diff(recorded(chunk({}, "stop"), DONE), a).partings
    assert (parting.what, parting.a.says) == ("text of choice 0", "nothing")


def test_they_end_otherwise() -> None:
    one = chunk({"content": "Hi"})
    a = recorded(one, chunk({}, "stop"), DONE)
    b = recorded(one, failure=Failure("the connection broke", "connection"))
    (parting,) = diff(a, b).partings
    assert parting.what == "Finish of choice 0"
    (parting,) = diff(recorded(one), b).partings
    assert parting.what == "the end"
    assert parting.a.says.startswith("TruncatedError")
    assert parting.b.says == "ConnectionLost: the connection broke"


def test_the_same_bytes_cut_otherwise(tmp_path: Path) -> None:
    body = chunk({"content": "Hi"}, "stop") + DONE
    path = tmp_path / "x.sse"
    path.write_bytes(body)
    found = diff(path, recorded(body[:20], body[20:]))
    assert found.same
    assert found.same_bytes
    assert not found.same_reads
    assert "cut otherwise" in str(found)
    timings = found.timings[0]
    assert timings[0] is not None
    assert timings[1] is not None
    assert (timings[0].reads, timings[1].reads, timings[1].longest_gap) == (1, 2, 0.25)


def test_a_stream_that_only_one_has() -> None:
    one = recorded(chunk({"content": "Hi"}, "stop"), DONE)
    two = Recording((*one.streams, msgspec.structs.replace(one.streams[0], number=2)))
    found = diff(one, two)
    assert [parting.stream for parting in found.partings] == [2]
    assert found.timings[1][0] is None
    assert "stream 2: they part" in str(found)
