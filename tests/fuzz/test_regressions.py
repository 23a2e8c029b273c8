"""Bodies that once broke a law, and those that the fuzzer starts from: all laws hold of them now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.laws import check

HERE = Path(__file__).parent
BODIES = sorted([*(HERE / "corpus").iterdir(), *(HERE / "regressions").iterdir()])


@pytest.mark.parametrize("body", BODIES, ids=[f"{path.parent.name}/{path.name}" for path in BODIES])
def test_a_body_that_was_found(body: Path) -> None:
    """Its name says what it is, or is the fuzzer's."""
    check(body.read_bytes())
