"""A function that a model may call: its name, its description, the schema of its arguments."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Annotated, Any, get_origin, get_type_hints, overload

import msgspec
from msgspec import Meta, Struct, defstruct

from operators._surrogates import scrubbed


class ArgumentsError(ValueError):
    """The arguments of a call do not fit the tool; the message is for the model."""


class Tool(Struct, frozen=True):
    """A function, sync or async, with what a request says of it. `arguments` is the type that checks a call."""

    name: str
    description: str
    parameters: dict[str, Any]
    function: Callable[..., Any]
    arguments: type[Struct] | None = None
    open_ended: bool = False  # the function takes any keyword

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def to_dict(self) -> dict[str, Any]:
        """The tool as a request's `tools` list it."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The keywords to call the function with, converted to the annotated types.

        Raises ArgumentsError that says what was expected where.
        """
        if self.arguments is None:
            return arguments
        known = self.arguments.__struct_fields__
        unknown = [name for name in arguments if name not in known]
        if unknown and not self.open_ended:
            raise ArgumentsError(f"{self.name} takes no argument {unknown[0]!r}; it takes {', '.join(known) or 'none'}")
        given = {name: value for name, value in arguments.items() if name in known}
        try:
            checked = msgspec.convert(given, self.arguments, strict=False, dec_hook=_from_model)
        except msgspec.ValidationError as error:
            raise ArgumentsError(str(error)) from None
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
    parameter without one takes anything, `Annotated[str, "…"]` (or msgspec's Meta, or pydantic's Field) describes one.
    A default is shown in the schema where it is JSON. What a functools.partial has bound is no argument of the tool.

    Raises TypeError for positional-only parameters, for annotations that cannot be read or that no schema can be made
    of, for a lambda without a name, a method without its object, and a generator.

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
    named = name or _name(function)
    if named == "<lambda>":
        raise TypeError('a lambda has no name that a model could call: give one, as in {"name": lambda …: …}')
    if inspect.isgeneratorfunction(_written(function)) or inspect.isasyncgenfunction(_written(function)):
        raise TypeError(f"{named} yields; a tool returns its answer")
    parameters = _parameters(function, named)
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    parameters = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    hints = _hints(function, named, parameters)
    # Only the names of optional fields are read again: the function has its own defaults.
    arguments = defstruct(
        f"{named}_arguments",
        [(parameter.name, hints[parameter.name], msgspec.field(**_optional(parameter))) for parameter in parameters],
        kw_only=True,
    )
    defaults = {parameter.name: _as_json(parameter.default) for parameter in parameters if _optional(parameter)}
    return Tool(
        named,
        description if description is not None else inspect.cleandoc(_written(function).__doc__ or ""),
        _schema(named, arguments, defaults, open_ended=open_ended),
        function,
        arguments,
        open_ended,
    )


def _parameters(function: Any, named: str) -> list[inspect.Parameter]:
    """What the function can be given, all of it as keywords."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError as error:
        raise TypeError(f"{named} has no signature to make a tool of: {error}") from None
    for parameter in parameters:
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
            raise TypeError(f"{named}({parameter}): a tool is called with keywords; this cannot be given as one")
        if type(parameter.default).__name__ == "FieldInfo":
            raise TypeError(f"{named}({parameter.name}): write Annotated[…, Field(…)], with the default after it")
    within = getattr(function, "__qualname__", "").rpartition(".")[0]  # of a method: its class
    first = next(iter(parameters), None)
    if within and not within.endswith("<locals>") and first is not None and first.name in {"self", "cls"}:
        raise TypeError(f"{named} is a method without its object: make the tool of object.{named}")
    bound = function.keywords if isinstance(function, functools.partial) else {}
    return [parameter for parameter in parameters if parameter.name not in bound]


def _optional(parameter: inspect.Parameter) -> dict[str, Any]:
    return {} if parameter.default is parameter.empty else {"default": None}


def _name(function: Any) -> str:
    if isinstance(function, functools.partial):
        return _name(function.func)
    return str(getattr(function, "__name__", type(function).__name__))


def _written(function: Any) -> Any:
    """The function as it stands in its module, under decorators, partials and objects that can be called."""
    function = inspect.unwrap(function)
    if isinstance(function, functools.partial):
        return _written(function.func)
    return function if inspect.isroutine(function) or isinstance(function, type) else type(function).__call__


