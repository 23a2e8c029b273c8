"""How tests wait for real time on machines that may stand still for a while: none of them asserts how fast one is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONG = 60.0
"""Seconds after which something that should have happened is given up."""
SOON = LONG / 3
"""Seconds for what must not wait until something else, which lasts `LONG`, has ended it."""
UNITS = 0.05, 0.25, 1.0
"""Seconds: what a time is counted in, and in which it is counted again."""


@contextmanager
def soon() -> Iterator[None]:
    """What is inside must not last until something else, which lasts `LONG`, has ended it."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < SOON


def in_real_time(run: Callable[[float], None]) -> None:
    """Run what compares times that pass, told in the unit of time to use.

    A machine that stands still for a moment spoils a short time and not a long one, so what fails is run again in longer
    units. What is wrong is wrong in each of them.
    """
    *short, longest = UNITS
    for unit in short:
        try:
            run(unit)
        except Exception:
            continue
        return
    run(longest)


def wait_until(what: Callable[[], object]) -> None:
    """Wait until that is true."""
    deadline = time.monotonic() + LONG
    while not what():
        assert time.monotonic() < deadline, "it has not become true"
        time.sleep(0.001)


def wait_while(what: Callable[[], object]) -> None:
    """Wait while that is true."""
    deadline = time.monotonic() + LONG
    while still := what():
        assert time.monotonic() < deadline, still
        time.sleep(0.001)


async def until(what: Callable[[], object]) -> None:
    """Wait on the loop until that is true."""
    deadline = time.monotonic() + LONG
    while not what():
        assert time.monotonic() < deadline, "it has not become true"
        await asyncio.sleep(0.001)
