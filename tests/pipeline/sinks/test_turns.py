"""What belongs together is shown together; nothing is lost, and what needs not wait does not."""

from hypothesis import given
from hypothesis import strategies as st

from operators import Event, Finish, Gap, ReasoningDelta, Restarted, RoundStarted, TextDelta, ToolCallDelta, Usage
from pipeline.sinks._turns import Turns


def shown(*events: Event, end: bool = True) -> list[Event]:
    seen: list[Event] = []
    turns = Turns(seen.append)
    for event in events:
        turns.add(event)
    if end:
        turns.end()
    return seen


def text(letters: str, choice: int = 0) -> list[Event]:
    return [TextDelta(letter, choice) for letter in letters]


def call(key: int, arguments: str, choice: int = 0) -> list[Event]:
    opener = ToolCallDelta(key, key, name=f"f{key}", choice=choice)
    return [opener, *(ToolCallDelta(key, arguments=letter, choice=choice) for letter in arguments)]


def woven(*runs: list[Event]) -> list[Event]:
    found: list[Event] = []
    for at in range(max(map(len, runs))):
        found.extend(run[at] for run in runs if at < len(run))
    return found


def test_one_choice_is_passed_on_at_once() -> None:
    events = [
        *text("ab"),
        ReasoningDelta("x"),
        *call(0, "{}"),
        *call(1, "{}"),
        Usage(1, 2, 3),
        Finish("stop"),
        *text("z"),
    ]
    for upto in range(len(events)):
        assert shown(*events[:upto], end=False) == events[:upto]


def test_the_second_choice_waits_for_the_first() -> None:
    first, second = [*text("abc"), Finish("stop")], [*text("123", 1), Finish("stop", 1)]
    assert shown(*woven(first, second), end=False) == first + second


def test_the_second_choice_goes_on_live_when_the_first_is_done() -> None:
    events = [*text("a"), *text("1", 1), Finish("stop"), *text("2", 1)]
    assert shown(*events, end=False) == [*text("a"), Finish("stop"), *text("12", 1)]


def test_without_a_finish_all_comes_at_the_end() -> None:
    assert shown(*woven(text("ab"), text("12", 1)), end=False) == text("ab")
    assert shown(*woven(text("ab"), text("12", 1))) == text("ab") + text("12", 1)


def test_interleaved_calls_are_shown_one_after_the_other() -> None:
    first, second, third = call(0, '{"a":1}'), call(1, '{"b":2}'), call(2, '{"c":3}')
    assert shown(*woven(first, second, third), end=False) == first + second + third


def test_a_call_that_never_closes_holds_the_next_one_until_something_else_comes() -> None:
    events = [*call(0, '{"a'), *call(1, "{}")]
    assert shown(*events, end=False) == events[:4]
    assert shown(*events, Finish("length"), end=False) == [*events, Finish("length")]


def test_a_round_hands_out_what_waits_and_a_restart_drops_it() -> None:
    waiting = woven(text("a"), text("1", 1))
    assert shown(*waiting, RoundStarted(2), end=False) == [*text("a"), *text("1", 1), RoundStarted(2)]
    assert shown(*waiting, Restarted()) == [*text("a"), Restarted()]


def test_what_belongs_to_no_choice_goes_through() -> None:
    assert shown(*text("a"), *text("1", 1), Gap(3), end=False) == [*text("a"), Gap(3)]


@given(
    st.lists(
        st.one_of(
            st.builds(TextDelta, st.text(min_size=1), st.integers(0, 2)),
            st.builds(Finish, st.just("stop"), st.integers(0, 2)),
            st.builds(ToolCallDelta, st.integers(0, 2), arguments=st.sampled_from('{}a"'), choice=st.integers(0, 2)),
            st.builds(Usage, st.integers()),
        )
    )
)
def test_nothing_is_lost_and_each_voice_keeps_its_order(events: list[Event]) -> None:
    def voice(event: Event) -> object:
        return type(event), getattr(event, "choice", None), getattr(event, "key", None)

    seen = shown(*events)
    assert len(seen) == len(events)
    for which in map(voice, events):
        assert [event for event in seen if voice(event) == which] == [
            event for event in events if voice(event) == which
        ]


def test_calls_may_come_as_they_come() -> None:
    seen: list[Event] = []
    turns = Turns(seen.append, calls=False)
    events = woven(call(0, '{"a":1}'), call(1, '{"b":2}'))
    for event in events:
        turns.add(event)
    assert seen == events
    assert turns.waiting == 0
