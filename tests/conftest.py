"""Fixtures for all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.support import LEAVABLE, WAYS, Way

collect_ignore = ["typing/pipes.py"]  # is checked and never run

settings.register_profile("rxchat", deadline=None)  # the machine may be busy
settings.load_profile("rxchat")


@pytest.fixture(scope="session", params=WAYS, ids=lambda way: way.name)
def each_way(request: pytest.FixtureRequest) -> Way:
    """Every way to run a chain: fused, unfused, watched, from a source that emits inside subscribe, from a hot one."""
    way: Way = request.param
    return way


@pytest.fixture(scope="session", params=LEAVABLE, ids=lambda way: way.name)
def each_leavable_way(request: pytest.FixtureRequest) -> Way:
    """Every way in which a stock operator below, as `take`, can leave while the source emits."""
    way: Way = request.param
    return way
