"""What must hold of any body, whatever is in it: asked by the Hypothesis tests, by the fuzzer, and of every body once found."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Any

import msgspec

from operators import (
    ConnectionLost,
    Message,
    ProtocolError,
    StreamError,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Unknown,
    message,
    select,
    tool_calls,
)
from pipeline import decode
from tests.support import COMPLETED, DECODE, WAYS, Seen, cuts

RUN = WAYS[0].run


def check_body(body: bytes, *, end: Any = COMPLETED) -> Seen:
    """All the laws that need nothing but a body. Returns what the chain makes of it in one read."""
    whole = outcome([body], *DECODE, end=end)
    shown = written(whole)
    sizes = {1, 2 + len(body) % 5, 64, 1 + len(body) // 2}
    for size in sorted(sizes):
        reads = cuts(body, size)
        assert written(outcome(reads, *DECODE, end=end)) == shown, f"in reads of {size} bytes the chain says otherwise"
        assert written(outcome(reads, decode(), end=end)) == shown, f"in reads of {size} bytes decode() says otherwise"
    assert written(outcome([body], decode(), end=end)) == shown, "decode() says otherwise"
    check_policies(body, whole, end)
    check_calls(whole)
    check_messages(body, whole, end)
    return whole


def outcome(reads: Iterable[bytes], *stages: Any, end: Any = COMPLETED) -> Seen:
    """What came of it: exactly one end, and none that is outside the table."""
    seen: Seen = RUN(list(reads), *stages, end=end)
    assert seen.ends == 1
    assert seen.end == COMPLETED or (isinstance(seen.end, StreamError) and type(seen.end) is not StreamError), seen.end
    if seen.end != COMPLETED:
        str(seen.end).encode()
        repr(seen.end).encode()
    return seen


def written(seen: Seen) -> list[tuple[str, bytes]]:
    """The events and the end as what can be compared, NaN too; all can be written as JSON, in UTF-8."""
    end = ("completed", b"") if seen.end == COMPLETED else (type(seen.end).__name__, str(seen.end).encode())
    return [*((type(event).__name__, msgspec.json.encode(event)) for event in seen.values), end]


def check_policies(body: bytes, whole: Seen, end: Any) -> None:
    """What is left out or passed on ends no stream; unknown keys, where they are wanted, change nothing else."""
    for errors in ("skip", "emit"):
        assert not isinstance(outcome([body], decode(errors=errors), end=end).end, ProtocolError)
    outcome([body], decode(think_tags=True, cumulative=True), end=end)
    extra = outcome(cuts(body, 7), decode(extras=True), end=end)
    known = Seen([event for event in whole.values if not isinstance(event, Unknown)], whole.end, 1)
    assert written(Seen([event for event in extra.values if not isinstance(event, Unknown)], extra.end, 1)) == written(
        known
    )


def check_calls(whole: Seen) -> None:
    """Texts are never empty; keys count up; a call that is complete has an object for arguments; ids are unique."""
    keys: dict[int, set[int]] = {}
    for event in whole.values:
        assert not isinstance(event, TextDelta) or event.text
        if isinstance(event, ToolCallDelta):
            known = keys.setdefault(event.choice, set())
            assert event.key in known or event.key == len(known)
            known.add(event.key)


def check_messages(body: bytes, whole: Seen, end: Any) -> None:
    """message() says the same with tool_calls() above it and without; what came is in the partial of an error."""
    with_calls = outcome([body], *DECODE, tool_calls(), message(), end=end)
    alone = outcome([body], *DECODE, message(), end=end)
    assert written(with_calls) == written(alone)
    completed = alone.end == COMPLETED
    messages: list[Message] = alone.values if completed else list(alone.end.partial)
    assert msgspec.json.encode(messages) == msgspec.json.encode(
        with_calls.values if completed else list(with_calls.end.partial)
    )
    assert completed or not alone.values
    assert completed or bool(messages) == bool([event for event in whole.values if not isinstance(event, Unknown)])
    texts = {said.choice: said for said in messages}
    for choice in {event.choice for event in whole.values if isinstance(event, TextDelta)}:
        told = "".join(event.text for event in whole.values if isinstance(event, TextDelta) and event.choice == choice)
        assert texts[choice].text == told
    for said in messages:
        ids = [call.id for call in said.tool_calls]
        assert all(ids)
        assert len(set(ids)) == len(ids)
        assert completed or not any(call.complete for call in said.tool_calls)
        for call in said.tool_calls:
            custom = (call.extra or {}).get("type") == "custom"
            assert not call.complete or custom or is_object(call.arguments), call
        msgspec.json.encode(said.to_dict())
    handed_out = outcome([body], *DECODE, tool_calls(), select(ToolCall), end=end).values
    if completed:
        assert handed_out == [call for said in messages for call in said.tool_calls if call.complete]
    else:
        assert not handed_out


def is_object(arguments: str) -> bool:
    return not arguments.strip() or isinstance(json.loads(arguments, strict=False), dict)


def check_prefix(body: bytes, other: bytes, place: int) -> None:
    """Two bodies that are the same up to a place say the same up to there; what was said before stays said."""
    assert body[:place] == other[:place]
    so_far = RUN([body[:place]], decode(), end=None).values
    for reads in ([other], cuts(other, 5)):
        values = outcome(reads, decode()).values
        shown = [msgspec.json.encode(event) for event in values[: len(so_far)]]
        assert shown == [msgspec.json.encode(event) for event in so_far]


def check(body: bytes) -> None:
    """Everything that a body alone can show: ended cleanly, by a broken connection, and cut in the middle."""
    check_body(body)
    check_body(body, end=ConnectionLost("gone"))
    check_prefix(body, body[: len(body) * 2 // 3] + b"\xff" + body[len(body) * 2 // 3 :], len(body) * 2 // 3)


def glance(body: bytes) -> None:
    """The laws at a tenth of the cost, for the fuzzer: which cut and which end is told by the body itself."""
    told = zlib.crc32(body)
    end = COMPLETED if told & 1 else ConnectionLost("gone")
    whole = outcome([body], *DECODE, end=end)
    reads = cuts(body, (3, 17, 64, 1 + len(body) // 2)[told >> 1 & 3])
    assert written(outcome(reads, decode(), end=end)) == written(whole)
    check_calls(whole)
    check_messages(body, whole, end)
