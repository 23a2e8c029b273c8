"""Which tool call a piece belongs to: one small stream for each way in which providers bend it."""

from __future__ import annotations

from typing import Any

import pytest

from operators import ToolCallDelta
from operators._keying import Calls
from tests.support import FINISHED, call, calls_of, chunk, events_of


def pieces(*found: dict[str, Any]) -> dict[str, Any]:
    """Several pieces in one delta."""
    return chunk({"tool_calls": [piece["choices"][0]["delta"]["tool_calls"][0] for piece in found]})


A, B = ("a", "f", '{"x":1}', True), ("b", "g", '{"y":2}', True)
ONE = [A]
TWO = [A, B]

CASES: dict[str, tuple[list[Any], list[tuple[str, str, str, bool]]]] = {
    # ------------------------------------------------------------ in order
    "pieces": ([call(0, "a", "f", ""), call(0, arguments='{"x"'), call(0, arguments=":1}")], ONE),
    "two calls interleaved": (
        [call(0, "a", "f", '{"x"'), call(1, "b", "g", '{"y"'), call(0, arguments=":1}"), call(1, arguments=":2}")],
        TWO,
    ),
    "two pieces of one index in one delta": (
        [pieces(call(0, "a", "f"), call(0, arguments='{"x"')), call(0, arguments=":1}")],
        ONE,
    ),
    "two calls in one delta": ([pieces(call(0, "a", "f", '{"x":1}'), call(1, "b", "g", '{"y":2}'))], TWO),
    # ------------------------------------------------------------ index
    "index missing, whole call": ([call(None, "a", "f", '{"x":1}')], ONE),
    "index missing, parallel": ([call(None, "a", "f", '{"x":1}'), call(None, "b", "g", '{"y":2}')], TWO),
    "index missing, parallel in one delta": (
        [pieces(call(None, "a", "f", '{"x":1}'), call(None, "b", "g", '{"y":2}'))],
        TWO,
    ),
    "index missing, no ids, in one delta": (
        [pieces(call(None, None, "f", '{"x":1}'), call(None, None, "g", '{"y":2}'))],
        [("*", *A[1:]), ("*", *B[1:])],
    ),
    "index missing, no ids, two names in one delta, arguments open": (
        [pieces(call(None, None, "f"), call(None, None, "g", '{"y":2}'))],
        [("*", "f", "", True), ("*", *B[1:])],
    ),
    "index missing, the same name again when whole": (
        [call(None, None, "f", '{"x":1}'), call(None, None, "f", '{"x":2}')],
        [("*", *A[1:]), ("*", "f", '{"x":2}', True)],
    ),
    "index missing, pieces by id": (
        [
            call(None, "a", "f", '{"x"'),
            call(None, "b", "g", '{"y"'),
            call(None, "a", arguments=":1}"),
            call(None, "b", arguments=":2}"),
        ],
        TWO,
    ),
    "index missing, pieces without id": ([call(None, "a", "f", '{"x"'), call(None, arguments=":1}")], ONE),
    "index missing, the id late": ([call(None, None, "f", '{"x"'), call(None, "a", arguments=":1}")], ONE),
    "index missing, the id late, named again": ([call(None, None, "f"), call(None, "a", "f", '{"x":1}')], ONE),
    "index missing, the id changes": ([call(None, "a", "f", '{"x"'), call(None, "z", arguments=":1}")], ONE),
    "index missing, the id repeated when whole with another name": (
        [call(None, "a", "f", '{"x":1}'), call(None, "a", "g", '{"y":2}')],
        [A, ("*", *B[1:])],
    ),
    "index null": ([call(..., "a", "f", '{"x"'), call(..., ..., ..., ":1}")], ONE),
    "index always 0, two calls with ids": (
        [call(0, "a", "f", '{"x"'), call(0, arguments=":1}"), call(0, "b", "g", ""), call(0, arguments='{"y":2}')],
        TWO,
    ),
    "index always 0, two calls with ids at once": (
        [
            call(0, "a", "f", '{"x"'),
            call(0, "b", "g", '{"y"'),
            call(0, "a", arguments=":1}"),
            call(0, "b", arguments=":2}"),
        ],
        TWO,
    ),
    "index always 0, two whole calls without ids": (
        [call(0, None, "f", '{"x":1}'), call(0, None, "f", '{"x":2}')],
        [("*", *A[1:]), ("*", "f", '{"x":2}', True)],
    ),
    "index from one": ([call(1, "a", "f", '{"x":1}'), call(2, "b", "g", '{"y":2}')], TWO),
    "index negative": ([call(-1, "a", "f", '{"x"'), call(-1, arguments=":1}")], ONE),
    "index with a gap, the later one first": (
        [call(2, "b", "g", '{"y"'), call(0, "a", "f", '{"x":1}'), call(2, arguments=":2}")],
        TWO,
    ),
    "index as text, then as a number": ([call("0", "a", "f", '{"x"'), call(0, arguments=":1}")], ONE),
    "index as a float": ([call(0.0, "a", "f", '{"x"'), call(0, arguments=":1}")], ONE),
    "index as an odd float": ([call(0.5, "a", "f", '{"x"'), call(0.5, arguments=":1}")], ONE),
    "index as a word": ([call("first", "a", "f", '{"x"'), call("first", arguments=":1}")], ONE),
    "index empty or a boolean is none": ([call("", "a", "f", '{"x"'), call(True, arguments=":1}")], ONE),
    "index counts pieces": ([call(0, "a", "f", '{"x"'), call(1, "a", arguments=":1}")], ONE),
    "index counts pieces, named each time": ([call(0, "a", "f", '{"x"'), call(1, "a", "f", ":1}")], ONE),
    # ------------------------------------------------------------ id
    "id repeated": ([call(0, "a", "f", ""), call(0, "a", arguments='{"x"'), call(0, "a", arguments=":1}")], ONE),
    "id late": ([call(0, None, "f", '{"x"'), call(0, "a", arguments=":1}")], ONE),
    "id changes": ([call(0, "a", "f", ""), call(0, "z", arguments='{"x"'), call(0, "z", arguments=":1}")], ONE),
    "id empty": ([call(0, "a", "f", '{"x"'), call(0, "", arguments=":1}")], ONE),
    "id a number": ([call(0, 7, "f", '{"x":1}')], [("7", *A[1:])]),
    "id a boolean": ([call(0, True, "f", '{"x":1}')], [("*", *A[1:])]),
    "id missing, two calls": (
        [call(0, None, "f", '{"x":1}'), call(1, None, "g", '{"y":2}')],
        [("*", *A[1:]), ("*", *B[1:])],
    ),
    "id shared by two calls": (
        [call(0, "a", "f", '{"x":1}'), call(1, "a", "g", '{"y":2}')],
        [A, ("*", *B[1:])],
    ),
    "one call opened twice": ([call(0, "a", "f"), call(0, "z", "f", '{"x":1}')], ONE),
    "two openers of one name that are not neighbours are two calls": (
        [call(0, "a", "f"), call(1, "b", "g", '{"y":2}'), call(0, "c", "f", '{"x":1}')],
        [("a", "f", "", True), ("c", "f", '{"x":1}', True), B],
    ),
    # ------------------------------------------------------------ name
    "name repeated": ([call(0, "a", "f", ""), call(0, "a", "f", '{"x"'), call(0, "a", "f", ":1}")], ONE),
    "name in pieces": (
        [call(0, "a", "open_doc", ""), call(0, name="ument"), call(0, arguments="{}")],
        [("a", "open_document", "{}", True)],
    ),
    "name repeated and grown": (
        [call(0, "a", "open"), call(0, name="open_doc", arguments="{}")],
        [("a", "open_doc", "{}", True)],
    ),
    "name null or empty later": (
        [call(0, "a", "f", '{"x"'), call(0, name=..., arguments=":1"), call(0, name="", arguments="}")],
        ONE,
    ),
    "name the word null later": ([call(0, "a", "f", '{"x"'), call(0, name="null", arguments=":1}")], ONE),
    "name late": ([call(0, "a", "", '{"x"'), call(0, name="f", arguments=":1}")], ONE),
    "name that is no text": ([call(0, "a", "f", '{"x"'), call(0, name=7, arguments=":1}")], ONE),
    "name never": ([call(0, "a", None, '{"x":1}')], [("a", "", '{"x":1}', False)]),
    # ------------------------------------------------------------ arguments
    "arguments null beside another call": (
        [
            pieces(call(0, "a", "f", ...), call(1, "b", "g", '{"y"')),
            pieces(call(0, arguments='{"x":1}'), call(1, arguments=":2}")),
        ],
        TWO,
    ),
    "arguments never": ([call(0, "a", "f")], [("a", "f", "", True)]),
    "arguments an object": ([call(0, "a", "f", {"x": 1})], ONE),
    "arguments objects that merge": (
        [
            call(0, "a", "f", {"x": "id", "l": [1], "o": {"p": "q"}, "n": 1}),
            call(0, arguments={"x": " -u", "l": [2], "o": {"p": "r"}, "n": 2}),
            call(0, arguments={}),
        ],
        [("a", "f", '{"x":"id -u","l":[1,2],"o":{"p":"qr"},"n":2}', True)],
    ),
    "arguments the same object again": ([call(0, "a", "f", {"x": 1}), call(0, arguments={"x": 1})], ONE),
    "arguments the same object again, named": ([call(0, "a", "f", {"x": 1}), call(0, "a", "f", {"x": 1})], ONE),
    "arguments an empty object first": ([call(0, "a", "f", {}), call(0, arguments='{"x":1}')], ONE),
    "arguments {} as text first": ([call(0, "a", "f", "{}"), call(0, arguments='{"x":1}')], ONE),
    "arguments {} and {} again": ([call(0, "a", "f", "{}"), call(0, arguments="{}")], [("a", "f", "{}", True)]),
    "arguments an object, then text": (
        [call(0, "a", "f", {"x": 1}), call(0, arguments="!")],
        [("a", "f", '{"x":1}!', False)],
    ),
    "arguments text, then an object": (
        [call(0, "a", "f", '{"x":'), call(0, arguments={"y": 1}), call(0, arguments="}")],
        [("a", "f", '{"x":{"y":1}}', True)],
    ),
    "arguments repeated whole": ([call(0, "a", "f", '{"x":1}'), call(0, arguments='{"x":1}')], ONE),
    "arguments repeated whole, named": ([call(0, "a", "f", '{"x":1}'), call(0, "a", "f", '{"x":1}')], ONE),
    "arguments whole, then a list": (
        [call(0, "a", "f", '{"x":1}'), call(0, arguments=[1])],
        [("a", "f", '{"x":1}[1]', False)],
    ),
    "arguments with noise at the end": (
        [call(0, "a", "f", '{"x":1}'), call(0, arguments=""), call(0, arguments="\n")],
        [("a", "f", '{"x":1}\n', True)],
    ),
    "arguments encoded twice are no object": (
        [call(0, "a", "f", '"{\\"x\\":1}"')],
        [("a", "f", '"{\\"x\\":1}"', False)],
    ),
    "function null": (
        [call(0, "a", "f", ""), chunk({"tool_calls": [{"index": 0, "function": None}]}), call(0, arguments='{"x":1}')],
        ONE,
    ),
    "named again without arguments when whole": ([call(0, "a", "f", '{"x":1}'), call(0, name="f")], ONE),
}


