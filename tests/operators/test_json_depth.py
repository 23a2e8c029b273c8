"""Whether JSON text that comes in pieces is whole."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from operators._json_depth import DEPTH, JsonDepth, too_deep

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('a"\\{}[]é\n')),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.sampled_from('a"\\{}'), max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), values, max_size=3), st.data())
def test_an_object_is_whole_at_its_last_brace_and_not_before(value: dict[str, object], data: st.DataObject) -> None:
    """In any cut, whatever stands in its strings."""
    text = json.dumps(value, ensure_ascii=False)
    places = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    depth = JsonDepth()
    edges = [0, *places, len(text)]
    for start, end in pairwise(edges):
        depth.feed(text[start:end])
        assert depth.whole == (end == len(text))


def test_text_before_and_after_does_not_matter() -> None:
    """White space after the end leaves it whole; text that opened nothing is not whole."""
    depth = JsonDepth()
    depth.feed(" 7 ")
    assert not depth.whole
    depth.feed('{"a": [1]}')
    depth.feed("\n")
    assert depth.whole
    depth.feed("{")
    assert not depth.whole


def test_a_backslash_outside_of_strings_escapes_nothing() -> None:
    """It is no JSON, but must not hide a brace."""
    depth = JsonDepth()
    depth.feed("\\{\\}")
    assert depth.whole


def test_too_deep_counts_what_is_open_and_no_brackets_in_texts() -> None:
    """Of text and of bytes, at the edge, side by side, and with a text that is never closed."""
    edge = "[" * DEPTH + "]" * DEPTH
    for text in (edge, f"[{edge[1:-1]}, {edge[1:-1]}]", '{"a":"' + "[" * 999 + '\\""}', '"' + "{" * 999, "[]" * 999):
        assert not too_deep(text)
        assert not too_deep(text.encode())
    for text in (f"[{edge}]", '{"a":' * DEPTH + "[1", '["\\\\",' * (DEPTH + 1)):
        assert too_deep(text)
        assert too_deep(text.encode())
