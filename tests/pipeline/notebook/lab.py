"""A real JupyterLab on loopback, and a page of Chromium in it."""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

from tests.support.timing import LONG

"""Milliseconds after which something that should be seen is given up."""
_START = 60.0  # seconds that JupyterLab may take to come up on a busy machine

_OPTIONS = [
    "--no-browser",
    "--allow-root",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port=0",
    "--LabApp.extension_manager=readonly",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    # whatever becomes of the tests, neither it nor its kernels outlive them by much
    "--MappingKernelManager.cull_idle_timeout=120",
    "--ServerApp.shutdown_no_activity_timeout=120",
]


class Lab(NamedTuple):
    """A JupyterLab whose files are in `root`."""

    url: str
    token: str
    root: Path

    def write(self, name: str, *cells: str) -> str:
        """A notebook with these cells; the path of its page."""
        made = nbformat.v4.new_notebook(  # type: ignore[no-untyped-call,unused-ignore]
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],  # type: ignore[no-untyped-call,unused-ignore]
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        nbformat.write(made, self.root / name)  # type: ignore[no-untyped-call,unused-ignore]
        return name


@contextmanager
def jupyterlab(root: Path, *, dark: bool = False) -> Iterator[Lab]:
    """JupyterLab with a home of its own, which asks nothing of any network, until the `with` is left."""
    home = root / ".home"
    settings = home / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    theme = "JupyterLab Dark" if dark else "JupyterLab Light"
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": theme}))
    (settings / "notification.jupyterlab-settings").write_text(json.dumps({"fetchNews": "false"}))
    token = secrets.token_urlsafe()
    runtime = home / "runtime"
    env = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "OPENAI", "COV_"))}
    env |= {"HOME": str(home), "JUPYTER_CONFIG_DIR": str(home), "JUPYTER_DATA_DIR": str(home / "data")}
    env |= {"JUPYTER_RUNTIME_DIR": str(runtime), "JUPYTER_TOKEN": token}  # not on the command line, where all see it
    run = [sys.executable, "-m", "jupyterlab", *_OPTIONS, f"--ServerApp.root_dir={root}"]
    with (root / "lab.log").open("wb") as log:
        server = subprocess.Popen(run, env=env, stdout=log, stderr=log)
        try:
            yield Lab(_address(server, runtime, root / "lab.log"), token, root)
        finally:
            server.terminate()
            try:
                server.wait(LONG)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _address(server: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """It writes its address into a file when it listens."""
    late = time.monotonic() + _START
    while time.monotonic() < late and server.poll() is None:
        for found in runtime.glob(f"jpserver-{server.pid}.json"):
            try:
                return str(json.loads(found.read_text())["url"]).rstrip("/")
            except ValueError:  # it is being written
                pass
        time.sleep(0.05)
    raise RuntimeError(f"JupyterLab did not come up:\n{log.read_text()[-2000:]}")


@contextmanager
def browser(executable: str) -> Iterator[Any]:
    """A Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        try:
            yield chromium
        finally:
            chromium.close()


class Page:
    """A page with one notebook in JupyterLab, its kernel up; and what the page asked of other places than JupyterLab."""

    def __init__(self, chromium: Any, lab: Lab, name: str) -> None:
        self.elsewhere: list[str] = []
        self.dialogs: list[str] = []
        self.page = chromium.new_page(viewport={"width": 1200, "height": 1000})
        self.page.set_default_timeout(1000 * LONG)
        self._chromium, self._lab, self._name = chromium, lab, name
        self.page.route("**/*", self._ask)
        self.page.on("dialog", self._dialog)
        self.page.goto(f"{lab.url}/lab/tree/{name}?token={lab.token}&reset")
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=1000 * LONG)
        self.idle()

    def _ask(self, route: Any) -> None:
        if route.request.url.startswith((self._lab.url, "data:", "blob:")):
            route.continue_()
        else:
            self.elsewhere.append(route.request.url)
            route.abort()

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def cell(self, number: int) -> Any:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def run(self, number: int) -> Any:
        """Run a cell, and answer with it once it has begun; a page that has just opened may miss the first keys."""
        cell = self.cell(number)
        prompt = cell.locator(".jp-InputPrompt").first
        before = prompt.inner_text()
        for _ in range(40):
            cell.locator(".jp-InputArea-editor").click()
            self.page.keyboard.press("Control+Enter")
            for _ in range(10):
                if prompt.inner_text() != before:
                    return cell
                self.page.wait_for_timeout(50)
        raise AssertionError(f"cell {number} does not run")

    def ran(self, number: int) -> Any:
        """Run a cell to its end."""
        cell = self.run(number)
        self.over(number)
        return cell

    def over(self, number: int) -> None:
        """Wait until a cell has ended."""
        self.cell(number).locator(".jp-InputPrompt").get_by_text(re.compile(r"\[\d+\]")).wait_for(timeout=1000 * LONG)

    def idle(self) -> None:
        """Wait until the kernel has nothing to do."""
        self.page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=1000 * LONG)

    def interrupt(self) -> None:
        """The button in the notebook's toolbar."""
        self.page.locator(
            '.jp-NotebookPanel-toolbar [data-jp-item-name="interrupt"] button, [data-jp-item-name="interrupt"] jp-button'
        ).first.click()

    def save(self) -> None:
        """And wait until it is."""
        with self.page.expect_response(lambda answer: answer.request.method == "PUT" and "/contents/" in answer.url):
            self.page.keyboard.press("Escape")
            self.page.keyboard.press("Control+s")

    def reopened(self) -> Page:
        """The same notebook in a new page, with a new kernel."""
        ask = urllib.request.Request(f"{self._lab.url}/api/sessions?token={self._lab.token}")
        with urllib.request.urlopen(ask) as answer:
            sessions = json.loads(answer.read())
        for session in sessions:
            url = f"{self._lab.url}/api/sessions/{session['id']}?token={self._lab.token}"
            urllib.request.urlopen(urllib.request.Request(url, method="DELETE")).close()
        return Page(self._chromium, self._lab, self._name)

    def close(self) -> None:
        self.page.close()