@pytest.mark.parametrize(("said", "wanted"), CASES.values(), ids=CASES)
def test_calls_are_put_together(said: list[Any], wanted: list[tuple[str, str, str, bool]]) -> None:
    """In the message and by tool_calls(), the same in every cut; `*` is an id that was made up, unique and never empty."""
    found = calls_of(*said, FINISHED)
    assert [(id_ if want[0] != "*" else "*", *rest) for (id_, *rest), want in zip(found, wanted, strict=True)] == wanted
    ids = [id_ for id_, *_ in found]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert all(id_.startswith("call_") for id_, want in zip(ids, wanted, strict=True) if want[0] == "*")


def test_keys_are_ours_in_order_of_opening_and_the_index_is_the_providers() -> None:
    """Set once; a word for an index is kept out of the event."""
    seen = events_of(call(5, "a", "f"), call("x", "b", "g"), call(5, arguments="{}"), FINISHED)
    assert [event for event in seen.values if isinstance(event, ToolCallDelta)] == [
        ToolCallDelta(0, 5, "a", "f"),
        ToolCallDelta(1, None, "b", "g"),
        ToolCallDelta(0, 5, "a", "", "{}"),
    ]


def test_a_piece_that_adds_nothing_is_no_event() -> None:
    """But one with an id is, and an opener always."""
    calls = Calls(0)
    assert calls.delta({"index": 0, "function": {"name": "f"}}) == ToolCallDelta(0, 0, None, "f")
    assert calls.delta({"index": 0, "function": {"name": "f", "arguments": ""}}) is None
    assert calls.delta({"index": 0}) is None
    assert calls.delta({"index": 0, "id": "a"}) == ToolCallDelta(0, 0, "a")
    assert Calls(1).delta({}) == ToolCallDelta(0, choice=1)


