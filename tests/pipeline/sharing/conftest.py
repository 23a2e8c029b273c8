"""No thread of a sink is left after a test."""

import threading
import time
from collections.abc import Iterator

import pytest


def sink_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("rxchat sink")]


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    yield
    until = time.monotonic() + 2
    while sink_threads() and time.monotonic() < until:
        time.sleep(0.005)
    assert sink_threads() == []
