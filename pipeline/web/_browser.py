"""A URL → the default browser."""

from __future__ import annotations

import atexit
import contextlib
import os
import tempfile
import webbrowser
from html import escape
from pathlib import Path


def open_privately(url: str) -> None:
    """Open a URL that only this user may know: a browser's command line can be read by every user of the machine.

    So it is given a file, which only its owner can read, and which leads on. It is deleted when the process ends.
    """
    handle, name = tempfile.mkstemp(prefix="rxchat-", suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={escape(url)}">')
    atexit.register(_delete, Path(name))
    webbrowser.open(Path(name).as_uri())


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
