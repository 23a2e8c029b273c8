"""text(): Event → str."""

from __future__ import annotations

from operators import ConnectionLost, Finish, Message, Restarted, RoundStarted, TextDelta, text
from tests.support import Way


def test_the_whole_text_of_one_choice_on_completion(each_way: Way) -> None:
    """Nothing of another choice, nothing of other events; an empty text if there was none."""
    events = [TextDelta("H"), TextDelta("x", 1), TextDelta("i"), Finish("stop")]
    assert each_way.run(events, text()).values == ["Hi"]
    assert each_way.run(events, text(choice=1)).values == ["x"]
    assert each_way.run([], text()).values == [""]
    assert each_way.run(events, text(), end=None).values == []


def test_of_a_conversation_it_is_the_last_round(each_way: Way) -> None:
    """And nothing that a restart has made void."""
    assert each_way.run([TextDelta("1"), RoundStarted(2), TextDelta("2")], text()).values == ["2"]
    assert each_way.run([TextDelta("1"), Restarted(), TextDelta("2")], text()).values == ["2"]


def test_a_broken_stream_has_no_text(each_way: Way) -> None:
    """Its error is passed on, with the text that came; what a stage above has kept already is left as it is."""
    gone = ConnectionLost("gone")
    seen = each_way.run([TextDelta("1"), TextDelta("2")], text(), end=gone)
    assert (seen.values, seen.end, gone.partial) == ([], gone, (Message(text="12"),))
    each_way.run([TextDelta("x")], text(), end=gone)
    assert gone.partial == (Message(text="12"),)
