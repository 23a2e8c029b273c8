"""A function that a model may call: its name, its description, the schema of its arguments."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

import msgspec
from msgspec import Struct, defstruct


class BadArguments(ValueError):
    """The arguments of a call do not fit the tool; the message is for the model."""


class Tool(Struct, frozen=True):
    """A function, sync or async, with what a request says of it. `arguments` is the type that checks a call."""

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    arguments: type[Struct] | None = None
    open_ended: bool = False  # the function takes any keyword

    def to_dict(self) -> dict[str, Any]:
        """The tool as a request's `tools` list it."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The keywords to call the function with, converted to the annotated types.

        Raises BadArguments that says what was expected where.
        """
        if self.arguments is None:
            return arguments
        known = self.arguments.__struct_fields__
        unknown = [name for name in arguments if name not in known]
        if unknown and not self.open_ended:
            raise BadArguments(f"{self.name} takes no argument {unknown[0]!r}; it takes {', '.join(known) or 'none'}")
        given = {name: value for name, value in arguments.items() if name in known}
        try:
            checked = msgspec.convert(given, self.arguments, strict=False, dec_hook=_from_model)
        except msgspec.ValidationError as error:
            raise BadArguments(str(error)) from None
        rest = {name: arguments[name] for name in unknown}
        return {name: getattr(checked, name) for name in known if name in given} | rest


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, description: str | None = None
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a Tool of a function: name, description and schema come from its name, docstring and annotations.

    Annotations are what msgspec knows (str, int, Literal, list, dict, Struct, dataclass …) and pydantic models; a
    parameter without one takes anything, `Annotated[str, msgspec.Meta(description="…")]` describes one.

    Raises TypeError for positional-only parameters, and for annotations that no schema can be made of.

    >>> @tool
    ... def get_weather(city: str, days: int = 1) -> str:
    ...     "The weather in a city."
    ...     return f"sunny in {city}"
    >>> get_weather.parameters["required"], get_weather.check({"city": "Paris"})
    (['city'], {'city': 'Paris'})
    """
    if function is None:
        return functools.partial(_make, name=name, description=description)
    return _make(function, name=name, description=description)


def _make(function: Callable[..., Any], *, name: str | None, description: str | None) -> Tool:
    named = name or getattr(function, "__name__", type(function).__name__)
    fields: list[Any] = []
    open_ended = False
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):  # annotations that mean nothing here: take anything
        hints = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
            raise TypeError(f"{named}({parameter}): a tool is called with keywords, and this one cannot be given as one")
        else:
            kind = hints.get(parameter.name, Any)
            required = parameter.default is parameter.empty
            # Only the names of optional fields are read again: the function has its own defaults.
            fields.append((parameter.name, kind) if required else (parameter.name, kind, msgspec.field(default=None)))
    arguments = defstruct(f"{named}_arguments", fields, kw_only=True)
    return Tool(
        named,
        description if description is not None else inspect.cleandoc(function.__doc__ or ""),
        _schema(named, arguments, open_ended=open_ended),
        function,
        arguments,
        open_ended,
    )


def as_tools(tools: Mapping[str, Any] | Iterable[Any]) -> dict[str, Tool]:
    """Tools by name, from a dict of functions or Tools, or from a list of them."""
    if isinstance(tools, Mapping):
        named = [(str(name), given) for name, given in tools.items()]
    else:
        named = [("", given) for given in tools]
    found: dict[str, Tool] = {}
    for name, given in named:
        if isinstance(given, Tool):
            made = given
        elif callable(given):
            made = _make(given, name=name or None, description=None)
        else:
            raise TypeError(f"a tool is a function or a Tool; {name or 'one'} is {type(given).__name__}")
        if name and made.name != name:
            made = msgspec.structs.replace(made, name=name)
        if made.name in found:
            raise ValueError(f"two tools are called {made.name!r}")
        found[made.name] = made
    return found


def _schema(name: str, arguments: type[Struct], *, open_ended: bool) -> dict[str, Any]:
    try:
        (schema,), definitions = msgspec.json.schema_components(
            [arguments], schema_hook=_schema_of_model, ref_template="#/$defs/{name}"
        )
    except (TypeError, NotImplementedError) as error:
        raise TypeError(f"no schema can be made of the parameters of {name}: {error}") from None
    own = definitions.pop(schema["$ref"].rpartition("/")[2])
    for nested in list(_dicts(own)) + [inner for made in definitions.values() for inner in _dicts(made)]:
        definitions |= nested.pop("$defs", {})  # a pydantic model brings its own
    result = {"type": "object", "properties": own.get("properties", {}), "required": own.get("required", [])}
    for field, given in result["properties"].items():
        if field not in result["required"] and given.get("default", 0) is None:
            del given["default"]  # ours, not the function's
    if open_ended:
        result["additionalProperties"] = True
    return result | ({"$defs": definitions} if definitions else {})


def _dicts(value: Any) -> Iterable[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _dicts(item)


def _schema_of_model(kind: type[Any]) -> dict[str, Any]:
    if hasattr(kind, "model_json_schema"):
        schema: dict[str, Any] = kind.model_json_schema(ref_template="#/$defs/{model}")
        return schema
    raise NotImplementedError(f"{kind!r} is none of msgspec's types and no pydantic model")


def _from_model(kind: type[Any], value: Any) -> Any:
    if hasattr(kind, "model_validate"):
        try:
            return kind.model_validate(value)
        except ValueError as error:  # msgspec adds where it was
            raise ValueError(str(error)) from None
    raise NotImplementedError(f"{kind!r} is none of msgspec's types and no pydantic model")


def answer(result: Any) -> str:
    """What a tool returned, as the text that the model reads: text as it is, all else as JSON where it can be."""
    if isinstance(result, str):
        return result
    if hasattr(result, "model_dump_json"):
        return str(result.model_dump_json())
    try:
        return msgspec.json.encode(result, enc_hook=_plain).decode()
    except (TypeError, ValueError, RecursionError):
        return str(result)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump()
    raise NotImplementedError
