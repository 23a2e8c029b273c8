"""Arguments as lines: nothing of them is lost, and nothing in a string looks like a value of its own."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sinks._argument_lines import ArgumentLines
from pipeline.sinks._block import LIMIT


def lines(*pieces: str) -> list[str]:
    arguments = ArgumentLines()
    found: list[str] = []
    for piece in pieces:
        arguments.feed(piece)
        found += [line.plain for line in arguments.done()]
    arguments.end()
    return found + [line.plain for line in arguments.done()]


CASES = {
    "flat": ('{"a": 1, "b" : "x y" ,"c":null}', ["a: 1", 'b: "x y"', "c: null"]),
    "nested": ('{"a": {"b": [1, {"c": "d,e"}], "f": {}}}', ['a: {"b": [1, {"c": "d,e"}], "f": {}}']),
    "empty": ("{}", []),
    "blank": ("  ", []),
    "pretty": ('{\n  "a": 1\n}\n', ["a: 1"]),
    "line breaks": (r'{"a": "x\ny\n", "b": "\nb: 1"}', ['a: "x', "  y", '  "', 'b: "', '  b: 1"']),
    "quotes stay": (r'{"a": "x\", \"b\": \"y\\"}', [r'a: "x\", \"b\": \"y\\"']),
    "escapes": (r'{"a": "\u00fc\ud83d\ude00\/\t\b"}', ['a: "ü😀/\t␈"']),
    "half a pair": (r'{"a": "\ud83dx\ud83d\n\ud83d\ud83d\u0041\ud83d"}', ['a: "�x�', '  ��A�"']),
    "no escape": (r'{"a": "\q\uzzzz"}', [r'a: "\q\uzzzz"']),
    "a name with a line break": (r'{"a\nb": 1}', ["a", "b: 1"]),
    "no object": ("[1,\n2]", ["[1,", "2]"]),
    "cut": ('{"a": "x', ['a: "x']),
    "two objects": ('{"a":1}{"b":2}', ["a: 1", "b: 2"]),
}


@pytest.mark.parametrize("name", CASES)
def test_lines(name: str) -> None:
    text, expected = CASES[name]
    assert lines(text) == expected
    assert lines(*text) == expected


def test_a_long_value_is_broken() -> None:
    found = lines('{"a": "' + "x" * 5000 + '"}')
    assert "".join(found) == f'a: "{"x" * 5000}"'
    assert max(map(len, found)) <= LIMIT + 4


@given(
    st.dictionaries(st.text(max_size=3), st.none() | st.text() | st.lists(st.text(), max_size=2), max_size=4),
    st.booleans(),
)
def test_every_value_begins_at_the_margin_and_nothing_else_does(value: dict[str, object], ascii_only: bool) -> None:
    value = {f"k{at}": found for at, found in enumerate(value.values())}
    arguments = ArgumentLines()
    arguments.feed(json.dumps(value, ensure_ascii=ascii_only))
    found = [line.plain for line in arguments.done()]
    assert arguments.whole
    assert [line.partition(":")[0] for line in found if not line.startswith("  ")] == list(value)
