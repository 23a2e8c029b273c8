"""A model's text as HTML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.notebook._safe import address, escaped
from pipeline.sinks._visible import visible
from tests.pipeline.notebook.hostile import ATTACKS, assert_harmless


@given(st.text() | st.sampled_from(ATTACKS))
def test_what_a_browser_shows_is_the_text(text):
    assert assert_harmless(f"<p>{escaped(text)}</p>").text == visible(text)


@given(st.text(alphabet="$\\()[]ab"))
def test_no_delimiter_of_tex_is_left_whole(text):
    for part in escaped(text).replace("<span>", "\n").replace("</span>", "\n").split("\n"):
        assert part in {"$", "\\"} or not {"$", "\\"} & set(part)


@pytest.mark.parametrize(
    "url",
    ["javascript:x", " javascript:x", "java\nscript:x", "data:text/html,x", "vbscript:x", "file:///etc", "//a", "a.ipynb", "#a", "http://", "https:a", "blob:x", ""],
)  # fmt: skip
def test_what_is_no_page_and_no_mail_is_no_address(url):
    assert address(url) is None


@given(st.text())
def test_an_address_stays_inside_its_attribute(rest):
    assert not {'"', "<", ">"} & set(address(f"http://a{rest}") or "")