def test_unknown_keys_are_kept() -> None:
    """Of the piece and of its function, until the call is sent back."""
    extra = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    said = call(0, "a", "f", "{}", type="function", none=None, **extra)
    said["choices"][0]["delta"]["tool_calls"][0]["function"]["strict"] = True
    seen = events_of(said, FINISHED)
    (delta,) = (event for event in seen.values if isinstance(event, ToolCallDelta) and event.name)
    assert delta.extra == {**extra, "function": {"strict": True}}
    from tests.support import answer_of

    (whole,) = answer_of(said, FINISHED).tool_calls
    assert whole.to_dict() == {
        "id": "a",
        "type": "function",
        "function": {"name": "f", "arguments": "{}", "strict": True},
        **extra,
    }


def test_a_custom_tool_call() -> None:
    """Its input is text, complete without being JSON."""
    from tests.support import answer_of

    said = chunk(
        {"tool_calls": [{"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "select"}}]}
    )
    more = chunk({"tool_calls": [{"index": 0, "custom": {"input": " 1"}}]})
    (whole,) = answer_of(said, more, FINISHED).tool_calls
    assert whole.complete
    assert whole.to_dict() == {"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}


def test_made_up_ids_are_a_function_of_stream_choice_and_place() -> None:
    """The same for the same stream, another one for another."""
    said = call(0, None, "f", "{}")
    assert calls_of(said, FINISHED) == calls_of(said, FINISHED)
    assert calls_of(said, FINISHED)[0][0] != calls_of(said | {"id": "c2"}, FINISHED)[0][0]
