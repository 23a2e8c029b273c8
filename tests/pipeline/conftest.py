"""Fixtures for the tests of the pipeline: the embedded server, and a kind of client at a time."""

from collections.abc import Iterator

import pytest

from pipeline.embedded import EmbeddedServer
from pipeline.sources import _blocking, _looping
from tests.pipeline.wire import KINDS, Kind
from tests.support.timing import LONG, wait_while


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


@pytest.fixture
def unhurried_drain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """However long a machine stands still, the end of a body is waited for: a connection that is not kept has its reason."""
    for module in (_blocking, _looping):
        monkeypatch.setattr(module, "DRAIN_SECONDS", LONG)
    yield
    wait_while(lambda: _blocking._draining or _looping._draining)  # a thread may be about to end its own
