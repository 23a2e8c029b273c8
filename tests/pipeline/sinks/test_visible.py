"""Nothing in a text is obeyed, and nothing of it is lost."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sinks._visible import encodable, visible


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "tab\tnewline\ncrlf\r\n",
        "Grüße 世界 👩‍👩‍👧 é",
        "שלום \u200fעולם",
        "a\u2028b\u00a0c",
        "[bold]x[/bold]",
    ],
)
def test_what_is_harmless_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b]8;;http://evil\x1b\\click", "␛]8;;http://evil␛\\click"),
        ("\x9b2J", "⟨U+009B⟩2J"),
        ("safe\rEVIL", "safe␍EVIL"),
        ("a\x08\x7f\x00\x0b\x0c", "a␈␡␀␋␌"),
        ("x\u202etxt.exe\u2066", "x⟨U+202E⟩txt.exe⟨U+2066⟩"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_what_would_be_obeyed_is_seen(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text(st.characters(), max_size=50))
def test_no_control_character_is_left(text: str) -> None:
    left = visible(text).replace("\r\n", "").replace("\n", "").replace("\t", "")
    assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in left)
    visible(text).encode()


@given(st.text(), st.sampled_from(["ascii", "cp1252", "iso-8859-1", "utf-8", "UTF_16"]))
def test_it_can_always_be_written(text: str, encoding: str) -> None:
    encodable(visible(text), encoding).encode(encoding)
