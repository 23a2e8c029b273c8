"""A notebook → the same notebook with the outputs of now, and nothing in it that changes without need."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import nbclient
import nbformat

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

OFFLINE = """
import sys

def _offline(event, args):
    address = args[1] if event == "socket.connect" else args[0] if event == "socket.getaddrinfo" else None
    host = address[0] if isinstance(address, tuple) else address if event == "socket.getaddrinfo" else None
    if host not in (None, "", "127.0.0.1", "::1", "localhost"):
        raise AssertionError(f"a notebook wants to talk to {host!r}")

sys.addaudithook(_offline)
"""


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def executed(path: Path) -> Any:
    """Run from top to bottom in a kernel of its own, with no network, no endpoint and no profile of anyone's.

    Raises nbclient's CellExecutionError for a cell that raises.
    """
    notebook = read(path)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(OFFLINE))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "MPLBACKEND"))}
    with tempfile.TemporaryDirectory() as profile, mock.patch.dict(os.environ, environment, clear=True):
        os.environ["IPYTHONDIR"] = profile
        nbclient.NotebookClient(
            notebook,
            kernel_name="python3",
            timeout=60,
            resources={"metadata": {"path": str(path.parent)}},
            record_timing=False,
            store_widget_state=False,
        ).execute()
    del notebook.cells[0]
    return tidied(notebook, path.stem[:2])


def tidied(notebook: Any, number: str) -> Any:
    """Names for ids, no state of widgets, no version of Python, cells counted from 1."""
    notebook.metadata = nbformat.from_dict(METADATA)
    counted = 0
    for place, cell in enumerate(notebook.cells, 1):
        cell.id = f"{number}-{place:02}"
        if cell.cell_type == "code":
            counted += 1
            cell.execution_count = counted
            cell.outputs = [tidy for output in cell.outputs if (tidy := _output(output, counted))]
    return notebook


def _output(output: Any, count: int) -> Any:
    """Without what needs a kernel; None if nothing is left to see."""
    if "execution_count" in output:
        output.execution_count = count
    if "data" in output:
        output.data = nbformat.from_dict({kind: seen for kind, seen in output.data.items() if "widget" not in kind})
        if not any(output.data.values()):
            return None
    return output
