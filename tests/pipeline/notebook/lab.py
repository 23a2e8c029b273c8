"""A real JupyterLab on loopback, and a page of Chromium in it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat

TOKEN = "t"


def notebook(*cells: str) -> Any:
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )


@contextmanager
def jupyterlab(root: Path) -> Iterator[str]:
    """The address of a JupyterLab whose files are in `root`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = root / ".home"
    env = {**os.environ, "HOME": str(home), "JUPYTER_CONFIG_DIR": str(home), "JUPYTER_DATA_DIR": str(home / "data")}
    options = [f"--ServerApp.port={port}", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={root}"]
    options += ["--no-browser", "--allow-root", "--LabApp.news_url=", "--ServerApp.ip=127.0.0.1"]
    with (root / "lab.log").open("wb") as log:
        server = subprocess.Popen([sys.executable, "-m", "jupyterlab", *options], env=env, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"{url}/api/status?token={TOKEN}").close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield url
        finally:
            server.terminate()
            server.wait(10)


@contextmanager
def browser() -> Iterator[Any]:
    """Debian's Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            yield chromium
        finally:
            chromium.close()


def opened(chromium: Any, url: str, name: str, *, dark: bool = False) -> Any:
    """A page with that notebook in JupyterLab, its kernel up."""
    page = chromium.new_page(viewport={"width": 1200, "height": 1000}, color_scheme="dark" if dark else "light")
    page.goto(f"{url}/lab/tree/{name}?token={TOKEN}&reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=30_000)
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=30_000, state="attached")
    return page


def run(page: Any, number: int) -> Any:
    """Run a cell, and answer with it once it has begun; a page that has just opened may miss the first keys."""
    cell = page.locator(".jp-Notebook .jp-Cell").nth(number)
    prompt = cell.locator(".jp-InputPrompt").first
    before = prompt.inner_text()
    for _ in range(20):
        cell.locator(".jp-InputArea-editor").click()
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(300)
        if prompt.inner_text() != before:
            break
    return cell


def idle(page: Any) -> None:
    """Wait until the kernel has nothing to do."""
    page.wait_for_selector('.jp-Notebook-ExecutionIndicator[data-status="idle"]', timeout=30_000, state="attached")
