"""A module of ours in JavaScript → a widget that runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def widget(name: str) -> Any:
    """The widget of `name`.js, with `name`.css if there is one. Raises ImportError without the extra `notebook`."""
    try:
        import anywidget
    except ImportError as error:
        raise ImportError('this needs the extra "notebook": pip install "rxchat[notebook]"') from error
    here = Path(__file__).parent
    parts = {f"_{part}": here / f"{name}.{ending}" for part, ending in (("esm", "js"), ("css", "css"))}
    found = {part: path.read_text(encoding="utf-8") for part, path in parts.items() if path.exists()}
    return type(name.title(), (anywidget.AnyWidget,), found)()
