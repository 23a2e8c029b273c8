"""All competitors must have read the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.bodies import BODIES, CUTS, Body, Said
from tests.bench.peers import COMPETITORS, STAGED, Competitor, Sink


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


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("competitor", COMPETITORS, ids=lambda one: one.name)
def test_every_competitor_reads_the_same(competitor: Competitor, kind: str) -> None:
    """It finds all that the body says, in the channels that it knows; and twice, as a benchmark runs more than once."""
    if missing := competitor.missing():
        pytest.skip(f"{', '.join(missing)} not installed: pip install -e '.[bench]'")
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
