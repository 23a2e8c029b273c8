"""Each code block of the README runs, in the order in which a reader meets them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.embedded import serve
from tests.support.timing import LONG

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
ENVIRONMENT = {"OPENAI_API_KEY": "", "OPENAI_MODEL": "rxchat-tiny"}


def blocks(language: str) -> list[str]:
    return [code for found, code in BLOCKS if found == language]


def test_every_block_has_a_language_that_is_tested_here():
    assert {language for language, _ in BLOCKS} <= {"", "console", "python", "sh"}


def test_the_python_blocks_run_one_after_the_other(tmp_path, monkeypatch):
    code = "\n".join(blocks("python"))
    with serve() as server:
        for name, value in (ENVIRONMENT | {"OPENAI_BASE_URL": server.base_url}).items():
            monkeypatch.setenv(name, value)
        script = tmp_path / "readme.py"
        script.write_text(code, "utf-8")
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, timeout=LONG, check=False, cwd=tmp_path
        )
    assert done.returncode == 0, done.stderr
    assert "HELLO" in done.stdout
    assert "connection True []" in done.stdout
    assert "It is sunny in Paris" in done.stdout or "Hello!" in done.stdout
    assert "$.city grew by" in done.stdout


def test_the_shell_blocks_run(monkeypatch):
    with serve() as server:
        for name, value in (ENVIRONMENT | {"OPENAI_BASE_URL": server.base_url}).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
        for code in blocks("sh"):
            done = subprocess.run(
                ["bash", "-eu", "-c", code], capture_output=True, text=True, timeout=LONG, check=False
            )
            assert done.returncode == 0, done.stderr
            assert '"event":"Finish"' in done.stdout


def test_the_tool_example_is_ten_lines():
    example = next(code for code in blocks("python") if "@tool" in code)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10


def test_the_two_commands_come_first_and_are_those_that_ci_runs():
    setup, test = blocks("console")
    assert README.index("```console") < README.index("\n## ")
    assert setup.rstrip().endswith("rxchat demo")
    install = test.partition(" && .venv/bin/python")[0]
    assert install in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("name", ["operators", "pipeline"])
def test_every_public_name_is_documented(name):
    package = __import__(name)
    missing = [
        name
        for name in package.__all__
        if callable(made := getattr(package, name))
        and not (getattr(made, "__doc__", "") or "").strip()
        and name != "Stage"
    ]
    assert not missing
