"""lines(): bytes → bytes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators import ConnectionLost, LimitExceeded, lines
from tests.support import WAYS, Way, cut_at, cuts

RUN = WAYS[0].run

CASES = {
    "lf": (b"a\nb\n", [b"a", b"b"]),
    "cr": (b"a\rb\r", [b"a", b"b"]),
    "crlf": (b"a\r\nb\r\n", [b"a", b"b"]),
    "mixed": (b"a\r\n\r\n\n\rb\n", [b"a", b"", b"", b"", b"b"]),
    "lf then cr is two": (b"a\n\rb\n", [b"a", b"", b"b"]),
    "no terminator": (b"a\nb", [b"a", b"b"]),
    "blank lines": (b"\n\n", [b"", b""]),
    "one mark": (b"\xef\xbb\xbfa\n", [b"a"]),
    "a second mark is text": (b"\xef\xbb\xbf\xef\xbb\xbfa\n", [b"\xef\xbb\xbfa"]),
    "a mark later is text": (b"a\n\xef\xbb\xbfb\n", [b"a", b"\xef\xbb\xbfb"]),
    "a mark alone": (b"\xef\xbb\xbf", []),
    "a mark and a blank line": (b"\xef\xbb\xbf\r\na\n", [b"", b"a"]),
    "half a mark": (b"\xef\xbb", [b"\xef\xbb"]),
    "what only looks like a mark": (b"\xef\xbba\n", [b"\xef\xbba"]),
    "u+2028, u+2029, u+0085": ("a\u2028b\u2029c\x85d\n".encode(), ["a\u2028b\u2029c\x85d".encode()]),
    "vt, ff, fs, gs, rs": (b"a\x0bb\x0cc\x1cd\x1de\x1ef\n", [b"a\x0bb\x0cc\x1cd\x1de\x1ef"]),
    "a lone 0x85": (b"a\x85b\n", [b"a\x85b"]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize(("body", "wanted"), CASES.values(), ids=CASES)
def test_lines_end_at_cr_lf_and_crlf_alone(body: bytes, wanted: list[bytes], each_way: Way) -> None:
    """Fed whole, byte by byte, with empty reads between, and with trailing data."""
    for reads in ([body], cuts(body, 1), [part for read in cuts(body, 1) for part in (b"", read, b"")]):
        seen = each_way.run(reads, lines())
        assert seen.values == wanted
        assert seen.completed
    if body[-1:] in {b"\n", b"\r"}:
        assert each_way.run([body, b"tail"], lines()).values == [*wanted, b"tail"]


@given(
    st.lists(st.sampled_from([b"\r", b"\n", b"a", b"\xef\xbb\xbf", b"\xef", b"\xe2\x80\xa8"]), max_size=12), st.data()
)
def test_any_cut_gives_the_same_lines(pieces: list[bytes], data: st.DataObject) -> None:
    """As a regular expression over the whole body would, with a limit that none reaches or without."""
    body = b"".join(pieces)
    reads = cut_at(body, data.draw(st.lists(st.integers(0, len(body)))))
    wanted = re.split(b"\r\n|\r|\n", body.removeprefix(b"\xef\xbb\xbf"))
    if not wanted[-1]:
        wanted.pop()
    limit = data.draw(st.sampled_from([None, 40, 1000]))
    assert RUN(reads, lines(limit=limit)).values == wanted


def test_a_cr_ends_its_line_at_once() -> None:
    """It does not wait for a LF that may never come."""
    assert RUN([b"a\r"], lines(), end=None).values == [b"a"]
    assert RUN([b"a\r", b"\nb\n"], lines(), end=None).values == [b"a", b"b"]


def test_the_last_line_comes_before_an_error_from_above(each_way: Way) -> None:
    """A broken connection loses nothing of what came."""
    gone = ConnectionLost("gone")
    seen = each_way.run([b"a\nb"], lines(), end=gone)
    assert (seen.values, seen.end) == ([b"a", b"b"], gone)
    assert each_way.run([b"a\n"], lines(), end=gone).values == [b"a"]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5), st.integers(1, 8), st.integers(1, 9))
def test_a_line_longer_than_the_limit_ends_the_stream_in_every_cut(lengths: list[int], limit: int, size: int) -> None:
    """The lines before it arrive; a line of just `limit` bytes is allowed."""
    body = b"".join(b"x" * length + b"\n" for length in lengths)
    seen = RUN(cuts(body, size), lines(limit=limit))
    good = next((place for place, length in enumerate(lengths) if length > limit), None)
    assert seen.values == [b"x" * length for length in lengths[:good]]
    assert seen.completed if good is None else isinstance(seen.end, LimitExceeded)


def test_the_limit_holds_for_a_line_that_never_ends() -> None:
    """Memory is bounded while it grows, and the message says what to set."""
    seen = RUN([b"x" * 5] * 100, lines(limit=10), end=None)
    assert str(seen.end) == "a line has more than 10 bytes; lines(limit=…) sets how many it may have"


def test_other_kinds_of_bytes_are_taken_and_text_is_not() -> None:
    """Text would have been decoded before it was cut, which breaks characters."""
    assert RUN([bytearray(b"a\n"), memoryview(b"b\n")], lines()).values == [b"a", b"b"]
    seen = RUN(["a\n"], lines())
    assert isinstance(seen.end, TypeError)
    assert "a read is bytes, not str" in str(seen.end)
