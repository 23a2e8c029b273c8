"""A sink whose () were forgotten is told, where it would be a function like any other and show nothing."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import reactivex

from operators import TextDelta
from pipeline.sharing import block, coalesce, drop_oldest, latest, share_to
from pipeline.sinks import callbacks, collect, console, log

MAKERS = [callbacks, collect, console, log, block, coalesce, drop_oldest, latest]
STREAM = reactivex.of(TextDelta("Hi"))


@pytest.mark.parametrize("maker", MAKERS)
def test_as_a_subscriber(maker: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{maker.__name__}\(\) makes a sink and is none: was \(\) forgotten\?"):
        STREAM.subscribe(maker)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("give", [share_to, block, coalesce, drop_oldest, latest])
def test_where_a_sink_is_taken(give: Any, maker: Any) -> None:
    """At the call."""
    with pytest.raises(TypeError, match=rf"^{maker.__name__}\(\) makes a sink and is none"):
        give(maker)


@pytest.mark.parametrize("maker", MAKERS)
def test_it_looks_like_the_function_itself(maker: Any) -> None:
    """To help() and to editors."""
    assert str(inspect.signature(maker)) == str(inspect.signature(maker.__wrapped__))
    assert maker.__doc__
