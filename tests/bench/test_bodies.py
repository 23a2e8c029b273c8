"""All competitors must have read the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.bench.bodies import BODIES, CUTS, Body, Said, text_heavy
from tests.bench.clients import ASYNC, SYNC, AsyncClient, SyncClient, is_raw
from tests.bench.peers import COMPETITORS, STAGED, Competitor, Needing, Sink, missing
from tests.bench.server import Server, serving


class _Heard(Sink):
    def __init__(self, competitor: Competitor) -> None:
        self._of = competitor.found
        self.said: dict[str, list[str]] = {"text": [], "reasoning": [], "arguments": []}
        self.text, self.reasoning, self.arguments = (  # type: ignore[method-assign]
            self.said[name].append for name in ("text", "reasoning", "arguments")
        )

    def item(self, item: Any, /) -> None:
        for channel, text in self._of(item) if self._of else ():
            self.said[channel].append(text)


def skip_if_missing(one: Needing) -> None:
    if why := missing(one):
        pytest.skip(why)


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("competitor", COMPETITORS, ids=lambda one: one.name)
def test_every_competitor_reads_the_same(competitor: Competitor, kind: str) -> None:
    """It finds all that the body says, in the channels that it knows; and twice, as a benchmark runs more than once."""
    skip_if_missing(competitor)
    body = BODIES[kind](90)
    run = competitor.make(body.reads(1_460))
    wanted = Said(*(text if name in competitor.channels else "" for name, text in body.said._asdict().items()))
    for _ in range(2):
        heard = _Heard(competitor)
        run(heard)
        assert Said(*("".join(parts) for parts in heard.said.values())) == wanted


@pytest.mark.parametrize("competitor", STAGED, ids=lambda one: one.name)
def test_every_stage_comes_to_the_end(competitor: Competitor) -> None:
    """The shorter chains run on the same reads."""
    count = 0

    class Counting(Sink):
        def item(self, item: Any, /) -> None:
            nonlocal count
            count += 1

    competitor.make(BODIES["text"](50).reads(None))(Counting())
    assert count == 1 if "message" in competitor.name else count >= 50


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def what_came(got: list[Any]) -> bytes | str:
    return "".join(got) if isinstance(got[0], str) else b"".join(got)


def wanted_of(name: str, body: Body) -> bytes | str:
    return b"".join(body.events) if is_raw(name) else body.said.text


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("client", ASYNC, ids=lambda one: one.name)
def test_every_async_client_reads_the_same(client: AsyncClient, server: Server) -> None:
    """Over a socket, too: all bytes from those that do not parse, all text from the others; twice on one connection."""
    skip_if_missing(client)

    async def both() -> list[list[Any]]:
        read, close = await client.open(1)
        times: list[list[Any]] = [[], []]
        for got in times:
            await read(server.url("burst/60"), got.append)
        await close()
        return times

    wanted = wanted_of(client.name, text_heavy(60))
    assert [what_came(got) for got in asyncio.run(both())] == [wanted, wanted]


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("client", SYNC, ids=lambda one: one.name)
def test_every_blocking_client_reads_the_same(client: SyncClient, server: Server) -> None:
    """The same."""
    skip_if_missing(client)
    read, close = client.open()
    times: list[list[Any]] = [[], []]
    for got in times:
        read(server.url("burst/60"), got.append)
    close()
    wanted = wanted_of(client.name, text_heavy(60))
    assert [what_came(got) for got in times] == [wanted, wanted]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", BODIES)
def test_cuts_lose_nothing(kind: str, cut: str) -> None:
    """A body in reads is the same bytes."""
    body: Body = BODIES[kind](45)
    assert b"".join(body.reads(CUTS[cut])) == b"".join(body.events)


@pytest.mark.parametrize("kind", BODIES)
def test_events_are_of_a_real_size(kind: str) -> None:
    """About 300 bytes each, as OpenAI's are, so that figures per event can be compared between bodies."""
    events = BODIES[kind](500).events
    assert 250 < sum(map(len, events)) / len(events) < 350
    assert 450 <= len(events) <= 510
