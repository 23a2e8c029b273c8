"""What a function says of itself as a tool, what is called with what, and how its result reads."""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Optional, TypedDict

import msgspec
import pydantic
import pytest
from msgspec import Meta

from operators import Finish, ToolCall, select, tool_calls
from pipeline import Tool, completion, tool
from pipeline.chat._tools import ArgumentsError, answer, as_tools
from pipeline.embedded import EmbeddedServer


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Place(msgspec.Struct):
    city: str
    zip: int = 0


@dataclass
class Span:
    days: int


class Options(TypedDict, total=False):
    verbose: bool


class Street(pydantic.BaseModel):
    name: str


class Address(pydantic.BaseModel):
    street: Street
    others: list[Street] = []
    number: int = pydantic.Field(ge=1)


class House:
    def street_of(self, *, long: bool) -> str:
        return "Rue de Rivoli" if long else "Rivoli"


class Tree(pydantic.BaseModel):
    leaves: list[Tree] = []


def properties(function: Any) -> dict[str, Any]:
    """The schemas of the parameters, after a look at what every schema must have."""
    made = tool(function)
    json.dumps(made.to_dict())
    assert made.parameters["type"] == "object"
    found: dict[str, Any] = made.parameters["properties"]
    return found


def refusal(made: Tool, **arguments: Any) -> str:
    with pytest.raises(ArgumentsError) as caught:
        made.check(arguments)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------ the schema


def test_name_description_and_schema_come_from_the_function() -> None:
    @tool
    def get_weather(city: Annotated[str, Meta(description="where")], unit: Literal["c", "f"] = "c") -> str:
        """The weather.

        Today's.
        """
        return city + unit

    assert get_weather.to_dict() == {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather.\n\nToday's.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "where"},
                    "unit": {"enum": ["c", "f"], "default": "c"},
                },
                "required": ["city"],
            },
        },
    }
    assert get_weather("Rome", unit="f") == "Romef"  # it is still a function


def test_name_and_description_may_be_given() -> None:
    @tool(name="weather", description="")
    def get_weather() -> None:
        """Not this."""

    assert (get_weather.name, get_weather.description) == ("weather", "")
    assert get_weather.parameters == {"type": "object", "properties": {}, "required": []}


def test_types() -> None:
    def f(
        a: int,
        b: Optional[int],  # noqa: UP045
        c: list[str],
        d: dict[str, float],
        e: Unit,
        g: date,
        h: Annotated[int, Meta(ge=1, le=5)],
        i: str | int,
        j,
        k: tuple[int, str],
    ) -> None: ...

    assert properties(f) == {
        "a": {"type": "integer"},
        "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "c": {"type": "array", "items": {"type": "string"}},
        "d": {"type": "object", "additionalProperties": {"type": "number"}},
        "e": {"$ref": "#/$defs/Unit"},
        "g": {"type": "string", "format": "date"},
        "h": {"type": "integer", "minimum": 1, "maximum": 5},
        "i": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "j": {},
        "k": {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "minItems": 2,
            "maxItems": 2,
        },
    }
    assert tool(f).parameters["$defs"]["Unit"]["enum"] == ["celsius", "fahrenheit"]
    assert tool(f).parameters["required"] == list("abcdeghijk")


def test_nested_types_stand_under_defs() -> None:
    def f(place: Place, span: Span, options: Options) -> None: ...

    parameters = tool(f).parameters
    assert parameters["properties"] == {n: {"$ref": f"#/$defs/{n.title()}"} for n in ("place", "span", "options")}
    assert parameters["$defs"]["Place"]["properties"]["zip"] == {"type": "integer", "default": 0}
    assert set(parameters["$defs"]) == {"Place", "Span", "Options"}


