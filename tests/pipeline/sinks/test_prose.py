"""Markdown that grows: however it is cut into pieces and frames, the same rows come out."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from pipeline.sinks._block import LIMIT
from pipeline.sinks._painter import Painter
from pipeline.sinks._prose import Prose


def painter(width: int = 40) -> Painter:
    return Painter(Console(file=io.StringIO(), width=width, height=20, _environ={}))


def rows(*pieces: str, width: int = 40) -> list[str]:
    """The rows, with a frame after each piece."""
    paint, prose = painter(width), Prose()
    found = []
    for piece in pieces:
        prose.add(piece)
        found += prose.settled(paint)
        prose.open(paint)
    prose.ended = True
    found += prose.settled(paint)
    assert prose.open(paint) == []
    return [paint.line(row).text for row in found]


CASES = {
    "paragraphs": ("a\nb\n\n\nc", ["a b", "", "c"]),
    "a hard break": ("a  \nb", ["a", "b"]),
    "headings": ("# A\nb\n### C\nd", ["A", "", "b", "", "### C", "", "d"]),
    "a tight list": ("To do:\n- a\n- b\n  - c\n\nd", ["To do:", "• a", "• b", "  • c", "", "d"]),
    "a loose list": ("- a\n\n- b\n\n  c", ["• a", "", "• b", "", "  c"]),
    "numbers": ("9. a\n10. b\n    c\n1) d", ["9. a", "10. b c", "1) d"]),
    "an empty item": ("-\n- a", ["•", "• a"]),
    "a quote": ("> a\n> b\n>\n> c", ["│ a b", "│", "│ c"]),
    "code in a quote": ("> ```x\n> a\n> ```", [f"│ ── x {'─' * 33}", "│ a", f"│ {'─' * 38}"]),
    "a rule": ("a\n\n---\nb", ["a", "", "─" * 40, "", "b"]),
    "setext": ("a\n---\nb", ["a", "", "b"]),
    "code": ("a\n```\nb\n\n  c\n```\nd", ["a", "", "─" * 40, "b", "", "  c", "─" * 40, "", "d"]),
    "code with a language": ("```py\nx\n~~~\n```", ["── py ──────────────────────────────────", "x", "~~~", "─" * 40]),
    "code with much beside its fence": (
        "```py title=a_name_that_has_no_room.py\nx\n```",
        ["─" * 40, "py title=a_name_that_has_no_room.py", "x", "─" * 40],
    ),
    "code with very much beside its fence": (f"```{'a' * 50}\nx\n```", ["─" * 40, "a" * 40, "a" * 10, "x", "─" * 40]),
    "code that never ends": ("~~~\nx", ["─" * 40, "x", "─" * 40]),
    "code with longer fences": ("````\n```\n````", ["─" * 40, "```", "─" * 40]),
    "no code": ("``` a `b` ```", ["a `b`"]),
    "code by indent": ("    a\n    b", ["─" * 40, "a", "b", "─" * 40]),
    "no fence, by indent": ("a\n\n    ```\n    b", ["a", "", "─" * 40, "```", "b", "─" * 40]),
    "code in a list": (
        "1. a\n\n   ```\n   b\n     c\n   ```\n   d\n2. e",
        ["1. a", "", f"   {'─' * 37}", "   b", "     c", f"   {'─' * 37}", "", "   d", "2. e"],
    ),
    "code in a list within a list": (
        "- a\n  - b\n    ```\n    c\n    ```\n  - d\n- e",
        ["• a", "  • b", "", f"    {'─' * 36}", "    c", f"    {'─' * 36}", "", "  • d", "• e"],
    ),
    "tabs": ("```\n\ta\n```", ["─" * 40, "    a", "─" * 40]),
    "a table": (
        "| a | b | c |\n|:-:|--:|---|\n| 1 | 22 | **3** |\n| 4 |",
        ["a   b  c", "────────", "1  22  3", "4"],
    ),
    "html": ("<b>a</b>\n\n<div>\nb", ["<b>a</b>", "", "<div> b"]),
    "definitions": ("[a]: https://b.c\n\n[a]", ["[a]: https://b.c", "", "[a]"]),
    "links": ("[a](b) <https://c.d> [](e) ![f](g) ![](h)", ["a (b) https://c.d  (e) [image: f] (g)", "[image: ] (h)"]),
    "entities": ("a &amp; b &#x202e; c", ["a & b ⟨U+202E⟩ c"]),
    "carriage returns": ("a\r\n\r\nb\rc", ["a", "", "b␍c"]),
    "marks": ("***", ["─" * 40]),
    "nothing": ("\n\n", []),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_laid_out(name: str) -> None:
    text, expected = CASES[name]
    assert rows(text) == expected
    assert rows(*text) == expected
    assert rows(*text.splitlines(keepends=True)) == expected


BITS = [
    *(
        "a",
        "b c",
        " ",
        "\n",
        "\n\n",
        "\n",
        "- ",
        "\n- x",
        "1. ",
        "\n2. y",
        "# ",
        "> ",
        "```",
        "\n```\n",
        "```py\n",
        "~~~\n",
    ),
    *(
        "  ",
        "    ",
        "   ",
        "|",
        "\n| a | b |\n|---|---|\n",
        "| 1 | 2 |\n",
        "---",
        "\n---\n",
        "===\n",
        "**",
        "*",
        "`",
        "_",
    ),
    *("[x](y)", "\t", "\r\n", "\r", "<b>", "&amp;", "\\", "é", "漢", "\x1b"),
]


@settings(max_examples=50)
@given(st.lists(st.sampled_from(BITS), max_size=25), st.data())
def test_any_cut_gives_the_same_rows(bits: list[str], data: st.DataObject) -> None:
    text = "".join(bits)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert rows(*pieces) == rows(*text)


@given(
    st.lists(
        st.sampled_from([*(bit for bit in BITS if bit[0] != "&"), "word " * 300, "x" * 3000, "line\n" * 300]),
        max_size=12,
    )
)
def test_no_letter_is_lost(bits: list[str]) -> None:
    text = "".join(bits)
    letters = [char for char in text if char in "abcxéword漢"]
    for pieces in ([text], bits):
        shown = "".join(rows(*pieces))
        for letter in set(letters):
            assert shown.count(letter) >= letters.count(letter) - text.count("```py") - text.count("[x]")


def test_a_long_paragraph_is_broken_at_a_word() -> None:
    text = "word " * 2000
    found = rows(*[text[at : at + 100] for at in range(0, len(text), 100)])
    assert " ".join(found).split() == ["word"] * 2000
    assert "" not in found
    assert sum(len(row) < 39 for row in found) < 10


def test_a_long_word_is_broken_too() -> None:
    assert "".join(rows(*["x" * 100] * 100)) == "x" * 10_000


def test_lines_of_a_long_paragraph_go() -> None:
    paint, prose = painter(), Prose()
    for _ in range(300):
        prose.add("one line of it\n")
        prose.settled(paint)
        assert len(prose.open(paint)) <= LIMIT // 30


@pytest.mark.slow
def test_a_long_table_goes_on_under_its_header() -> None:
    head = "| a | b |\n|---|---|\n"
    found = rows(head, *(f"| {number} | some text |\n" for number in range(150)))
    assert [row.split()[0] for row in found if "some" in row] == [str(number) for number in range(150)]
    headers = sum(row.split() == ["a", "b"] for row in found)
    assert 1 < headers < 10


def test_a_table_with_giant_rows_is_broken_as_text_is() -> None:
    found = rows("| a |\n|---|\n", *(f"| {'x' * 1500} |\n" for _ in range(4)))
    assert "".join(found).count("x") == 6000


def test_a_long_item_stays_an_item() -> None:
    found = rows("- first\n", *("  and a line that goes on\n" for _ in range(200)), "- second")
    assert found[0].startswith("• first")
    assert all(row.startswith("  ") for row in found[1:-1])
    assert found[-1] == "• second"


def test_a_long_line_of_code_is_cut() -> None:
    found = rows("```\n", *["x" * 1000] * 10, "\n```\n")
    assert [len(row) for row in found[1:-1]] == [LIMIT] * 4 + [10_000 - 4 * LIMIT]
    assert rows("```python\n" + "y" * 600 + "\n```")[1] == "y" * 600


def test_colours_know_what_stands_above() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=40, _environ={})
    paint, prose = Painter(console), Prose()
    prose.add('```python\n"""\n')
    prose.settled(paint)
    prose.add("def in_a_string\n")
    assert paint.line(prose.settled(paint)[0]).text == "\x1b[32mdef in_a_string\x1b[0m"
    prose.add("x = 1\n" * 1000)
    prose.settled(paint)
    code = prose._code
    assert code is not None
    assert sum(len(line) for line in code._above) <= 2000


def test_a_lexer_that_changes_the_code_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.sinks._code.Syntax.highlight", lambda self, code: Text("something else"))
    assert rows("```x\na\nb\n```")[1:3] == ["a", "b"]


def test_what_may_still_become_something_else_is_held_back() -> None:
    paint, prose = painter(), Prose()
    shown = []
    for piece in ("Text\n", "-", "-", "-"):
        prose.add(piece)
        prose.settled(paint)
        shown.append([paint.line(row).text for row in prose.open(paint)])
    assert shown == [["Text"]] * 4
