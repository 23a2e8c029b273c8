"""A notebook that was run and saved: what is seen of it where no kernel runs."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from tests.pipeline.notebook.hostile import ATTACKS, assert_harmless, assert_still
from tests.pipeline.wire import DONE, Call, WireServer, event, text

pytestmark = pytest.mark.slow

CELLS = """
from pipeline import Retry, completion, show
from pipeline.notebook import timeline
body = {{"model": "m", "messages": [{{"role": "user", "content": "hi"}}]}}
options = dict(base_url={url!r}, api_key="", retry=Retry(attempts=1))
---
answer = show(completion(body, **options), timeline=True)
---
timeline(answer)
---
%load_ext pipeline
---
%%chat -u {url} -m m
hi
---
%marbles
"""


def hostile(call: Call) -> None:
    call.head()
    attack = "\n\n".join(ATTACKS)
    call.send(event({"id": "c1", "choices": [{"index": 0, "delta": {"reasoning_content": attack}}]}))
    function = {"name": "<script>window.hit=1</script>", "arguments": attack}
    part = {"index": 0, "id": "a", "type": "function", "function": function}
    call.send(text(attack), event({"id": "c1", "choices": [{"index": 0, "delta": {"tool_calls": [part]}}]}))
    call.send(text(None, "stop"), DONE)
    call.end()


def executed(*scripts: Any) -> Any:
    with WireServer(*scripts) as server:
        cells = CELLS.format(url=server.url).strip().split("\n---\n")
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        return NotebookClient(notebook, timeout=60, kernel_name="python3", store_widget_state=False).execute()


def test_it_reads_well_without_a_kernel_and_nothing_in_it_runs():
    notebook = executed(hostile)
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(pages) == 2
    for page in pages:
        parts = assert_harmless(page)
        assert "<script>window.hit=1</script>" in parts.text
    pictures = [output.data["image/svg+xml"] for output in outputs if "image/svg+xml" in output.get("data", {})]
    assert len(pictures) == 3
    for picture in pictures:
        assert_still(picture)

    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "window.hit=1" in page
    assert "<script>window.hit" not in page
    assert page.count('src="data:image/svg+xml') == 3
    assert "Error displaying widget" not in page
