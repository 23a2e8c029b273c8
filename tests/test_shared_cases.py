"""The cases that are kept outside the project, where they are: RXCHAT_SHARED names their folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHARED = os.environ.get("RXCHAT_SHARED")


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.skipif(SHARED is None, reason="RXCHAT_SHARED is not set")
def test_all_cases_pass():
    runner = Path(SHARED or "") / "cases" / "run.py"
    done = subprocess.run([sys.executable, runner], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
