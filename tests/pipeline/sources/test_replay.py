"""replay(): a body that is there already, for every subscription, on the scheduler that is given."""

from __future__ import annotations

from typing import Any

import pytest
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from pipeline import iterate, reads, replay
from tests.pipeline.wire import Sub


@pytest.mark.parametrize(
    ("body", "size", "expected"),
    [
        (b"abc", None, [b"abc"]),
        (b"abcde", 2, [b"ab", b"cd", b"e"]),
        ([b"ab", b"cde"], None, [b"ab", b"cde"]),
        ([b"ab", b"cde"], 2, [b"ab", b"cd", b"e"]),
        (bytearray(b"abc"), 2, [b"ab", b"c"]),
        (memoryview(b"abc"), 5, [b"abc"]),
        ([], None, []),
        (b"", 3, []),
    ],
)
def test_a_body_as_it_is_or_in_reads_of_a_size(body: Any, size: int | None, expected: list[bytes]) -> None:
    source = replay(body, size)
    assert [*iterate(source)] == [*iterate(source)] == expected


def test_an_iterator_is_kept_for_every_subscription() -> None:
    source = replay(iter([b"a", b"b"]))
    assert [*iterate(source)] == [*iterate(source)] == [b"a", b"b"]


@pytest.mark.parametrize("size", [0, -1])
def test_a_read_size_is_at_least_one(size: int) -> None:
    with pytest.raises(ValueError, match=f"^read_size is a number of bytes of at least 1, not {size}"):
        replay(b"abc", size)


@pytest.mark.parametrize("body", [3, None])
def test_what_is_no_body_is_told_at_once(body: Any) -> None:
    with pytest.raises(TypeError, match=rf"^replay\(\) takes bytes or an iterable of bytes, not {type(body).__name__}"):
        replay(body)


def test_it_emits_on_the_scheduler_that_is_given() -> None:
    scheduler, sub = TestScheduler(), Sub()
    replay([b"a", b"b"]).subscribe(sub, scheduler=scheduler)
    assert sub.values == []
    scheduler.start()
    assert (sub.values, sub.completed) == ([b"a", b"b"], True)


def test_take_leaves_it_early() -> None:
    sub = Sub()
    replay([b"a", b"b"]).pipe(ops.take(1)).subscribe(sub)
    assert (sub.values, sub.completed) == ([b"a"], True)


def test_an_error_that_nobody_handles_is_raised() -> None:
    def broken() -> Any:
        yield b"a"
        raise KeyError("mine")

    with pytest.raises(KeyError):
        reads(broken()).subscribe()
