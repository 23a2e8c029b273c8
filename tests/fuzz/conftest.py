"""Thousands of broken streams would fill the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    logger = logging.getLogger("rxchat")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)
