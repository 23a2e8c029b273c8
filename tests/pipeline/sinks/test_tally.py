"""The footer's numbers, without a footer."""

from operators import Finish, Restarted, RoundStarted, TextDelta, Usage
from pipeline.sinks._tally import Prices, Tally


def test_without_a_clock_there_are_no_times() -> None:
    tally = Tally(None)
    for event in (TextDelta("a"), TextDelta("b"), Usage(1, 2, 3), Finish("stop")):
        tally.add(event)
    assert tally.parts() == ["stop", "1 token in, 2 out"]


def test_the_last_usage_of_a_request_counts() -> None:
    tally = Tally(None)
    for event in (Usage(1, 2, 3), Usage(1, 9, 10), RoundStarted(2), Usage(4, 1, 5)):
        tally.add(event)
    assert tally.parts() == ["5 tokens in, 10 out"]


def test_a_restart_in_a_later_round_leaves_the_first_token_alone() -> None:
    times = iter([0.0, 1.0, 5.0, 6.0])
    tally = Tally(lambda: next(times))
    for event in (RoundStarted(1), TextDelta("a"), RoundStarted(2), TextDelta("b"), Restarted(), TextDelta("c")):
        tally.add(event)
    assert tally.parts() == ["1.00 s to first token"]


def test_fast_rates_have_no_fraction() -> None:
    times = iter([0.0, 1.0, 2.0])
    tally = Tally(lambda: next(times))
    for event in (TextDelta("a"), TextDelta("b"), Usage(1, 1001, 1002)):
        tally.add(event)
    assert tally.parts()[-1] == "1,000 tokens/s"


def test_so_far() -> None:
    now = [0.0]
    tally = Tally(lambda: now[0], Prices(1, 2))
    assert tally.so_far(1.25) == ["1.2 s"]
    for now[0] in (1.0, 2.0, 3.0):
        tally.add(TextDelta("a"))
    assert tally.so_far(12.0) == ["12 s", "~3 tokens", "~1 tokens/s", "~$0.000006"]
    tally.add(Usage(10, 30, 40))
    assert tally.so_far(12.0) == ["12 s", "30 tokens", "1 tokens/s", "$0.000070"]
    tally.add(RoundStarted(2))
    tally.add(TextDelta("b"))
    assert tally.so_far(12.0) == ["12 s", "~31 tokens", "~$0.000072"]
    tally.add(RoundStarted(3))
    assert tally.so_far(12.0)[1] == "~31 tokens"


def test_without_a_clock_there_is_no_time_so_far() -> None:
    assert Tally(None).so_far(5.0) == []


def test_cost() -> None:
    tally = Tally(None, Prices(1, 2))
    assert tally.parts() == []
    tally.add(Usage(None, 500_000))
    assert tally.parts() == ["500,000 tokens out", "$1.00"]
    assert [Prices(1, 1).of(0, tokens) for tokens in (0, 1, 20_000, 3_000_000)] == [
        "$0.00",
        "$0.000001",
        "$0.0200",
        "$3.00",
    ]
