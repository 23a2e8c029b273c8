"""The yardsticks: they find what they are made to find."""

from __future__ import annotations

import bisect
from collections.abc import Callable

import pytest

from operators import TextDelta
from pipeline import decode, replay
from tests.bench import growing, many
from tests.bench.bodies import event
from tests.bench.measure import Costs
from tests.bench.streams import Stamps


@pytest.mark.parametrize("make", [growing.text_reads, growing.argument_reads, growing.string_reads])
@pytest.mark.parametrize("size", [4, 1_000, 10_000])
def test_a_long_body_has_the_events_that_it_is_divided_by(make: Callable[[int], growing.Reads], size: int) -> None:
    reads = make(size)
    assert b"".join(reads).count(b"\n\n") == reads.events


def test_a_long_body_is_as_long_as_it_says() -> None:
    assert b"".join(growing.text_reads(1_000)).count(b'"content":" word"') == 1_000
    assert b"".join(growing.string_reads(1_000)).count(b"word") == 250


def of(costs: dict[int, float]) -> tuple[growing.Beside, Costs]:
    return growing.Beside(growing.staged, tuple(costs)), Costs({str(n): [cost * 1e-6] * 3 for n, cost in costs.items()})


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_what_grows_is_found_beside_what_does_not(power: float) -> None:
    """However large the constant is."""
    k, one_more = growing.growth_of(*of({n: 900 + 0.04 * n**power for n in (0, 1, 2, 5, 10, 20)}))
    assert k == pytest.approx(power, abs=0.001)
    assert one_more == pytest.approx(0.04 * 20 ** (power - 1))


def test_noise_does_not_bend_it() -> None:
    """What one or two more cost is lost in it; what twenty cost is not."""
    k, _ = growing.growth_of(*of({0: 1.0, 1: 0.99, 2: 1.13, 5: 1.17, 10: 1.43, 20: 1.81}))
    assert k == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("grows", ["stages", "sinks of share_to()"])
def test_a_quadratic_chain_is_far_off(grows: str) -> None:
    """Really run: as many squared of them as it says."""
    below, counts = growing.BESIDE[grows].below, (1, 2, 4, 8)
    beside = growing.Beside(lambda n: below(n * n), counts)
    k, _ = growing.growth_of(beside, growing.costs_of(beside, 1_000, rounds=5))
    assert growing.flat(counts[-1]).missed_by(k) > growing.flat(counts[-1]).far


def climb(holds: Callable[[int], bool], start: int) -> tuple[int, list[int]]:
    """What a search finds, and what it has tried."""
    search, tried = many.search(start), []
    answer: bool | None = None
    while True:
        try:
            tried.append(search.send(answer))
        except StopIteration as ended:
            return ended.value, tried
        answer = holds(tried[-1])


@pytest.mark.parametrize("most", [0, 10, 97, 330, 1_234, 20_000])
@pytest.mark.parametrize("start", [1, 300, 50_000])
def test_a_search_finds_the_most_wherever_it_begins(most: int, start: int) -> None:
    found, tried = climb(lambda streams: streams <= most, start)
    assert found == max((rung for rung in many.LADDER if rung <= most), default=0)
    assert len(tried) <= 2 * 14


def test_luck_does_not_climb() -> None:
    """One success in three is a failure, and what is above is not tried again."""
    tries: dict[int, int] = {}

    def once_in_three(streams: int) -> bool:
        tries[streams] = tries.get(streams, 0) + 1
        return streams < 300 or tries[streams] % 3 == 0

    found, tried = climb(once_in_three, 200)
    assert found == max(rung for rung in many.LADDER if rung < 300)
    failed = tried.index(300)
    assert max(tried[failed + 1 :]) <= max(tried[: failed + 1])
    assert set(tries.values()) == {2}


def test_one_failure_in_three_is_a_success() -> None:
    failed: set[int] = set()

    def fails_once(streams: int) -> bool:
        first = streams not in failed
        failed.add(streams)
        return streams <= 330 and not first

    assert climb(fails_once, 200)[0] == 330


def test_the_ladder_is_even() -> None:
    ratios = [above / below for below, above in zip(many.LADDER, many.LADDER[1:], strict=False)]
    assert min(ratios) > 1.05
    assert max(ratios) < 1.16


@pytest.mark.parametrize("size", [1, 100, 300, 301, 1_000, 65_536])
def test_both_sinks_know_how_late_each_event_is(size: int) -> None:
    """The one that parses nothing too, wherever the reads are cut; only a time that is cut itself is not seen."""
    times = [33_559.000001 * (1 + n / 1_000) for n in range(400)]
    body = b"".join(event({"content": f" {time:012.6f}"}) for time in times)
    parsed, raw = Stamps(), Stamps()
    on_text, on_read = parsed.sink_of_texts(), raw.sink_of_reads()
    replay(body, read_size=size).pipe(decode(flush=False)).subscribe(
        lambda found: on_text(found.text) if isinstance(found, TextDelta) else None, on_error=lambda _: None
    )
    for at in range(0, len(body), size):
        on_read(body[at : at + size])
    assert [float(sent) for sent in parsed.sent] == pytest.approx(times)
    cuts = range(size, len(body), size)
    starts = [body.index(b"%012.6f" % time) for time in times]
    whole = [time for time, start in zip(times, starts, strict=True) if not _cut(cuts, start)]
    assert [float(sent) for sent in raw.sent] == pytest.approx(whole)
    assert len(raw.delays()) == len(raw) == len(whole)


def _cut(cuts: range, at: int) -> bool:
    """Whether a read ends within the twelve bytes of a time."""
    after = bisect.bisect_right(cuts, at)
    return after < len(cuts) and cuts[after] < at + 12
