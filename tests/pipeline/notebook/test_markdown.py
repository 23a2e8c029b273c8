"""Markdown that grows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.notebook._markdown import Markdown
from tests.pipeline.notebook.hostile import ATTACKS, assert_harmless

BITS = [
    "# h\n", "para\n", "\n", "\n\n", "- a\n", "  - b\n", "1. x\n", "7) y\n", "> q\n", "```py\n", "```\n", "    code\n", "---\n",
    "===\n", "| a | b |\n|:-:|--:|\n| c | d |\n", "*em", "*", "**", "~~", "`c`", "[l](http://a)", "<b>", "\t", "\r\n", "\r",
    " ", "~~~\n", "\\\n", "  \n", "![i](u)", "text ", *ATTACKS,
]  # fmt: skip
sources = st.lists(st.sampled_from(BITS), max_size=14).map("".join)


def html(source: str) -> str:
    markdown = Markdown()
    markdown.add(source)
    return markdown.html()


@given(sources, st.data())
def test_however_it_is_cut_and_drawn_the_html_is_the_same(source, data):
    markdown = Markdown()
    at = 0
    while at < len(source):
        size = data.draw(st.integers(1, 30))
        markdown.add(source[at : at + size])
        at += size
        if data.draw(st.booleans()):
            markdown.html()
    assert markdown.html() == html(source)


@given(sources, st.data())
def test_what_is_released_and_what_is_left_are_the_whole(source, data):
    markdown = Markdown()
    released, written = "", ""
    at = 0
    while at < len(source):
        size = data.draw(st.integers(1, 60))
        markdown.add(source[at : at + size])
        at += size
        part = markdown.release()
        released, written = released + part[0], written + part[1]
    assert (released + markdown.html()).rstrip("\n") == html(source)
    assert re.sub(r"\r\n?", "\n", written + markdown.source) == re.sub(r"\r\n?", "\n", source)


@given(st.lists(st.sampled_from(["word", "*em*", "`code`", "# head", "- item", "> quote", "\n", "\n\n", " "])))
def test_no_word_is_lost(pieces):
    source = " ".join(pieces)
    for word in ("word", "em", "code", "head", "item", "quote"):
        assert html(source).count(word) >= source.count(word)


@given(sources | st.text())
def test_it_is_never_more_than_text_and_links(source):
    assert_harmless(html(source))


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("a\nb  \nc", "<p>a\nb<br>\nc</p>"),
        ("*e* **s** ~~d~~", "<p><em>e</em> <strong>s</strong> <s>d</s></p>"),
        ("a <b>c</b>", "<p>a &lt;b&gt;c&lt;/b&gt;</p>"),
        ("$5 \\$ &amp;", "<p><span>$</span>5 <span>$</span> &amp;</p>"),
        ("[x](ftp://a)", "<p>x <small>(ftp://a)</small></p>"),
        ("![a cat](http://a/b.png)", "<p>[image: a cat] <small>(http://a/b.png)</small></p>"),
        ("![]()", "<p>[image: ]</p>"),
        ("[ref]: http://a\n\n[ref]", "<p>[ref]: http://a</p>\n<p>[ref]</p>"),
    ],
)
def test_what_becomes_of(source, made):
    assert html(source) == made


def test_a_link_says_where_it_leads_unless_its_words_do():
    assert "<small>(https://a.example/b)</small>" in html("[here](https://a.example/b)")
    assert "<small>" not in html("<https://a.example/b>")
    assert 'href="mailto:a@b.example"' in html("<a@b.example>")


def test_lists_quotes_rules_code_and_tables():
    made = html(
        "3. a\n4. b\n   - c\n\n> q\n\n---\n\n```py\nx = '<'\n```\n\n| l | m | r |\n|---|:-:|--:|\n| 1 | *2* | 3 |"
    )
    for part in (
        '<ol start="3" ',
        "<ul ",
        "<blockquote ",
        "<hr ",
        "x = &#x27;&lt;&#x27;\n</code></pre>",
        "<em>2</em></td>",
    ):
        assert part in made
    assert [found[1] for found in re.finditer(r"text-align:(\w+)", made)] == ["left", "center", "right"] * 2


def test_a_heading_is_no_heading_of_the_notebook():
    assert "<h" not in html("# One\n\n#### Four")
    assert "<strong>One</strong>" in html("# One")
