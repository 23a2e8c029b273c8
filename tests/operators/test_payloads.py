"""payloads(): ServerSentEvent → bytes."""

from __future__ import annotations

import pytest

from operators import ApiError, ConnectionLost, EmptyStream, ServerSentEvent, TruncatedError, payloads
from tests.support import Way

E = ServerSentEvent


def test_done_completes_at_once(each_way: Way) -> None:
    """Nothing after it is looked at, and the stream does not wait for its end."""
    seen = each_way.run([E(b"{}"), E(b"[DONE]"), E(b"{}")], payloads(), end=None)
    assert seen.values == [b"{}"]
    assert seen.completed


@pytest.mark.parametrize("data", [b"[DONE]", b" [DONE] ", b"\t[DONE]\n"])
def test_the_sentinel_may_have_white_space_around_it(data: bytes, each_way: Way) -> None:
    """`data:  [DONE] ` is met."""
    assert each_way.run([E(b"{}"), E(data)], payloads(), end=None).completed


@pytest.mark.parametrize("data", [b'{"a":"[DONE]"}', b"[DONE]x", b"[done]", b'"[DONE]"', b"[DONE] [DONE]"])
def test_the_sentinel_is_a_whole_payload(data: bytes, each_way: Way) -> None:
    """A model may write [DONE]."""
    assert each_way.run([E(data)], payloads(), end=None).values == [data]


def test_another_sentinel(each_way: Way) -> None:
    """Even one that looks like an object; [DONE] is then data like any other."""
    assert each_way.run([E(b"[DONE]"), E(b" end ")], payloads(b"end"), end=None).values == [b"[DONE]"]
    assert each_way.run([E(b'{"a":1}'), E(b"{}")], payloads(sentinel=b"{}"), end=None).completed


def test_blank_data_says_nothing(each_way: Way) -> None:
    """Heartbeats of data: a stream of nothing else is empty."""
    assert each_way.run([E(b""), E(b" \n"), E(b"{}")], payloads(), end=None).values == [b"{}"]
    assert isinstance(each_way.run([E(b""), E(b" ")], payloads()).end, EmptyStream)


def test_events_of_any_other_name_are_read(each_way: Way) -> None:
    """Some gateways name their chunks."""
    assert each_way.run([E(b"{}", "chunk")], payloads(), end=None).values == [b"{}"]


def test_a_body_that_ends_without_the_sentinel_is_truncated(each_way: Way) -> None:
    """`deltas()` decides whether that is a loss; an empty one is empty, and so is nothing but the sentinel."""
    cut = each_way.run([E(b"{}")], payloads())
    assert cut.values == [b"{}"]
    assert isinstance(cut.end, TruncatedError)
    assert str(cut.end) == "the body ended without [DONE]"
    assert isinstance(each_way.run([], payloads()).end, EmptyStream)
    only_done = each_way.run([E(b"[DONE]")], payloads(), end=None)
    assert isinstance(only_done.end, EmptyStream)
    assert "nothing but its end mark" in str(only_done.end)


def test_an_error_event_raises_what_it_says(each_way: Way) -> None:
    """After the chunks before it; nothing after it is read."""
    seen = each_way.run([E(b"{}"), E(b'{"message":"overloaded","code":503}', "error"), E(b"{}")], payloads())
    assert seen.values == [b"{}"]
    assert isinstance(seen.end, ApiError)
    assert (seen.end.message, seen.end.code, seen.end.retryable) == ("overloaded", 503, True)


def test_an_error_from_above_passes(each_way: Way) -> None:
    """It is not turned into a truncation."""
    gone = ConnectionLost("gone")
    assert each_way.run([E(b"{}")], payloads(), end=gone).end is gone
