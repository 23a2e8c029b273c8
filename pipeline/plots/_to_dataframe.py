"""Streams → a data frame of their events."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import msgspec

from pipeline.plots._named import Compared, named
from pipeline.plots._said import text_of

Library = Literal["polars", "pandas"]


def to_dataframe(*sources: Compared, library: Library | None = None, stream: int = 1) -> Any:
    r"""From one or several streams to a data frame with a row for each event.

    Columns: `stream` (the name), `at` (seconds since the subscription), `event` (the name of its type), `choice` and `call`
    (the key of a tool call), null where there is none, `text` (what it adds to the answer, the reasoning or the arguments),
    and `json` (all of it). Sources and `stream` are as for `gaps()`. `library` is polars if it is installed, else pandas.
    Raises ImportError where neither is, and what `Recording.load` raises.

    >>> from operators import TextDelta
    >>> to_dataframe({"m": [(0.5, TextDelta("Hi"))]}).to_dict(as_series=False)
    {'stream': ['m'], 'at': [0.5], 'event': ['TextDelta'], 'choice': [0], 'call': [None], 'text': ['Hi'],
     'json': ['{"event":"TextDelta","text":"Hi","choice":0}']}
    """
    rows = [(name, at, event) for name, events in named(sources, stream).items() for at, event in events]
    columns: dict[str, list[Any]] = {
        "stream": [name for name, _, _ in rows],
        "at": [at for _, at, _ in rows],
        "event": [type(event).__name__ for _, _, event in rows],
        "choice": [_number(getattr(event, "choice", None)) for _, _, event in rows],
        "call": [_number(getattr(event, "key", None)) for _, _, event in rows],
        "text": [text_of(event) for _, _, event in rows],
        "json": [msgspec.json.encode(event, enc_hook=repr).decode() for _, _, event in rows],
    }
    return _polars(columns) if _library(library) == "polars" else _pandas(columns)


def _number(value: int | None) -> int | None:
    """A number that a column can hold; of one that is larger, `json` tells."""
    return value if value is None or abs(value) < 2**63 else None


def _library(wanted: Library | None) -> Library:
    known: tuple[Library, ...] = ("polars", "pandas")
    if wanted is not None and wanted not in known:
        raise ValueError(f'to_dataframe(library=…) is "polars" or "pandas", not {wanted!r}')
    for library in known if wanted is None else (wanted,):
        if find_spec(library) is not None:
            return library
    raise ImportError("a data frame needs polars or pandas: pip install polars")


def _polars(columns: dict[str, list[Any]]) -> Any:
    polars = import_module("polars")
    text, number = polars.String, polars.Int64
    schema = {"stream": text, "at": polars.Float64, "event": text, "choice": number, "call": number, "text": text}
    return polars.DataFrame(columns, schema={**schema, "json": text})


def _pandas(columns: dict[str, list[Any]]) -> Any:
    frame = import_module("pandas").DataFrame(columns)
    return frame.astype({"stream": "string", "at": "float64", "event": "string", "choice": "Int64", "call": "Int64"})
