"""@operator: what is told of a kernel that is none, and of an operator whose () were forgotten."""

from __future__ import annotations

from typing import Any

import pytest
import reactivex
from reactivex import Observable

from operators import Out, Stage, lines, message, operator, payloads, select, text


def test_a_kernel_takes_out() -> None:
    """Told where it is written, not where it is subscribed."""

    def nowhere() -> Stage[int]:
        yield lambda value: None

    def named(*, out: Out[int]) -> Stage[int]:
        yield out.on_next

    for kernel in (nowhere, named):
        wrong: Any = kernel
        with pytest.raises(TypeError, match=rf"takes `out` first, .* as in def {kernel.__name__}\(out\)"):
            operator(wrong)


def test_a_kernel_is_a_generator_function() -> None:
    wrong: Any = print
    with pytest.raises(TypeError, match="print is none"):
        operator(wrong)


def test_an_option_may_be_a_stream() -> None:
    @operator
    def until(out: Out[int], other: Observable[Any], times: int = 1) -> Stage[int]:
        stopped = other.subscribe(lambda _: out.on_completed())
        yield out.on_next
        stopped.dispose()

    @operator
    def undeclared(out: Out[int], other) -> Stage[int]:
        yield out.on_next

    stop = reactivex.never()
    assert reactivex.of(1, 2).pipe(until(stop)).run() == 2
    assert reactivex.of(1, 2).pipe(undeclared(stop)).run() == 2


@pytest.mark.parametrize("make", [text, message, payloads, lines])
def test_forgotten_brackets(make: Any) -> None:
    with pytest.raises(TypeError, match=rf"{make.__name__}\(\) makes an operator and is none: was \(\) forgotten\?"):
        reactivex.of(1).pipe(make)
    wrong: Any = select
    with pytest.raises(TypeError, match="takes event types"):
        reactivex.of(1).pipe(wrong)
