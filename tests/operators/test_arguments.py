"""arguments(): values while they are written, against json.loads, under every cut."""

from __future__ import annotations

import copy
import itertools
import json
import math
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators import ConnectionLost, Finish, ReasoningDelta, Restarted, RoundStarted, TextDelta, ToolCallDelta
from operators._argument_events import (
    ArgumentClosed,
    ArgumentDelta,
    ArgumentEvent,
    ArgumentOpened,
    ArgumentsChecked,
    ArgumentsInvalid,
)
from operators._arguments import arguments
from operators._json_scan import DEPTH, JsonScan
from operators._surrogates import scrubbed
from tests.bench.bench_arguments import growth, times_cheaper
from tests.support import WAYS, Seen, Way

WAY = WAYS[0]

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.sampled_from(["\U0001f600", '"\\/\b\f\n\r\t', "é\u2028", "\ud7ff\ue000"]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any] = VALUES) -> tuple[Any, list[str]]:
    """A value and its JSON text in pieces, written in one of several ways."""
    text = json.dumps(
        value := draw(values),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 0, "\t"])),
        separators=draw(st.sampled_from([(",", ":"), (" , ", " : ")])),
    )
    return value, cut(text, draw(st.lists(st.integers(0, len(text)))))


def cut(text: str, places: list[int]) -> list[str]:
    return [text[start:end] for start, end in itertools.pairwise([0, *sorted(places), len(text)])]


def scanned(*pieces: str) -> list[Any]:
    scan = JsonScan()
    return [step for piece in pieces for step in scan.feed(piece)] + scan.end()


# ---------------------------------------------------------------------------------------------- the scanner


@given(written())
def test_the_value_is_that_of_json_loads(case: tuple[Any, list[str]]) -> None:
    value, pieces = case
    *_, last = scanned(*pieces)
    assert last == ("closed", (), json.loads("".join(pieces)))
    assert last[2] == value


@given(written())
def test_the_fragments_of_a_string_are_its_value(case: tuple[Any, list[str]]) -> None:
    grown: dict[Any, str] = {}
    for kind, path, what in scanned(*case[1]):
        if kind == "grew":
            assert what
            grown[path] = grown.get(path, "") + what
        elif kind == "closed" and isinstance(what, str):
            assert grown.pop(path, "") == what
    assert not grown


def within(part: Any, whole: Any) -> bool:
    """Is the part a state on the way to the whole?"""
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(within, part, whole))
    if isinstance(part, dict) and isinstance(whole, dict):
        return list(part) == list(whole)[: len(part)] and all(within(part[name], whole[name]) for name in part)
    return bool(part == whole)


@given(written())
def test_the_partial_value_is_on_the_way_to_the_whole_and_never_changes(case: tuple[Any, list[str]]) -> None:
    value, pieces = case
    scan = JsonScan()
    before: list[tuple[Any, Any]] = []
    for piece in pieces:
        scan.feed(piece)
        partial = scan.partial()
        assert partial is None or within(partial, value)
        assert not before or before[-1][0] is None or within(before[-1][0], partial)
        before.append((partial, copy.deepcopy(partial)))
    scan.end()
    assert scan.partial() == value
    assert all(partial == kept for partial, kept in before)


@given(written())
def test_every_opened_container_is_closed(case: tuple[Any, list[str]]) -> None:
    opened = []
    for kind, path, what in scanned(*case[1]):
        if kind == "opened":
            opened.append((path, what))
        elif kind == "closed" and isinstance(what, (list, dict)):
            assert opened.pop() == (path, "list" if isinstance(what, list) else "object")
    assert not opened


