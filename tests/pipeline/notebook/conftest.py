"""Fixtures for the tests of notebooks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from unittest import mock

import pytest

pytest.importorskip("ipykernel", reason='notebooks need the extra: pip install "rxchat[notebook]"')
pytest.importorskip("anywidget", reason='notebooks need the extra: pip install "rxchat[notebook]"')

from pipeline.notebook import _stop
from pipeline.notebook._last import _Kernel
from tests.pipeline.notebook.cells import Cells
from tests.pipeline.notebook.kernels import Kernel
from tests.support.timing import LONG


@pytest.fixture(scope="module")
def _cells() -> Iterator[Cells]:
    with pytest.MonkeyPatch.context() as patch, mock.patch.dict(os.environ):  # a kernel sets FORCE_COLOR, among others
        patch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # else it warns of debuggers
        made = Cells()
        try:
            yield made
        finally:
            made.close()


@pytest.fixture
def cells(_cells: Cells, monkeypatch: pytest.MonkeyPatch) -> Cells:
    """A kernel in this process, as if nothing had been shown."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        _stop, "AFTER", 2 * LONG
    )  # on a busy machine, too, there is no button but where a test wants one
    monkeypatch.setattr(_Kernel, "answer", None)
    monkeypatch.setattr(_Kernel, "probing", False)
    return _cells


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """A kernel in a process of its own, as a notebook has it."""
    with Kernel() as kernel:
        yield kernel


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium; the test is skipped where it, Playwright or JupyterLab is missing."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed: pip install jupyterlab")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    return found
