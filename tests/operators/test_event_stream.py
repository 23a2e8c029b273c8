"""event_stream(): bytes → bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators import ConnectionLost, Finish, LimitExceeded, NotEventStream, TextDelta, TruncatedError, event_stream
from tests.support import DECODE, WAYS, Way, cut_at, cuts

RUN = WAYS[0].run


@pytest.mark.parametrize(
    "body",
    [
        b"data: x\n\n",
        b"\xef\xbb\xbfdata: x\n\n",
        b": hello\n\ndata: x\n\n",
        b"\r\n\r\ndata: x\r\n\r\n",
        b"event: error\ndata: x\n\n",
        b"foo\nid\ndata: x\n\n",
        b"retry: 5\n\n",
        b":",
        b"",
        b"\n\n",
        b"\xef\xbb",
        b" \n data: x\nid:",
    ],
)
def test_an_event_stream_is_handed_on_as_it_is(body: bytes, each_way: Way) -> None:
    """Whole, byte by byte and with trailing data: not a byte is lost or added, but for the mark."""
    for reads in ([body], cuts(body, 1), [body, b"\ndata: tail"]):
        seen = each_way.run(reads, event_stream())
        assert b"".join(seen.values).removeprefix(b"\xef\xbb\xbf") == b"".join(reads).removeprefix(b"\xef\xbb\xbf")
        assert seen.completed


def test_reads_are_handed_on_as_soon_as_the_kind_is_known() -> None:
    """A field or a comment is enough; nothing is collected."""
    assert RUN([b"d", b"ata: x\n"], event_stream(), end=None).values == [b"d", b"ata: x\n"]
    assert RUN([b"\n", b": hi\n"], event_stream(), end=None).values == [b"\n: hi\n"]


PAGES = {
    "a page": b"<!doctype html>\n<html><head><title>Sign in</title></head><body>data: soon</body></html>",
    "a long page": b"<html>" + b"x" * 5000,
    "a page after blanks": b"\xef\xbb\xbf \n<html>",
    "plain text": b"Service unavailable\n",
    "gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00" + bytes(range(14, 100)),
    "json lines": b'{"choices":[]}\n{"choices":[]}\n',
    "a json object that is no completion": b'{"hello":"world"}',
    "a json list": b"[1, 2]",
    "an empty list": b"[]",
    "a field name in mid-line": b"my data: x",
    "brackets that close and are no json": b"{nonsense}",
}


@pytest.mark.parametrize("body", PAGES.values(), ids=PAGES)
def test_what_is_no_event_stream_is_told_with_its_start(body: bytes) -> None:
    """A login page with status 200, compressed bytes, JSON lines; the same in every cut."""
    for size in (len(body), 1, 7):
        seen = RUN(cuts(body, size), event_stream())
        assert isinstance(seen.end, NotEventStream)
        assert repr(body.strip(b"\xef\xbb\xbf \n")[:8])[2:-1] in str(seen.end)
        assert len(str(seen.end)) < 800


def test_a_page_is_told_before_it_has_ended() -> None:
    """Its start is enough."""
    assert isinstance(RUN([b"<html>" + b"x" * 200], event_stream(), end=None).end, NotEventStream)


COMPLETION: dict[str, Any] = {
    "id": "c1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hé"}, "finish_reason": "stop"}],
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("before", [b"", b" \n", b"\xef\xbb\xbf"])
def test_a_json_completion_gives_the_events_of_a_stream(indent: int | None, before: bytes) -> None:
    """The server ignored `stream`: one line or many, with a mark or without."""
    body = before + json.dumps(COMPLETION, indent=indent, ensure_ascii=False).encode()
    for size in (len(body), 1, 7):
        seen = RUN(cuts(body, size), *DECODE)
        assert seen.values[1:] == [TextDelta("Hé"), Finish("stop")]
        assert seen.completed


def test_a_list_that_holds_a_completion_is_one() -> None:
    """A gateway's wrapping."""
    assert RUN([json.dumps([COMPLETION]).encode()], *DECODE).values[1] == TextDelta("Hé")


def test_json_of_text_that_is_not_quite_json_is_read() -> None:
    """A raw control character and a bad byte cost no answer."""
    body = b'{"choices":[{"message":{"content":"a\tb\xff"}}]}'
    assert RUN([body], *DECODE).values[1] == TextDelta("a\tb\ufffd")


def test_a_json_body_that_was_cut_is_truncated() -> None:
    """Whether it ends cleanly or with the connection."""
    body = json.dumps(COMPLETION).encode()[:-5]
    cut = RUN(cuts(body, 9), event_stream())
    assert isinstance(cut.end, TruncatedError)
    assert f"after {len(body)} bytes" in str(cut.end)
    gone = ConnectionLost("gone")
    assert RUN([body], event_stream(), end=gone).end is gone


def test_a_json_body_that_is_whole_when_the_connection_breaks_is_no_loss() -> None:
    """Nothing more was to come."""
    seen = RUN([json.dumps(COMPLETION).encode()], *DECODE, end=ConnectionLost("gone"))
    assert seen.values[1:] == [TextDelta("Hé"), Finish("stop")]
    assert seen.completed


@pytest.mark.parametrize("body", [b"data: x", b"", b"hello", b"<html>"])
def test_an_error_from_above_passes(body: bytes, each_way: Way) -> None:
    """A broken connection says more than the start of the body."""
    gone = ConnectionLost("gone")
    assert each_way.run([body], event_stream(), end=gone).end is gone


def test_the_limit_is_for_a_json_body_alone() -> None:
    """Nothing of an event stream is collected; None is no limit."""
    seen = RUN([b"{" + b" " * 20], event_stream(limit=20), end=None)
    assert isinstance(seen.end, LimitExceeded)
    assert "event_stream(limit=…)" in str(seen.end)
    assert RUN([b"{" + b" " * 20], event_stream(limit=None), end=None).ends == 0
    assert RUN([b"data: " + b"x" * 50], event_stream(limit=20)).completed


@given(
    st.lists(
        st.sampled_from([b"data: x\n", b"\n", b" ", b"{", b"}", b"<", b"x", b":", b"\xef\xbb\xbf", b"id"]), max_size=8
    ),
    st.data(),
)
def test_any_cut_gives_the_same(pieces: list[bytes], data: st.DataObject) -> None:
    """The same bytes and the same end."""
    body = b"".join(pieces)
    whole = RUN([body], event_stream())
    cut = RUN(cut_at(body, data.draw(st.lists(st.integers(0, len(body))))), event_stream())
    assert b"".join(cut.values) == b"".join(whole.values)
    assert (type(cut.end), str(cut.end)) == (type(whole.end), str(whole.end))
