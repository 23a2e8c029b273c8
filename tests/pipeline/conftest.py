"""Fixtures for the tests of the pipeline: the embedded server, and a kind of client at a time."""

from collections.abc import Iterator

import pytest

from pipeline.embedded import EmbeddedServer
from tests.pipeline.wire import KINDS, Kind


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[EmbeddedServer]:
    """One llama.cpp for all tests."""
    if not EmbeddedServer.available():
        pytest.skip("xllamacpp is not installed")
    with EmbeddedServer() as server:
        yield server


def _named(kind: Kind) -> str:
    return kind.name


@pytest.fixture(params=KINDS, ids=_named)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of client."""
    found: Kind = request.param
    return found


@pytest.fixture(params=[kind for kind in KINDS if not kind.looping], ids=_named)
def blocking(request: pytest.FixtureRequest) -> Kind:
    """Every kind of client that blocks."""
    found: Kind = request.param
    return found


@pytest.fixture(params=[kind for kind in KINDS if kind.looping], ids=_named)
def looping(request: pytest.FixtureRequest) -> Kind:
    """Every kind of client that is awaited."""
    found: Kind = request.param
    return found
