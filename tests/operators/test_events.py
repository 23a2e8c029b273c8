"""The events: frozen values in one closed union."""

from __future__ import annotations

import inspect
import typing

import msgspec
import pytest

import operators
from operators import Event, Message, TextDelta, ToolCall, ToolCallSnapshot, Unknown, Usage
from operators._stream_event import StreamEvent


def leaves(kind: type) -> set[type]:
    """The classes that are nobody's base."""
    below: list[type] = kind.__subclasses__()
    return {leaf for deeper in below for leaf in leaves(deeper)} or {kind}


def test_the_union_is_closed_and_exported() -> None:
    """Every event of operators is in it, and is a public name. Others may add their own kinds, as `metrics()` does."""
    events = set(typing.get_args(Event))
    own = {kind for kind in leaves(StreamEvent) if kind.__module__.startswith("operators.")}
    assert {kind for kind in events if kind is not ToolCallSnapshot} == own
    public = {getattr(operators, name) for name in operators.__all__}
    assert events <= public


def test_events_are_frozen_and_compare_by_value() -> None:
    """They can be shared and matched."""
    assert TextDelta("a") == TextDelta("a") != TextDelta("a", 1)
    with pytest.raises(AttributeError):
        TextDelta("a").text = "b"  # type: ignore[misc]
    match typing.cast(Event, TextDelta("a", 2)):
        case TextDelta(text=text, choice=choice):
            assert (text, choice) == ("a", 2)
        case _:
            pytest.fail("did not match")


def test_events_are_json_with_their_name() -> None:
    """And can be read back."""
    assert msgspec.json.encode(TextDelta("é")) == '{"event":"TextDelta","text":"é","choice":0}'.encode()
    union: typing.Any = typing.Union[tuple(leaves(StreamEvent))]  # noqa: UP007
    call = ToolCall(0, None, "a", "f", "{}", complete=True, extra={"x": 1})
    for event in (Usage(1, details={"cost": 1}), call, Unknown({"a": 1})):
        assert msgspec.json.decode(msgspec.json.encode(event), type=union) == event


def test_a_call_as_a_request_sends_it_back() -> None:
    """Empty arguments are an object; the provider's own keys stand where they came from."""
    call = ToolCall(0, 0, "a", "f", " ", complete=True, extra={"function": {"strict": True}, "sig": "x"})
    assert call.to_dict() == {
        "id": "a",
        "type": "function",
        "function": {"name": "f", "arguments": "{}", "strict": True},
        "sig": "x",
    }
    assert call.extra == {"function": {"strict": True}, "sig": "x"}


def test_public_names_are_sorted_and_exist() -> None:
    """`__all__` says all that there is."""
    assert list(operators.__all__) == sorted(operators.__all__)
    named = {
        name for name, value in vars(operators).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert named == set(operators.__all__)
    assert Message().choice == 0
