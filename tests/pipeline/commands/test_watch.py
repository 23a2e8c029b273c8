"""`rxchat watch`, as a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.timing import LONG

pytest.importorskip("uvicorn", reason='the page needs the extra: pip install "rxchat[web]"')

from pipeline.recordings import record
from pipeline.sources._replay import replay

RECORDED = Path(__file__).parents[3] / "pipeline" / "embedded" / "recorded"
PROGRAM = "import typer; from pipeline.commands._watch import watch; a = typer.Typer(); a.command()(watch); a()"


@contextmanager
def watching(*words: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The command while it runs, and the URL that it printed. In the end Ctrl-C ends it."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            yield process, process.stdout.readline().decode().strip()
            process.send_signal(signal.SIGINT)
            assert process.wait(LONG) == 0
            assert b"Traceback" not in process.stderr.read()
        finally:
            process.kill()


def updates(url: str, query: str = "") -> Iterator[Any]:
    with urllib.request.urlopen(f"{url}updates{query}", timeout=10) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                yield json.loads(line[6:])


def states(url: str) -> dict[str, str]:
    """The state of each stream, once all have ended."""
    found: dict[str, str] = {}
    for update in updates(url):
        found |= {line["title"]: line["facts"]["state"] for line in update.get("streams", [])}
        if found and not {"waiting", "streaming"} & set(found.values()):
            break
    return found


def text_of(update: Any) -> str:
    return "".join(part.get("text", "") for part in update.get("blocks", []) if part["kind"] == "text")


def test_it_plays_bodies_and_recordings_side_by_side(tmp_path: Path) -> None:
    recording = tmp_path / "kept.rec"
    with record(recording):
        for name in ("text", "thinking"):
            replay((RECORDED / f"{name}.sse").read_bytes()).subscribe()
    with watching(str(RECORDED / "one_call.sse"), str(recording), "--pace", "0.001") as (_, url):
        assert states(url) == {
            "one_call.sse": "completed",
            "kept.rec, stream 1": "completed",
            "kept.rec, stream 2": "completed",
        }


def test_a_body_on_stdin_is_shown_as_it_comes() -> None:
    body = (RECORDED / "text.sse").read_bytes()
    with watching() as (process, url):
        assert process.stdin is not None
        coming = updates(url)
        process.stdin.write(body[: len(body) // 2])
        process.stdin.flush()
        said = ""
        while "sunny" not in said:
            said += text_of(next(coming))
        assert "terrasse" not in said
        process.stdin.write(body[len(body) // 2 :])
        process.stdin.flush()
        while "terrasse" not in said:
            said += text_of(next(coming))


def test_it_can_be_interrupted_while_it_waits_for_stdin() -> None:
    with watching() as (_, url):
        next(updates(url))


@pytest.mark.slow
def test_the_demo_streams_from_a_real_server() -> None:
    with watching("--demo", "--pace", "0.001") as (_, url):
        assert set(states(url).values()) == {"completed"}


@pytest.mark.parametrize(
    ("words", "says"),
    [(["--ask", "hi"], "which model?"), (["nothing.sse"], "there is no file 'nothing.sse'")],
)
def test_wrong_usage_is_said(words: list[str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_MODEL", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert done.returncode == 2
    assert says in done.stderr


def test_an_endpoint_can_be_asked_and_its_failure_is_shown() -> None:
    with watching("--ask", "hi", "-m", "m", "--base-url", "http://127.0.0.1:1/v1") as (_, url):
        for update in updates(url):
            if any(part["kind"] == "retry" for part in update.get("blocks", [])):
                break
