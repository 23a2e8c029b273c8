"""A module of ours in JavaScript → a widget that runs it, and is heard while a cell runs."""

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
    made = type(f"Rxchat{name.title()}", (anywidget.AnyWidget,), found)()
    _hear_at_once(made)
    return made


def say(to: Any, message: Any) -> None:
    """A message to the views of a widget."""
    to.send(message)
    _hear_at_once(to)


def _hear_at_once(made: Any) -> None:
    """What a view says is heard in the subshell to which it sends it, and so while a cell runs.

    Since 7.4, ipykernel has a comm answered where its last message was sent from: here that is the cell that runs, which
    hears nothing until it has ended. It forgets that when this is gone, and other versions have no such thing.
    """
    vars(made.comm).pop("_reply_subshell_id", None)
