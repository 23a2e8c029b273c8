"""No thread of a sink is left after a test."""

import threading
from collections.abc import Iterator

import pytest

from tests.support.timing import wait_while


def sink_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("rxchat sink")]


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    yield
    wait_while(sink_threads)
