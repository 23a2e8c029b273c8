"""The footer's numbers, without a footer."""

from operators import Finish, Restarted, RoundStarted, TextDelta, Usage
from pipeline.sinks._tally import Tally


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
