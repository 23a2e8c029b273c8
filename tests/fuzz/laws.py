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
OPTIONS: tuple[dict[str, Any], ...] = (
    {"errors": "skip"},
    {"errors": "emit"},
    {"extras": True},
    {"flush": False},
    {"think_tags": True, "cumulative": True},
)


# ---------------------------------------------------------------------------------------------------------------- asking


def outcome(reads: Iterable[bytes], *stages: Any, end: Any = COMPLETED) -> Seen:
    """What came of it: exactly one end, and none that is outside the table. An error that ends it is given as its class,
    for a new one each time: its partial is filled once."""
    seen: Seen = RUN(list(reads), *stages, end=end if end == COMPLETED else end("gone"))
    assert seen.ends == 1
    assert seen.end == COMPLETED or (isinstance(seen.end, StreamError) and type(seen.end) is not StreamError), seen.end
    str(seen.end).encode()
    repr(seen.end).encode()
    return seen


def messages_of(seen: Seen) -> list[Message]:
    """What message() made of it, or as much as there was before the error."""
    return seen.values if seen.end == COMPLETED else list(seen.end.partial)


def written(seen: Seen) -> list[tuple[str, bytes]]:
    """The events and the end as what can be compared, NaN too; all can be written as JSON, in UTF-8."""
    return [*((type(event).__name__, msgspec.json.encode(event)) for event in seen.values), _end(seen)]


def _end(seen: Seen) -> tuple[str, bytes]:
    return type(seen.end).__name__, str(seen.end).encode()


# ------------------------------------------------------------------------------------------------------------------ laws


def check_cuts(body: bytes, sizes: Iterable[int], *, end: Any = COMPLETED, **options: Any) -> Seen:
    """In reads of any size decode() says the same."""
    whole = outcome([body], decode(**options), end=end)
    for size in sizes:
        cut = outcome(cuts(body, size), decode(**options), end=end)
        assert written(cut) == written(whole), f"in reads of {size} bytes decode({options}) says otherwise"
    return whole


def check_stages(body: bytes, whole: Seen, *, end: Any = COMPLETED) -> None:
    """decode() says what its stages say, one after the other."""
    for reads in ([body], cuts(body, 9)):
        assert written(outcome(reads, *DECODE, end=end)) == written(whole), "decode() and its stages differ"


def check_options(body: bytes, whole: Seen, *, end: Any = COMPLETED) -> None:
    """They are as deaf to cuts; what is skipped or passed on ends no stream; unknown keys change nothing else."""
    for options in OPTIONS:
        seen = check_cuts(body, [7], end=end, **options)
        if "errors" in options:
            assert not isinstance(seen.end, ProtocolError)
        if "extras" in options:
            assert written(without_unknown(seen)) == written(without_unknown(whole))


def without_unknown(seen: Seen) -> Seen:
    return Seen([event for event in seen.values if not isinstance(event, Unknown)], seen.end, seen.ends)


def check_events(whole: Seen) -> None:
    """Texts are never empty; the keys of tool calls count up."""
    keys: dict[int, set[int]] = {}
    for event in whole.values:
        assert not isinstance(event, TextDelta) or event.text
        if isinstance(event, ToolCallDelta):
            known = keys.setdefault(event.choice, set())
            assert event.key in known or event.key == len(known)
            known.add(event.key)


def check_messages(body: bytes, whole: Seen, *, end: Any = COMPLETED) -> None:
    """All that was said is in the messages, or in the partial of the error; with tool_calls() above message() or without."""
    alone = outcome([body], decode(), message(), end=end)
    with_calls = outcome([body], decode(), tool_calls(), message(), end=end)
    completed, messages = alone.end == COMPLETED, messages_of(alone)
    assert _end(with_calls) == _end(alone) == _end(whole)
    assert msgspec.json.encode(messages_of(with_calls)) == msgspec.json.encode(messages)
    assert completed or not alone.values
    assert completed or bool(messages) == bool(without_unknown(whole).values)
    told: dict[int, str] = {}
    for event in whole.values:
        if isinstance(event, TextDelta):
            told[event.choice] = told.get(event.choice, "") + event.text
    assert {made.choice: made.text for made in messages if made.text} == told
    handed_out = outcome([body], decode(), tool_calls(), select(ToolCall), end=end).values
    assert handed_out == [call for made in messages for call in made.tool_calls if call.complete]
    assert completed or not handed_out
    for made in messages:
        check_calls(made)
        msgspec.json.encode(made.to_dict())


def check_calls(made: Message) -> None:
    """Each has an id of its own; one that is complete has an object for arguments."""
    ids = [call.id for call in made.tool_calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    for call in made.tool_calls:
        custom = (call.extra or {}).get("type") == "custom"
        assert not call.complete or custom or is_object(call.arguments), call


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


# -------------------------------------------------------------------------------------------------------------- together


def check_body(body: bytes, *, end: Any = COMPLETED) -> None:
    """All the laws that need nothing but a body."""
    whole = check_cuts(body, sorted({1, 3, 7, 17, 64, 1 + len(body) // 2}), end=end)
    check_stages(body, whole, end=end)
    check_options(body, whole, end=end)
    check_events(whole)
    check_messages(body, whole, end=end)


def check(body: bytes) -> None:
    """Everything that a body alone can show: ended cleanly, by a broken connection, and damaged in the middle."""
    check_body(body)
    check_body(body, end=ConnectionLost)
    for place in (len(body) // 3, len(body) * 2 // 3):
        check_prefix(body, body[:place] + b"\xff" + body[place:], place)


def glance(body: bytes) -> None:
    """The laws at a tenth of the cost, for the fuzzer: which cut, which end and which options is told by the body itself."""
    told = zlib.crc32(body)
    end = COMPLETED if told & 1 else ConnectionLost
    sizes = [(3, 17, 64, 1 + len(body) // 2)[told >> 1 & 3]]
    whole = check_cuts(body, sizes, end=end)
    if told >> 3 & 1:
        check_cuts(body, sizes, end=end, **OPTIONS[(told >> 4) % len(OPTIONS)])
    else:
        check_stages(body, whole, end=end)
    check_events(whole)
    check_messages(body, whole, end=end)
