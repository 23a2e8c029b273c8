"""A provider's own keys: merged when asked, at any time, with the same outcome."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators._extras import Extras


def merged(*pieces: dict[str, Any]) -> dict[str, Any]:
    extras = Extras()
    for piece in pieces:
        extras.add(piece)
    return extras.merged()


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([], {}),
        ([{"v": 1}, {"w": None}, {"v": 2}], {"v": 2, "w": None}),
        ([{"o": {"a": 1, "b": {"c": 1}}}, {"o": {"b": {"d": 2}}}], {"o": {"a": 1, "b": {"c": 1, "d": 2}}}),
        ([{"o": {"a": 1}}, {"o": 1}, {"o": {"b": 2}}], {"o": {"b": 2}}),
        ([{"l": [1]}, {"l": {"a": 1}}, {"l": [2]}, {"l": [2, "s"]}], {"l": [2, 2, "s"]}),
        ([{"l": [{"text": "a"}]}, {"l": [{"text": "b"}]}], {"l": [{"text": "a"}, {"text": "b"}]}),
        (
            [{"l": [{"index": 0, "text": "a"}, {"index": 1, "text": "b"}]}, {"l": [{"index": 0, "text": "c"}]}],
            {"l": [{"index": 0, "text": "ac"}, {"index": 1, "text": "b"}]},
        ),
        (
            [
                {"l": [{"index": 0, "type": "t", "id": "x", "text": "a"}]},
                {"l": [{"index": 0, "type": "u", "text": "b"}]},
            ],
            {"l": [{"index": 0, "type": "t", "id": "x", "text": "a"}, {"index": 0, "type": "u", "text": "b"}]},
        ),
        (
            [{"l": [{"index": [0], "id": "x"}]}, {"l": [{"index": [0], "id": None, "data": "d", "n": 1}]}],
            {"l": [{"index": [0], "id": "x", "data": "d", "n": 1}]},
        ),
        (
            [{"l": [{"index": 0, "text": text}]} for text in ("a", "b", 1, "c", "d")],
            {"l": [{"index": 0, "text": "cd"}]},
        ),
    ],
)
def test_what_pieces_make(pieces: list[dict[str, Any]], whole: dict[str, Any]) -> None:
    """Objects by key, entries of lists by index and type, whose texts grow; nulls take nothing back."""
    assert merged(*pieces) == whole


VALUES = st.recursive(
    st.none() | st.integers(0, 2) | st.sampled_from(["a", "b"]),
    lambda deeper: (
        st.lists(deeper, max_size=2)
        | st.dictionaries(st.sampled_from(["index", "type", "text", "k"]), deeper, max_size=3)
    ),
    max_leaves=6,
)
PIECES = st.lists(st.dictionaries(st.sampled_from(["l", "o"]), VALUES, max_size=2), max_size=5)


@given(PIECES)
def test_asking_in_between_changes_nothing(pieces: list[dict[str, Any]]) -> None:
    before = repr(pieces)
    extras = Extras()
    for at, piece in enumerate(pieces):
        extras.add(piece)
        assert extras.merged() == merged(*pieces[: at + 1])
    assert repr(pieces) == before  # events are frozen: what they hold does not grow behind their back
