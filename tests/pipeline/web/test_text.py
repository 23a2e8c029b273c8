"""Text that grows, and secrets in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.web._growing import Growing, units
from pipeline.web._mask import Mask, masked

PIECES = st.lists(st.text(alphabet=st.sampled_from("ab🌤é\n"), max_size=6), max_size=12)


@given(PIECES, st.integers(1, 5))
def test_read_in_parts_it_is_the_same_text(pieces: list[str], size: int) -> None:
    text = Growing()
    for piece in pieces:
        assert text.add(piece, room=1000) == units(piece)
    whole, at = "", 0
    while at < len(text):
        part = text.part(at, size + 1)
        assert part
        whole, at = whole + part, at + units(part)
    assert whole == "".join(pieces)


def test_what_is_beyond_the_room_is_measured_and_not_kept() -> None:
    text = Growing()
    assert text.add("abc", room=2) == 3
    assert text.add("def", room=0) == 3
    assert text.part(0, 10) == "ab"


def test_half_a_pair_does_no_harm() -> None:
    text = Growing()
    text.add("a\ud83d", room=10)
    assert text.part(0, 10) == "a�"


@given(PIECES, st.sampled_from(["ab", "aab", "🌤a", "abab"]))
def test_a_secret_is_hidden_however_it_is_cut(pieces: list[str], secret: str) -> None:
    mask = Mask([secret])
    shown = "".join(mask.feed(piece) for piece in pieces) + mask.rest()
    assert secret not in shown
    assert shown == masked("".join(pieces), [secret])
    assert units(shown) == units("".join(pieces))


@pytest.mark.parametrize("secrets", [[], ["none-of-these"]])
def test_text_without_secrets_is_not_held_back(secrets: list[str]) -> None:
    assert Mask(secrets).feed("as it is") == "as it is"
