"""Each notebook runs afresh in a real kernel, without a network, and shows what is kept in it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.notebooks.running import METADATA, NOTEBOOKS, OFFLINE, executed, read

HERE = NOTEBOOKS[0].parent
RECORDINGS = sorted((HERE / "recordings").iterdir())
VARIES = "varies"
"""The tag of cells that show times: of these only the kinds of output are compared."""

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def shown(cell: Any) -> list[tuple[str, Any]]:
    """What a cell shows, as a reader sees it: its streams, each whole, then what it displays."""
    streams: dict[str, str] = {}
    displayed: list[tuple[str, Any]] = []
    for output in cell.outputs:
        if output.output_type == "stream":
            streams[output.name] = streams.get(output.name, "") + output.text
        elif "image/png" in output.data:
            displayed.append((output.output_type, "a picture"))  # its pixels are matplotlib's
        else:
            displayed.append((output.output_type, dict(output.data)))
    return [*sorted(streams.items()), *displayed]


def kinds(cell: Any) -> list[tuple[str, Any]]:
    return [(how, sorted(what) if isinstance(what, dict) else "text") for how, what in shown(cell)]


@pytest.mark.slow
@each_notebook
def test_it_runs_without_a_network_and_shows_what_is_kept(path) -> None:
    for kept, now in zip(read(path).cells, executed(path).cells, strict=True):
        if kept.cell_type == "code":
            look = kinds if VARIES in kept.metadata.get("tags", []) else shown
            assert look(now) == look(kept), f"python -m tests.notebooks {path.stem[:2]} keeps what it shows now"


@pytest.mark.parametrize("host", ["192.0.2.1", "model.example"])
def test_a_network_would_be_noticed(host) -> None:
    code = f"{OFFLINE}\nimport socket\nsocket.create_connection(({host!r}, 80), timeout=0.1)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"a notebook wants to talk to {host!r}" in ran.stderr


def test_there_are_six() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05", "06"]


@each_notebook
def test_it_is_short_and_was_run_from_top_to_bottom(path) -> None:
    cells = read(path).cells
    assert len(cells) <= 15
    assert cells[0].source.startswith("# ")
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert "error" not in {output.output_type for cell in code for output in cell.outputs}


@each_notebook
def test_it_keeps_nothing_that_changes_with_each_run(path) -> None:
    notebook = read(path)
    assert notebook.metadata == METADATA
    assert [cell.id for cell in notebook.cells] == [
        f"{path.stem[:2]}-{n:02}" for n in range(1, len(notebook.cells) + 1)
    ]
    assert {key for cell in notebook.cells for key in cell.metadata} <= {"tags"}
    assert " at 0x" not in path.read_text(encoding="utf-8")


@each_notebook
def test_its_links_lead_somewhere(path) -> None:
    prose = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)]+)\)", prose)
    assert links
    assert [link for link in links if not (HERE / link).is_file()] == []


@pytest.mark.parametrize("path", [*NOTEBOOKS, *RECORDINGS], ids=lambda path: path.name)
def test_it_tells_nothing_of_the_machine_it_was_made_on(path) -> None:
    told = path.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.:])/(?:home|root|tmp|Users|work|usr|opt|var)/|[A-Z]:\\\\Users", told)
    assert not re.search(r"authorization|api[_-]key\"\s*:|Bearer |sk-[A-Za-z0-9]{8}", told, re.IGNORECASE)
    assert len(told) < 200_000


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_each_recording_is_used_and_asked_nobody_outside(path) -> None:
    assert any(f"recordings/{path.name}" in notebook.read_text(encoding="utf-8") for notebook in NOTEBOOKS)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    hosts = {urlsplit(line["url"]).hostname for line in lines if line.get("kind") == "request"}
    assert hosts == {"127.0.0.1"}
