"""The laws of every chain, each once more while a probe looks on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace

import pytest

from operators import current_spy
from pipeline.probing import Probe, probe
from tests.operators import test_laws
from tests.pipeline.probing.streams import in_order
from tests.support import LEAVABLE, WAYS, Way

SUBSCRIBE_NOTHING = {
    "test_stages_that_meet_are_one_subscription",
    "test_wrong_options_are_refused_where_they_are_written",
    "test_an_operator_goes_below_an_observable_only",
    "test_an_operator_is_made_of_a_generator_function",
    "test_help_shows_the_options_and_what_flows",
    "test_the_laws_are_all_here",
}

_OF_SPIES = ("spy", "spies", "onlooker", "watched")  # they bring their own

globals().update(
    {
        name: law
        for name, law in vars(test_laws).items()
        if name.startswith("test_")
        and not any(word in name for word in _OF_SPIES)
        and not hasattr(law, "hypothesis")  # test_probe.py has these
    }
)


@pytest.fixture(autouse=True)
def seen(request: pytest.FixtureRequest) -> Iterator[Probe]:
    """What the law does, seen, and truly so."""
    with probe(limit=6) as seen:
        yield seen
    assert bool(seen.strands) == (request.node.originalname not in SUBSCRIBE_NOTHING)
    in_order(seen)


def _probed(way: Way) -> Way:
    return replace(way, spy=current_spy())


@pytest.fixture(params=[way for way in WAYS if way.name != "watched"], ids=lambda way: way.name)
def each_way(request: pytest.FixtureRequest, seen: Probe) -> Way:
    return _probed(request.param)


@pytest.fixture(params=[way for way in LEAVABLE if way.name != "watched"], ids=lambda way: way.name)
def each_leavable_way(request: pytest.FixtureRequest, seen: Probe) -> Way:
    return _probed(request.param)


def test_the_laws_are_all_here() -> None:
    """Most of them at least; a law that is renamed does not drop out unseen."""
    assert sum(name.startswith("test_") and inspect.isfunction(law) for name, law in globals().items()) > 40
