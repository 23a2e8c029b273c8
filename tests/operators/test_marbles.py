"""Every marble in the docstring of a public operator is run, and has to be true."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from typing import Any

import pytest
from reactivex import Subject

import operators
from tests.support import COMPLETED, Seen, Way, fused, tell_end, unfused

PUBLIC = {name: getattr(operators, name) for name in operators.__all__}


def is_operator(value: object) -> bool:
    """A function that gives an Operator when it is called with its options."""
    return inspect.isfunction(value) and str(inspect.signature(value).return_annotation).startswith("Operator[")


OPERATORS = {name: value for name, value in PUBLIC.items() if is_operator(value)}


@dataclass(frozen=True)
class Sign:
    """What stands in one column of a lane: the values, and how the stream ends there, if it does."""

    values: tuple[Any, ...] = ()
    end: Any = None


@dataclass(frozen=True)
class Marble:
    above: dict[int, Sign]
    call: str
    below: dict[int, Sign]


def words(lane: str) -> list[tuple[int, str]]:
    """The columns of a lane: where each begins and what stands there; two spaces or more separate them."""
    return [(found.start(), found.group()) for found in re.finditer(r"\S(?:\S| (?! ))*", lane)]


def items(text: str) -> list[str]:
    """The items of `(a b |)`: cut at spaces outside of brackets and quotes, which is where Python can read the rest."""
    found, start = [], 0
    for at in (place.start() for place in re.finditer(r" |$", text)):
        item = text[start:at]
        if item and (item[0] in "|#" or readable(item)):
            found.append(item)
            start = at + 1
    if start <= len(text):
        raise SyntaxError(f"cannot be read: {text[start:]!r}")
    return found


def readable(item: str) -> bool:
    try:
        ast.parse(item, mode="eval")
    except SyntaxError:
        return False
    return True


def sign(word: str) -> Sign:
    if word == "-":
        return Sign()
    values: list[Any] = []
    end: Any = None
    together = word.startswith("(") and not readable(word)
    for item in items(word[1:-1]) if together else [word]:
        if end is not None:
            raise SyntaxError(f"{item} stands after the end")
        if item == "|":
            end = COMPLETED
        elif item.startswith("#"):
            end = PUBLIC[item[1:]]
        else:
            values.append(eval(item, dict(PUBLIC)))
    return Sign(tuple(values), end)


def marbles_of(name: str) -> list[Marble]:
    """The marbles of an operator: every indented block of its docstring is one."""
    doc = inspect.getdoc(PUBLIC[name]) or ""
    blocks = [block.splitlines() for block in re.split(r"\n\s*\n", doc) if block.startswith("    ")]
    found = []
    for block in blocks:
        above, call, below = (line[4:] for line in block)
        assert re.fullmatch(rf"{name}\(.*\)", call), f"the middle line is a call of {name}, not {call!r}"
        lanes = [{at: sign(word) for at, word in words(lane)} for lane in (above, below)]
        found.append(Marble(lanes[0], call, lanes[1]))
    return found


def run(marble: Marble, join: Any) -> dict[int, Sign]:
    """What comes out, by the column in which it comes."""
    source: Subject[Any] = Subject()
    seen = Seen()
    join(source, eval(marble.call, dict(PUBLIC))).subscribe(seen)
    assert (seen.values, seen.ends) == ([], 0), "something came before the first column"
    below: dict[int, Sign] = {}
    for at, given in marble.above.items():
        for value in given.values:
            source.on_next(value)
        tell_end(source, given.end("given in a marble") if isinstance(given.end, type) else given.end)
        end = type(seen.end) if isinstance(seen.end, Exception) else seen.end
        below[at] = Sign(tuple(seen.values), end)
        seen.values.clear()
        if seen.ends:
            break
    return below


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("join", [fused, unfused])
def test_the_marbles_of_every_operator_are_true(name: str, join: Any) -> None:
    """There is at least one; its lanes are aligned, column under column; what is drawn below is what comes."""
    marbles = marbles_of(name)
    assert marbles, f"{name} has no marble"
    for marble in marbles:
        assert run(marble, join) == marble.below


def test_every_operator_is_found() -> None:
    """So that none can hide from the test above."""
    assert set(OPERATORS) >= {
        *("event_stream", "lines", "sse", "payloads", "chunks", "deltas", "tool_calls", "message", "select", "text")
    }


def test_a_marble_is_read_as_it_is_written(each_way: Way) -> None:
    """Columns, groups, ends and errors; what cannot be read is told."""
    assert words("b'a b'  -   (1 2 |)") == [(0, "b'a b'"), (8, "-"), (12, "(1 2 |)")]
    assert sign("-") == Sign()
    assert sign("|") == Sign((), COMPLETED)
    assert sign("#StreamTimeout") == Sign((), operators.StreamTimeout)
    assert sign("(TextDelta('a b') Finish('stop') |)") == Sign(
        (operators.TextDelta("a b"), operators.Finish("stop")), COMPLETED
    )
    assert sign("(1 #ApiError)") == Sign((1,), operators.ApiError)
    for wrong in ("b'a", "(1 b'a)", "(| 1)"):
        with pytest.raises((SyntaxError, KeyError)):
            sign(wrong)
    assert each_way.run([1]).values == [1]