def test_steps_one_by_one() -> None:
    assert scanned('{"a":[1,"x', 'y",', "tr", 'ue],"b', '":{}} ') == [
        ("opened", (), "object"),
        ("opened", ("a",), "list"),
        ("closed", ("a", 0), 1),
        ("grew", ("a", 1), "x"),
        ("grew", ("a", 1), "y"),
        ("closed", ("a", 1), "xy"),
        ("closed", ("a", 2), True),
        ("closed", ("a",), [1, "xy", True]),
        ("opened", ("b",), "object"),
        ("closed", ("b",), {}),
        ("closed", (), {"a": [1, "xy", True], "b": {}}),
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud83d"', "\ufffd"),
        (r'"\ude00\ud83d!"', "\ufffd\ufffd!"),
        (r'"\\ud83d\\"', r"\ud83d" + "\\"),
        (r'"\u00e9\n\/\""', 'é\n/"'),
        ('"a\nb\tc"', "a\nb\tc"),
        (" \t\r\n12 ", 12),
        ("-0.5e+3", -500.0),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
        ('{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_oddities_under_every_cut(text: str, value: Any) -> None:
    for size in range(1, len(text) + 1):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        steps = scanned(*pieces)
        assert steps[-1] == ("closed", (), value)
        assert not isinstance(value, str) or "".join(what for kind, _, what in steps if kind == "grew") == value


def test_nan_is_a_number() -> None:
    assert math.isnan(scanned("N", "aN")[-1][2])


@pytest.mark.parametrize(
    ("text", "path", "error"),
    [
        ("Sure!", (), "'Sure' is no value (character 4)"),
        ("!", (), "expected a value, found '!' (character 0)"),
        ("\u00a012", (), "expected a value, found '\\xa0' (character 0)"),
        ("12\v", (), "expected nothing more, found '\\x0b' (character 2)"),
        ("[1,]", (1,), "expected a value, found ']' (character 3)"),
        ("[,", (0,), "expected a value, found ',' (character 1)"),
        ('{"a" 1', ("a",), "expected a colon, found '1' (character 5)"),
        ('{"a":01}', ("a",), "'01' is no value (character 7)"),
        ('{"a":1 "b"', (), "expected a comma or the end of the object, found '\"' (character 7)"),
        ('{"x":[1}', ("x",), "expected a comma or the end of the list, found '}' (character 7)"),
        ('{"x":{1', ("x",), "expected a key, found '1' (character 6)"),
        ('{"x":1,}', (), "expected a key, found '}' (character 7)"),
        (r'"a\x"', (), "a backslash that begins no escape (character 2)"),
        (r'"a\u12g4"', (), "a backslash that begins no escape (character 2)"),
        ("{}{}", (), "expected nothing more, found '{' (character 2)"),
        ("[" * (DEPTH + 1), (0,) * DEPTH, f"nested deeper than {DEPTH} (character {DEPTH})"),
        ("9" * 5000 + " ", (), "'99999999999999999999' is no value (character 5000)"),
        ("", (), "the text ends before the value (character 0)"),
        ("tru", (), "'tru' is no value (character 3)"),
        ('{"a":"x', ("a",), "the text ends before the value (character 7)"),
        ('{"a', (), "the text ends before the value (character 3)"),
    ],
)
def test_what_is_no_json_is_said_once_and_at_the_same_place_under_every_cut(text: str, path: Any, error: str) -> None:
    for size in {1, 2, 3, len(text) or 1}:
        steps = scanned(*[text[at : at + size] for at in range(0, len(text), size)])
        assert steps[-1] == ("invalid", path, error)
        assert sum(kind == "invalid" for kind, _, _ in steps) == 1


def test_after_what_is_no_json_nothing_is_read_and_what_came_stays() -> None:
    scan = JsonScan()
    scan.feed('{"a":["x","y')
    assert scan.feed(r"\q")[-1][0] == "invalid"
    assert scan.feed('"]}') == []
    assert scan.end() == []
    assert scan.partial() == {"a": ["x", "y"]}


@given(st.text(st.sampled_from('{}[]",:\\u0123dDeE+-.truefalsn \n'), max_size=30), st.data())
def test_any_text_is_a_value_or_invalid_whatever_the_cut(text: str, data: st.DataObject) -> None:
    steps = scanned(text)
    whole = but_growth(steps)
    pieces = cut(text, data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    in_pieces = scanned(*pieces)
    assert repr(but_growth(in_pieces)) == repr(whole)  # as text, for NaN is not equal to itself
    assert grown_texts(in_pieces) == grown_texts(steps)
    try:
        value = json.loads(text, strict=False)
    except ValueError:
        assert whole[-1][0] == "invalid"
    else:
        assert repr(whole[-1]) == repr(("closed", (), scrubbed(value)))


def grown_texts(steps: list[Any]) -> dict[Any, str]:
    """What each string has grown to, in all."""
    grown: dict[Any, str] = {}
    for kind, path, what in steps:
        if kind == "grew":
            grown[path] = grown.get(path, "") + what
    return grown


def but_growth(steps: list[Any]) -> list[Any]:
    return [step for step in steps if step[0] != "grew"]


# ---------------------------------------------------------------------------------------------- the operator


def call(text: str = "", key: int = 0, choice: int = 0, name: str = "", extra: Any = None) -> ToolCallDelta:
    return ToolCallDelta(key, key, f"c{key}", name, text, choice, extra)


def told(*events: Any, end: Any = "completed", **options: Any) -> list[ArgumentEvent]:
    seen = WAY.run(events, arguments(**options), end=end)
    assert [event for event in seen.values if not isinstance(event, ArgumentEvent)] == list(events)
    assert seen.end == end
    return [event for event in seen.values if isinstance(event, ArgumentEvent)]


def wholes(*events: Any, **options: Any) -> list[tuple[int | None, int, Any]]:
    found = told(*events, **options)
    return [
        (event.key, event.choice, event.value)
        for event in found
        if isinstance(event, ArgumentClosed) and not event.path
    ]


def test_each_piece_is_followed_by_what_it_did(each_way: Way) -> None:
    events = [call(name="send"), call('{"to":["J'), call('o"]}'), Finish("tool_calls")]
    seen = each_way.run(events, arguments())
    assert seen.values == [
        events[0],
        events[1],
        ArgumentOpened((), "object"),
        ArgumentOpened(("to",), "list"),
        ArgumentDelta(("to", 0), "J"),
        events[2],
        ArgumentDelta(("to", 0), "o"),
        ArgumentClosed(("to", 0), "Jo"),
        ArgumentClosed(("to",), ["Jo"]),
        ArgumentClosed((), {"to": ["Jo"]}),
        events[3],
    ]
    assert seen.completed


def test_the_path_as_text() -> None:
    assert ArgumentDelta(("items", 2, "name"), "x").where == "$.items[2].name"
    assert ArgumentDelta(("a b", "ü", '"'), "x").where == '$["a b"].ü["\\""]'
    assert ArgumentClosed((), 1).where == "$"
    assert ArgumentsChecked(1).where == "$"


def test_the_partial_value_on_demand_stands_still_while_the_call_grows() -> None:
    shown: list[Any] = []

    class Showing(Seen):
        def on_next(self, value: Any) -> None:
            if isinstance(value, ArgumentEvent):
                shown.append(value.partial())

    WAY.run([call('{"to":["J'), call('o","n'), call('"],"n":1'), call("2}")], arguments(), to=Showing())
    assert shown == [{"to": ["J"]}] * 3 + [{"to": ["Jo", "n"]}] * 5 + [{"to": ["Jo", "n"], "n": 12}] * 2


def test_events_made_by_hand_know_no_partial_value() -> None:
    assert ArgumentDelta((), "x").partial() is None


def test_events_can_be_written_as_json() -> None:
    event = told(call('{"a'), call('":'))[0]
    assert msgspec.json.encode(event) == b'{"event":"ArgumentOpened","path":[],"kind":"object","key":0,"choice":0}'


def test_interleaved_calls_and_choices() -> None:
    events = [call('{"a"', 0), call('{"b"', 1), call("{}", 0, 1), call(":1}", 0), call(":2}", 1)]
    assert wholes(*events) == [(0, 1, {}), (0, 0, {"a": 1}), (1, 0, {"b": 2})]


def test_no_arguments_are_an_empty_object() -> None:
    assert told(call(name="now"), Finish("tool_calls")) == [ArgumentOpened((), "object"), ArgumentClosed((), {})]
    assert wholes(call(" ")) == [(0, 0, {})]
    assert told(TextDelta("Hi"), Finish("stop")) == []


@pytest.mark.parametrize("reason", ["length", "LENGTH", "content_filter"])
def test_after_a_cut_nothing_is_added(reason: str) -> None:
    assert told(call(name="now"), Finish(reason)) == []
    assert told(call("["), Finish(reason)) == [ArgumentOpened((), "list")]
    assert wholes(call(name="now"), call(name="now", choice=1), Finish(reason)) == [(0, 1, {})]


def test_after_an_error_nothing_is_added() -> None:
    lost = ConnectionLost("gone")
    assert told(call("["), call(name="now", key=1), end=lost) == [ArgumentOpened((), "list")]


def test_what_is_open_at_a_good_end_is_invalid() -> None:
    assert told(call("["), Finish("tool_calls"))[1:] == [
        ArgumentsInvalid((), "the text ends before the value (character 1)")
    ]


def test_what_is_no_json_ends_its_call_alone() -> None:
    events = told(call("oh no"), call("{}"), call("{}", 1))
    assert events == [
        ArgumentsInvalid((), "'oh' is no value (character 2)"),
        ArgumentOpened((), "object", 1),
        ArgumentClosed((), {}, 1),
    ]


def test_custom_tools_are_left_alone() -> None:
    custom = {"type": "custom"}
    assert told(call("SELECT", name="sql", extra=custom), call(" 1"), call(name="sql", key=1, extra=custom)) == []


def test_a_round_ends_the_calls_of_the_last_one() -> None:
    events = [call(name="now"), RoundStarted(2), call('{"a":1}'), Finish("length"), RoundStarted(3), call("")]
    seen = WAY.run(events, arguments()).values
    assert seen[1:4] == [ArgumentOpened((), "object"), ArgumentClosed((), {}), RoundStarted(2)]
    assert seen[-2:] == [ArgumentOpened((), "object"), ArgumentClosed((), {})]


def test_a_restart_drops_what_came() -> None:
    assert wholes(call('{"a":'), Restarted(), call("{}")) == [(0, 0, {})]


# ---------------------------------------------------------------------------------------------- text, types


def test_structured_output_in_the_text() -> None:
    events = [TextDelta('{"a":'), ReasoningDelta("hm"), call("{}"), TextDelta("4"), TextDelta("[]", 1), TextDelta("2}")]
    assert told(*events, of=TextDelta) == [
        ArgumentOpened((), "object", None),
        ArgumentOpened((), "list", None, 1),
        ArgumentClosed((), [], None, 1),
        ArgumentClosed(("a",), 42, None),
        ArgumentClosed((), {"a": 42}, None),
    ]
    assert wholes(TextDelta("4"), TextDelta("2"), of=TextDelta) == [(None, 0, 42)]


class Point(msgspec.Struct):
    x: int


class Model(pydantic.BaseModel):
    x: int


def checked(*events: Any, **options: Any) -> list[ArgumentsChecked]:
    return [event for event in told(*events, **options) if isinstance(event, ArgumentsChecked)]


@pytest.mark.parametrize("kind", [Point, Model])
def test_the_whole_is_checked_against_a_type(kind: Any) -> None:
    assert checked(call('{"x":1}'), type=kind) == [ArgumentsChecked(kind(x=1))]
    (wrong,) = checked(TextDelta('{"x":"one"}'), of=TextDelta, type=kind)
    assert wrong.value == {"x": "one"}
    assert wrong.error
    assert wrong.key is None
    assert wrong.partial() == {"x": "one"}


def test_a_type_for_each_tool() -> None:
    events = [
        call('{"x":1}', 0, name="put"),
        call("{}", 1, name="other"),
        call("{}", 2, name="pu"),
        call(name="t", key=2),
    ]
    found = checked(*events, call('{"x":2}', 3, name="put"), type={"put": Point})
    assert [(event.key, event.value) for event in found] == [(0, Point(1)), (3, Point(2))]


def test_what_a_type_raises_is_an_error_of_the_arguments() -> None:
    class Picky(msgspec.Struct):
        x: int

        def __post_init__(self) -> None:
            raise RuntimeError("never")

    (event,) = checked(call('{"x":1}'), type=Picky)
    assert event.error == "never"


def test_wrong_options_are_refused_at_the_call() -> None:
    with pytest.raises(ValueError, match="ToolCallDelta or TextDelta"):
        arguments(of=Finish)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes one type"):
        arguments(of=TextDelta, type={"f": Point})
    with pytest.raises(TypeError):
        arguments(type=5)


# ---------------------------------------------------------------------------------------------- the cost


@pytest.mark.slow
def test_a_fragment_costs_the_same_at_the_end_as_at_the_start() -> None:
    for shape in ("items", "string"):
        assert min(growth(200_000, shape) for _ in range(3)) < 2  # what else the machine does comes and goes


@pytest.mark.slow
def test_far_cheaper_than_parsing_again() -> None:
    assert times_cheaper(50_000) > 3  # while coverage counts lines; the benchmark shows the true figure, and at 100 KB
