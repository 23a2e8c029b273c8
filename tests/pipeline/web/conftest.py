"""Fixtures for the tests of the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

pytest.importorskip("starlette", reason='the page needs the extra: pip install "rxchat[web]"')
pytest.importorskip("uvicorn", reason='the page needs the extra: pip install "rxchat[web]"')

from pipeline.web import Page, web


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page that runs, with a secret that is known from the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", "marked-key-4711")
    with web() as page:
        yield page


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium; the test is skipped where it or Playwright is missing."""
    pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    return found