def _hints(function: Any, named: str, parameters: list[inspect.Parameter]) -> dict[str, Any]:
    """The types of the parameters. One that is text may name what is local to where the function becomes a tool."""
    written = _written(function)
    module = getattr(written, "__globals__", None) or vars(sys.modules[written.__module__])
    hints: dict[str, Any] = {}
    for parameter in parameters:
        kind = Any if parameter.annotation is parameter.empty else parameter.annotation
        annotated: Any = SimpleNamespace(__annotations__={"kind": kind})
        try:
            try:
                read = get_type_hints(annotated, module, include_extras=True)
            except NameError:
                read = get_type_hints(annotated, module, _locals_in(module), include_extras=True)
        except (NameError, SyntaxError, TypeError) as error:
            raise TypeError(f"{named}({parameter}): the annotation cannot be read: {error}") from None
        hints[parameter.name] = _described(read["kind"])
    return hints


def _locals_in(module: dict[str, Any]) -> dict[str, Any]:
    """The local names of all callers that stand in this module, the innermost ones first."""
    found: dict[str, Any] = {}
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals is module:
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


_SAID = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length", "title", "description")
"""What msgspec's Meta, pydantic's Field and annotated_types call by the same name."""


def _described(kind: Any) -> Any:
    """What is said in another way, `Annotated[str, "…"]` or pydantic's Field with its constraints, as msgspec's Meta."""
    if get_origin(kind) is not Annotated:
        return kind
    metas = [note for note in kind.__metadata__ if isinstance(note, Meta)]
    said: dict[str, Any] = {}
    for note in () if metas else kind.__metadata__:
        for one in (note, *(getattr(note, "metadata", None) or ())):  # where a Field keeps its constraints
            found = {"description": one} if isinstance(one, str) else {name: getattr(one, name, None) for name in _SAID}
            said |= {name: value for name, value in found.items() if value is not None and name not in said}
    notes = metas or ([Meta(**said)] if said else [])
    return Annotated[(kind.__origin__, *notes)] if notes else kind.__origin__


def as_tools(tools: Mapping[str, Any] | Iterable[Any]) -> dict[str, Tool]:
    """Tools by name, from a dict of functions or Tools, or from a list of them."""
    if callable(tools):
        raise TypeError(f"tools are a list of functions or Tools, or a dict of them by name; not {tools!r} alone")
    if isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
        raise TypeError(f"tools are a list of functions or Tools, or a dict of them by name; not {tools!r}")
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


def _schema(name: str, arguments: type[Struct], defaults: dict[str, Any], *, open_ended: bool) -> dict[str, Any]:
    try:
        (schema,), definitions = msgspec.json.schema_components(
            [arguments], schema_hook=_schema_of_model, ref_template="#/$defs/{name}"
        )
    except (TypeError, NotImplementedError, NameError) as error:
        raise TypeError(f"no schema can be made of the parameters of {name}: {error}") from None
    own = definitions.pop(schema["$ref"].rpartition("/")[2])
    for nested in list(_dicts(own)) + [inner for made in definitions.values() for inner in _dicts(made)]:
        definitions |= nested.pop("$defs", {})  # a pydantic model brings its own
        if nested.get("items") is False:
            del nested["items"]  # of a tuple, whose maxItems says it too; llama.cpp refuses it
    result = {"type": "object", "properties": own["properties"], "required": own["required"]}
    for field, default in defaults.items():
        del result["properties"][field]["default"]  # ours, not the function's
        if default is not None:
            result["properties"][field]["default"] = default
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


def _from_model(kind: Any, value: Any) -> Any:
    try:
        return kind.model_validate(value)
    except ValueError as raised:  # msgspec adds where it was
        error: Any = raised
        errors = error.errors() if hasattr(error, "errors") else []
        said = [f"{'.'.join(map(str, one['loc'])) or kind.__name__}: {one['msg']}" for one in errors]
        raise ValueError("; ".join(said) or str(error)) from None


def answer(result: Any) -> str:
    """What a tool returned, as the text that the model reads: text as it is, all else as JSON where it can be.

    >>> answer("sunny"), answer({"celsius": 18}), answer(None)
    ('sunny', '{"celsius":18}', 'null')
    """
    if not isinstance(result, str):
        try:
            return msgspec.json.encode(result, enc_hook=_plain).decode()
        except UnicodeEncodeError:  # half a character somewhere in it, which no request could carry
            plain = msgspec.to_builtins(result, str_keys=True, enc_hook=_plain)
            result = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        except (TypeError, ValueError, NotImplementedError, RecursionError):
            result = str(result)
    return str(scrubbed(result))


def _as_json(value: Any) -> Any:
    """The value as JSON would give it back; None if it cannot be written as JSON."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_plain))
    except (TypeError, ValueError, NotImplementedError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise NotImplementedError