def test_pydantic_models_bring_their_defs_along() -> None:
    def f(address: Address, more: list[Address], tree: Tree) -> None: ...

    parameters = tool(f).parameters
    assert set(parameters["$defs"]) == {"Street", "Tree"}
    assert parameters["properties"]["address"]["properties"]["street"] == {"$ref": "#/$defs/Street"}
    assert parameters["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert json.dumps(parameters).count("$defs") == 1 + json.dumps(parameters).count('"$ref": "#/$defs/')


@pytest.mark.parametrize(
    ("default", "shown"),
    [
        (3, {"default": 3}),
        ([], {"default": []}),
        (Unit.C, {"default": "celsius"}),
        (Place("Rome"), {"default": {"city": "Rome", "zip": 0}}),
        (Street(name="Rue"), {"default": {"name": "Rue"}}),
        (None, {}),
        (object(), {}),
        (float("nan"), {}),
    ],
)
def test_defaults_are_shown_where_they_are_json(default: Any, shown: dict[str, Any]) -> None:
    def f(x: Any = default) -> Any:
        return x

    assert properties(f) == {"x": shown}
    assert tool(f).parameters["required"] == []
    assert tool(f)(**tool(f).check({})) is default  # the function's own, not a copy


@pytest.mark.parametrize(
    "note", ["where", pydantic.Field(description="where"), Meta(description="where")], ids=["text", "Field", "Meta"]
)
def test_descriptions_in_other_ways(note: Any) -> None:
    def f(city: Any) -> None: ...

    f.__annotations__["city"] = Annotated[str, note, "and more"]
    assert properties(f) == {"city": {"type": "string", "description": "where"}}
    f.__annotations__["city"] = Annotated[str, object()]
    assert properties(f) == {"city": {"type": "string"}}


def test_keywords_of_any_name_open_the_schema() -> None:
    @tool
    def f(city: str, **rest: Any) -> Any:
        return city, rest

    assert f.parameters["additionalProperties"] is True
    assert f.parameters["required"] == ["city"]
    assert f(**f.check({"city": "Rome", "days": 2})) == ("Rome", {"days": 2})


def test_what_can_be_called_can_be_a_tool() -> None:
    class Weather:
        """The class."""

        def __call__(self, city: str) -> str:
            return f"called {city}"

        def method(self, place: Place) -> str:
            """The method."""
            return f"method {place.city}"

        @classmethod
        def of_class(cls, days: int) -> int:
            return days

    weather = Weather()
    made = as_tools([weather, weather.method, Weather.of_class, functools.partial(weather.method)][:3])
    assert list(made) == ["Weather", "method", "of_class"]
    assert made["Weather"].parameters["properties"] == {"city": {"type": "string"}}
    assert made["method"].description == "The method."
    assert made["method"](**made["method"].check({"place": {"city": "Rome"}})) == "method Rome"
    assert made["of_class"].parameters["properties"] == {"days": {"type": "integer"}}
    assert as_tools([Place])["Place"](city="Rome") == Place("Rome")


def test_what_a_partial_has_bound_is_no_argument() -> None:
    def search(key: str, question: str, limit: int = 3, *, secret: str = "") -> str:
        """Search."""
        return f"{key} {question} {limit} {secret}"

    made = tool(functools.partial(functools.partial(search, "k"), secret="s"))
    assert (made.name, made.description) == ("search", "Search.")
    assert made.parameters["properties"] == {"question": {"type": "string"}, "limit": {"type": "integer", "default": 3}}
    assert "takes no argument 'secret'" in refusal(made, question="q", secret="x")
    assert made(**made.check({"question": "q"})) == "k q 3 s"


def test_decorated_functions_are_seen_through() -> None:
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @logged
    def f(place: Place) -> str:
        """What it says."""
        return place.city

    assert (f.name, f.description, list(f.parameters["$defs"])) == ("f", "What it says.", ["Place"])
    assert f(**f.check({"place": {"city": "Rome"}})) == "Rome"


def test_local_types_are_found() -> None:
    class Here(msgspec.Struct):
        x: int

    @tool
    def f(here: Here, more: list[Here] | None = None) -> NoSuchType:  # type: ignore[name-defined]  # noqa: F821
        return here, more

    assert f.check({"here": {"x": 1}}) == {"here": Here(1)}


@pytest.mark.parametrize("annotation", ["NoSuchType", "the city", "int[3]"])
def test_annotations_that_cannot_be_read_are_refused(annotation: str) -> None:
    def f(city: Any) -> None: ...

    f.__annotations__["city"] = annotation
    with pytest.raises(TypeError, match=r"^f\(city.*\): the annotation cannot be read"):
        tool(f)


def test_constraints_of_pydantic_hold() -> None:
    """Those that msgspec has too; in a Field, and beside it."""

    def f(
        days: Annotated[int, pydantic.Field(ge=1, le=3)], word: Annotated[str, pydantic.Field(pattern="^a")]
    ) -> None: ...

    assert properties(f) == {
        "days": {"type": "integer", "minimum": 1, "maximum": 3},
        "word": {"type": "string", "pattern": "^a"},
    }
    assert tool(f).check({"days": 3, "word": "ab"}) == {"days": 3, "word": "ab"}
    with pytest.raises(ArgumentsError, match=r"<= 3 - at `\$.days`"):
        tool(f).check({"days": 4, "word": "ab"})


def test_what_would_be_called_wrongly_is_refused() -> None:
    def default(days: int = pydantic.Field(3, ge=1)) -> None: ...

    def several() -> Iterator[int]:
        yield 1

    async def more() -> AsyncIterator[int]:
        yield 1

    for function, why in (
        (default, r"default\(days\): write Annotated"),
        (House.street_of, "street_of is a method without its object"),
        (several, "several yields"),
        (more, "more yields"),
    ):
        with pytest.raises(TypeError, match=why):
            tool(function)
    assert tool(House().street_of).parameters["properties"] == {"long": {"type": "boolean"}}
    with pytest.raises(TypeError, match="a list of functions or Tools"):
        as_tools(default)  # type: ignore[arg-type]
    for wrong in (None, 5, "get"):
        with pytest.raises(TypeError, match=rf"a list of functions or Tools, .*; not {wrong!r}"):
            as_tools(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda *args: args, r"\(\*args\): a tool is called with keywords"),
        (len, "called with keywords"),
        (dict, "no signature"),
    ],
)
def test_what_takes_no_keywords_is_refused(function: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        tool(name="f")(function)


def test_types_without_a_schema_are_refused() -> None:
    class Opaque: ...

    class Other: ...

    def f(x: Opaque) -> None: ...

    def g(x: Address | Tree) -> None: ...

    def h(x: Other | Opaque) -> None: ...

    for function in (f, g, h):
        with pytest.raises(TypeError, match=rf"no schema can be made of the parameters of {function.__name__}"):
            tool(function)


def test_tools_by_name_or_as_a_list() -> None:
    def f() -> None: ...

    assert list(as_tools([f, tool(name="g")(f)])) == ["f", "g"]
    named = as_tools({"one": f, "two": tool(f), "three": lambda: None})
    assert [(name, made.name) for name, made in named.items()] == [(n, n) for n in ("one", "two", "three")]
    with pytest.raises(ValueError, match="two tools are called 'f'"):
        as_tools([f, f])
    with pytest.raises(TypeError, match="a tool is a function or a Tool; one is int"):
        as_tools([3])
    with pytest.raises(TypeError, match="a lambda has no name"):
        as_tools([lambda: None])


# ------------------------------------------------------------------------------------------------------- the arguments


@tool
def everything(
    n: int = 0,
    x: float = 0,
    flag: bool = False,
    text: str = "",
    maybe: str | None = None,
    unit: Unit = Unit.C,
    place: Place | None = None,
    span: Span | None = None,
    address: Address | None = None,
    day: date | None = None,
) -> None: ...


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({"n": 3}, 3),
        ({"n": "3"}, 3),
        ({"n": 3.0}, 3),
        ({"x": "2.5"}, 2.5),
        ({"x": 2}, 2.0),
        ({"flag": "true"}, True),
        ({"maybe": None}, None),
        ({"maybe": "null"}, "null"),
        ({"unit": "fahrenheit"}, Unit.F),
        ({"place": {"city": "Rome", "zip": "7"}}, Place("Rome", 7)),
        ({"span": {"days": 3}}, Span(3)),
        ({"address": {"street": {"name": "Rue"}, "number": 1}}, Address(street=Street(name="Rue"), number=1)),
        ({"day": "2024-02-29"}, date(2024, 2, 29)),
    ],
)
def test_arguments_are_converted(given: dict[str, Any], got: Any) -> None:
    assert everything.check(given) == dict.fromkeys(given, got)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"n": "many"}, "Expected `int`, got `str` - at `$.n`"),
        ({"n": 2.5}, "Expected `int`, got `float` - at `$.n`"),
        ({"n": None}, "Expected `int`, got `null` - at `$.n`"),
        ({"text": 3}, "Expected `str`, got `int` - at `$.text`"),
        ({"unit": "kelvin"}, "Invalid enum value 'kelvin' - at `$.unit`"),
        ({"place": {}}, "Object missing required field `city` - at `$.place`"),
        ({"place": {"city": "Rome", "zip": []}}, "Expected `int`, got `array` - at `$.place.zip`"),
        (
            {"address": {"number": 0}},
            "street: Field required; number: Input should be greater than or equal to 1 - at `$.address`",
        ),
        ({"address": 3}, "Address: Input should be a valid dictionary or instance of Address - at `$.address`"),
        (
            {"N": 3},
            "everything takes no argument 'N'; it takes n, x, flag, text, maybe, unit, place, span, address, day",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_told(given: dict[str, Any], why: str) -> None:
    assert refusal(everything, **given) == why


def test_a_missing_argument_is_told() -> None:
    assert refusal(tool(name="f")(lambda city: city)) == ("Object missing required field `city`")
    assert refusal(tool(name="now")(lambda: 0), zone=1) == "now takes no argument 'zone'; it takes none"


def test_a_model_that_raises_in_its_own_words() -> None:
    class Odd:
        @classmethod
        def model_json_schema(cls, **_: Any) -> dict[str, Any]:
            return {"type": "string"}

        @classmethod
        def model_validate(cls, value: Any) -> Any:
            raise ValueError("odd")

    def f(x: Odd) -> None: ...

    assert refusal(tool(f), x="") == "odd - at `$.x`"


def test_a_tool_made_by_hand_checks_nothing() -> None:
    made = Tool("f", "", {"type": "object"}, print)
    assert made.check({"anything": 1}) == {"anything": 1}


# --------------------------------------------------------------------------------------------------------- a real server


def plain(city: str, days: int = 3) -> None: ...


def described(
    city: Annotated[str, "where"], unit: Literal["c", "f"] = "c", n: Annotated[int, Meta(ge=1)] = 2
) -> None: ...


def optional(city: Optional[str] = None, days: int | str = 1) -> None: ...  # noqa: UP045


def untyped(city, days=3): ...


def nothing() -> None: ...


def collections(cities: list[str], by_name: dict[str, int], pair: tuple[int, str]) -> None: ...


def nested(place: Place, span: Span = Span(3), options: Options | None = None) -> None: ...  # noqa: B008


def modelled(address: Address, unit: Unit = Unit.C) -> None: ...


def open_ended(city: str, **rest: Any) -> None: ...


def number(count: float) -> None: ...


@pytest.mark.parametrize(
    "function",
    [
        plain,
        described,
        optional,
        untyped,
        nothing,
        collections,
        nested,
        modelled,
        open_ended,
        number,
        everything,
    ],
    ids=lambda function: getattr(function, "name", None) or function.__name__,
)
def test_a_real_server_calls_it_with_arguments_that_fit(embedded_server: EmbeddedServer, function: Any) -> None:
    made = as_tools([function]).popitem()[1]
    body = {"model": "m", "messages": [{"role": "user", "content": "The weather?"}], "tools": [made.to_dict()]}
    found: list[ToolCall] = []
    stream = completion(body | {"max_tokens": 500}, base_url=embedded_server.base_url)
    stream.pipe(tool_calls(), select(ToolCall)).subscribe(found.append)
    assert [call.name for call in found] == [made.name]
    made.check(json.loads(found[0].arguments))


def test_a_real_server_takes_types_that_it_never_ends_to_fill(embedded_server: EmbeddedServer) -> None:
    def recursive(tree: Tree) -> None: ...

    def dated(day: date) -> None: ...

    tools = [made.to_dict() for made in (tool(recursive), tool(dated))]
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": tools, "max_tokens": 5}
    found: list[str] = []
    completion(body, base_url=embedded_server.base_url).pipe(select(Finish)).subscribe(
        lambda end: found.append(end.reason)
    )
    assert found == ["length"]


# ------------------------------------------------------------------------------------------------------------ the answer


class Thing:
    def __repr__(self) -> str:
        return "a thing"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (None, "null"),
        (18.5, "18.5"),
        (2**70, str(2**70)),
        (float("nan"), "null"),
        ({"a": [1, None], "é": {2}}, '{"a":[1,null],"é":[2]}'),
        (Place("Rome"), '{"city":"Rome","zip":0}'),
        (Span(2), '{"days":2}'),
        (Unit.C, '"celsius"'),
        (Street(name="Rue"), '{"name":"Rue"}'),
        ([Street(name="Rue")], '[{"name":"Rue"}]'),
        (Thing(), "a thing"),
        ([Thing()], "[a thing]"),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        ("half \ud83d", "half \ufffd"),
        ({"half": ["\ud83d"], 1: (Street(name="\ud83d"),)}, '{"half":["�"],"1":[{"name":"�"}]}'),
    ],
)
def test_answers(result: Any, text: str) -> None:
    assert answer(result) == text


def test_an_endless_answer_is_no_end() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert answer(circle) == "[[...]]"
