"""How often something is drawn."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from pipeline.notebook._frames import FASTEST, MOST, Frames
from tests.support.timing import LONG


class Canvas:
    """Is drawn, and says when; a drawing can be held up."""

    def __init__(self, size: int = 0) -> None:
        self.at: list[float] = []
        self.size = size
        self.drawing, self.free = threading.Event(), threading.Event()
        self.free.set()
        self.drew = threading.Semaphore(0)

    def draw(self) -> int:
        self.at.append(time.monotonic())
        self.drawing.set()
        assert self.free.wait(LONG)
        self.drew.release()
        return self.size


def test_what_changes_while_a_frame_is_drawn_is_one_frame_more():
    canvas = Canvas()
    frames = Frames(canvas.draw)
    canvas.free.clear()
    frames.start()
    frames.changed()
    assert canvas.drawing.wait(LONG)
    for _ in range(1000):
        frames.changed()
    canvas.free.set()
    for _ in range(2):
        assert canvas.drew.acquire(timeout=LONG)
    frames.end()
    assert len(canvas.at) == 2


def test_frames_are_never_closer_than_the_fastest_rate():
    canvas = Canvas()
    frames = Frames(canvas.draw)
    frames.start()
    for _ in range(5):
        frames.changed()
        assert canvas.drew.acquire(timeout=LONG)
    frames.end()
    assert 1 / 20 <= FASTEST <= 1 / 10
    assert min(_gaps(canvas.at)) > 0.95 * FASTEST


def test_large_frames_are_drawn_less_often():
    canvas = Canvas(size=MOST // 5)
    frames = Frames(canvas.draw)
    frames.start()
    for _ in range(3):
        frames.changed()
        assert canvas.drew.acquire(timeout=LONG)
    frames.end()
    assert min(_gaps(canvas.at)) > 0.95 / 5


def test_a_frame_is_drawn_now_and_then_though_nothing_has_changed():
    canvas = Canvas()
    frames = Frames(canvas.draw)
    frames.start()
    assert canvas.drew.acquire(timeout=LONG)
    frames.end()


def test_a_frame_that_is_being_drawn_is_finished_before_the_end():
    canvas = Canvas()
    frames = Frames(canvas.draw)
    canvas.free.clear()
    frames.start()
    frames.changed()
    assert canvas.drawing.wait(LONG)
    threading.Timer(0.05, canvas.free.set).start()
    frames.end()
    assert canvas.drew.acquire(blocking=False)


def test_what_drawing_raises_ends_the_frames_and_is_raised_at_the_end():
    failed = threading.Event()

    def draw() -> int:
        failed.set()
        raise ZeroDivisionError

    frames = Frames(draw)
    frames.start()
    frames.changed()
    assert failed.wait(LONG)
    with pytest.raises(ZeroDivisionError):
        frames.end()


def test_frames_that_never_began_can_end():
    Frames(Canvas().draw).end()


def _gaps(times: list[float]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(times)]
