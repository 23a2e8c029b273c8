"""sse(): bytes → ServerSentEvent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators import ConnectionLost, LimitExceeded, ServerSentEvent, lines, sse
from tests.support import WAYS, Way, cut_at, cuts

RUN = WAYS[0].run
E = ServerSentEvent

CASES = {
    "one event": (b"data: a\n\n", [E(b"a")]),
    "no space after the colon": (b"data:a\n\n", [E(b"a")]),
    "only one space is dropped": (b"data:  a\n\n", [E(b" a")]),
    "a tab is no space": (b"data:\ta\n\n", [E(b"\ta")]),
    "lines of data are joined with lf": (b"data: a\ndata: b\n\n", [E(b"a\nb")]),
    "empty lines of data count": (b"data:\ndata\n\n", [E(b"\n")]),
    "an empty data field is an event": (b"data\n\ndata:\n\n", [E(b""), E(b"")]),
    "a field name must be whole": (b"dat: a\ndatax: b\n data: c\ndata : d\nDATA: e\n\n", []),
    "colons in the value": (b"data: a:b: c\n\n", [E(b"a:b: c")]),
    "comments": (b": hi\n:\n:data: a\ndata: b\n: in between\n\n", [E(b"b")]),
    "unknown fields": (b"foo: 1\nfoo\ndata: a\n\n", [E(b"a")]),
    "event names": (b"event: ping\ndata: a\n\ndata: b\n\n", [E(b"a", "ping"), E(b"b")]),
    "the last event name counts, an empty one is none": (b"event: a\nevent:\ndata: 1\n\n", [E(b"1")]),
    "a block without data takes its name with it": (b"event: ping\nretry: 5\n\ndata: a\n\n", [E(b"a")]),
    "ids stay": (b"id: 7\ndata: a\n\ndata: b\n\n", [E(b"a", id="7"), E(b"b", id="7")]),
    "an id in a block without data stays": (b"id: 7\n\ndata: b\n\n", [E(b"b", id="7")]),
    "an empty id resets": (b"id: 7\ndata: a\n\nid\ndata: b\n\n", [E(b"a", id="7"), E(b"b")]),
    "an id with nul is ignored": (b"id: 7\ndata: a\n\nid: 8\0\ndata: b\n\n", [E(b"a", id="7"), E(b"b", id="7")]),
    "retry": (b"retry: 2500\ndata: a\n\ndata: b\n\n", [E(b"a", retry=2500), E(b"b")]),
    "retry is digits only": (b"retry: -1\nretry: 1.5\nretry: \nretry: 99999999999999999\ndata: a\n\n", [E(b"a")]),
    "retry without ascii digits": ("retry: ٣\ndata: a\n\n".encode(), [E(b"a")]),
    "blank lines": (b"\n\n\ndata: a\n\n\n\n", [E(b"a")]),
}


@pytest.mark.parametrize(("body", "wanted"), CASES.values(), ids=CASES)
def test_events_follow_the_standard(body: bytes, wanted: list[ServerSentEvent], each_way: Way) -> None:
    """Fed whole, byte by byte, with CRLF and CR, and with trailing data."""
    for flush in (True, False):
        stages = (lines(), sse(flush=flush))
        for text in (body, body.replace(b"\n", b"\r\n"), body.replace(b"\n", b"\r")):
            assert each_way.run([text], *stages).values == wanted
            assert each_way.run(cuts(text, 1), *stages).values == wanted
        more = each_way.run([body, b"data: more"], *stages).values
        assert more[: len(wanted)] == wanted
        assert [event.data for event in more[len(wanted) :]] == ([b"more"] if flush else [])


@given(
    st.lists(st.sampled_from([b"data: x", b"data", b"event: e", b"id: 1", b": c", b"", b"retry: 3"]), max_size=12),
    st.data(),
)
def test_any_cut_gives_the_same_events(fields: list[bytes], data: st.DataObject) -> None:
    """Whatever the terminators."""
    body = b"".join(field + data.draw(st.sampled_from([b"\n", b"\r\n"])) for field in fields)
    whole = RUN([body], lines(), sse()).values
    assert RUN(cut_at(body, data.draw(st.lists(st.integers(0, len(body))))), lines(), sse()).values == whole


def test_an_event_that_no_blank_line_has_ended_is_delivered(each_way: Way) -> None:
    """On completion and before an error from above; not with `flush=False`, which is the standard's rule."""
    gone = ConnectionLost("gone")
    assert each_way.run([b"data: a"], lines(), sse()).values == [E(b"a")]
    assert each_way.run([b"event: x\n"], lines(), sse()).values == []
    broken = each_way.run([b"data: a\ndata: b"], lines(), sse(), end=gone)
    assert (broken.values, broken.end) == ([E(b"a\nb")], gone)
    strict = each_way.run([b"data: a"], lines(), sse(flush=False), end=gone)
    assert (strict.values, strict.end) == ([], gone)
    assert each_way.run([b"data: a"], lines(), sse(flush=False)).values == []


def test_a_bad_byte_costs_one_character() -> None:
    """In data, as text, in names and in ids."""
    (event,) = RUN([b"event: \xff\nid: \xfe\ndata: a\xffb\n\n"], lines(), sse()).values
    assert (event.text, event.event, event.id) == ("a\ufffdb", "\ufffd", "\ufffd")


def test_an_event_larger_than_the_limit_ends_the_stream() -> None:
    """Its data counts as it is joined; the next event starts from nothing; None is no limit."""
    body = b"data: 12345\n\ndata: 123\ndata: 45\n\ndata: 123\ndata: 456\n\n"
    seen = RUN([body], lines(), sse(limit=6))
    assert seen.values == [E(b"12345"), E(b"123\n45")]
    assert isinstance(seen.end, LimitExceeded)
    assert "sse(limit=…)" in str(seen.end)
    assert len(RUN([body], lines(), sse(limit=None)).values) == 3
