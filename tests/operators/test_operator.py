"""@operator: what is told of a kernel that is none, and of an operator whose () were forgotten."""

from __future__ import annotations

from typing import Any

import pytest
import reactivex

from operators import Out, Stage, message, operator, payloads, select, text


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


@pytest.mark.parametrize("make", [text, message, payloads])
def test_forgotten_brackets(make: Any) -> None:
    with pytest.raises(TypeError, match=rf"{make.__name__}\(\) makes an operator and is none: was \(\) forgotten\?"):
        reactivex.of(1).pipe(make)
    wrong: Any = select
    with pytest.raises(TypeError, match="takes event types"):
        reactivex.of(1).pipe(wrong)
