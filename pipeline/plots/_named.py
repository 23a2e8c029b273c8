"""What is compared → each of it with a name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from operators import Started
from pipeline.plots._timed import Source, Timed, timed

Compared: TypeAlias = Source | Mapping[str, Source]
"""A recording, its path, an answer that was shown, pairs of time and event; or several of these by name."""


def named(sources: tuple[Compared, ...], stream: int) -> dict[str, list[Timed]]:
    """From sources to the events of each, by name.

    A mapping names them; else a file is called by its name, and what is no file by the model that answered. Names that come
    twice are counted. Raises TypeError for no source at all, and what `timed()` raises.

    >>> [*named(({"mine": [(0.5, Started(model="m"))]}, [(0.1, Started(model="m"))], [(0.2, Started(model="m"))]), 1)]
    ['mine', 'm', 'm (2)']
    """
    found: dict[str, list[Timed]] = {}
    for source in sources:
        if isinstance(source, Mapping):
            for name, one in source.items():
                found[_new(str(name), found)] = timed(one, stream=stream)
        else:
            events = timed(source, stream=stream)
            found[_new(_name(source, events), found)] = events
    if not found:
        raise TypeError("there is nothing to look at: give a recording, its path, or several by name")
    return found


def _name(source: Source, events: list[Timed]) -> str:
    if isinstance(source, (str, os.PathLike)):
        return Path(source).stem
    models = (event.model for _, event in events if isinstance(event, Started) and event.model)
    return next(models, "stream")


def _new(name: str, names: Mapping[str, object]) -> str:
    number, new = 1, name
    while new in names:
        number += 1
        new = f"{name} ({number})"
    return new
