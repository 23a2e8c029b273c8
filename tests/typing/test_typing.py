"""Types are tested: a file that is checked by two type checkers, and what they must refuse in it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIPES = Path(__file__).with_name("pipes.py")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_infers_the_pipes_and_refuses_the_wrong_ones() -> None:
    """--strict warns of an ignore that nothing needs: a wrong pipe that is accepted fails here."""
    done = run("mypy", "--strict", str(PIPES))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_infers_the_pipes_and_refuses_the_wrong_ones() -> None:
    """The same: the file asks for reportUnnecessaryTypeIgnoreComment."""
    done = run("pyright", "--pythonpath", sys.executable, str(PIPES))
    if done.returncode not in {0, 1}:  # it fetches its engine at first use
        pytest.skip(f"pyright does not run here: {done.stdout[-200:]} {done.stderr[-200:]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors" in done.stdout
