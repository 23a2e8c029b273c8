"""The tool calls whose arguments go past a chain."""

from __future__ import annotations

import json

from operators import ToolCallDelta
from operators._plain_calls import Place, PlainCalls

PLACE = (0, 0)


def follow(calls: PlainCalls, place: Place, delta: ToolCallDelta) -> bool:
    calls.tell(delta)
    return calls.follow(place, delta)


def following(arguments: str) -> PlainCalls:
    calls = PlainCalls()
    assert follow(calls, PLACE, ToolCallDelta(0, 0, "call_1", "f", arguments, 0))
    return calls


def test_what_is_owed_is_paid_once_as_one_event_of_each_call() -> None:
    calls = following("")
    assert follow(calls, (0, 1), ToolCallDelta(1, 1, "call_2", "g", "", 0))
    for text in ('{"a":', '"x'):
        assert not calls.would_be_whole(PLACE, text)
        assert calls.owe(PLACE, text) == (0, "call_1")
    calls.owe((0, 1), "[")
    assert calls.owed == len('{"a":"x[')
    said = [json.loads(event.removeprefix(b"data: "))["choices"][0]["delta"]["tool_calls"][0] for event in calls.paid()]
    assert said == [
        {"index": 0, "function": {"arguments": '{"a":"x'}},
        {"index": 1, "function": {"arguments": "["}},
    ]
    assert (calls.owed, list(calls.paid())) == (0, [])


def test_what_makes_a_call_whole_is_known_after_all_was_paid() -> None:
    calls = following('{"a":"')
    calls.owe(PLACE, "}")
    assert not calls.would_be_whole(PLACE, "}")
    assert len(list(calls.paid())) == 1
    assert calls.would_be_whole(PLACE, '"}')


def test_nothing_is_kept_of_what_was_paid() -> None:
    calls = following('{"a":"')
    calls.owe(PLACE, "b")
    list(calls.paid())
    call = calls._calls[PLACE]
    assert (call.owed, call._unread) == ([], [])


def test_pieces_that_close_nothing_do_not_pile_up() -> None:
    calls = following('{"a":"')
    for _ in range(1000):
        assert not calls.would_be_whole(PLACE, "b")
    assert len(calls._calls[PLACE]._unread) < 300
    assert calls.would_be_whole(PLACE, '"}')


def test_a_call_is_followed_from_its_first_piece_on_until_it_is_whole() -> None:
    calls = PlainCalls()
    assert follow(calls, PLACE, ToolCallDelta(0, 0, None, "", "{", 0))
    assert follow(calls, PLACE, ToolCallDelta(0, 0, None, "f", '"a":1', 0))
    assert follow(calls, PLACE, ToolCallDelta(0, 0, "late", "", " ", 0))
    assert calls.owe(PLACE, " ") == (0, "late")
    assert not follow(calls, PLACE, ToolCallDelta(0, 0, None, "", "}", 0))
    assert not follow(calls, PLACE, ToolCallDelta(0, 0, None, "f", "{", 0)), "its depth is not known any more"
    assert follow(calls, PLACE, ToolCallDelta(1, 0, None, "", "{", 0))


def test_a_call_whose_first_piece_was_not_followed_never_is() -> None:
    """Its name may come late: that is no sign that it begins."""
    calls = PlainCalls()
    calls.tell(ToolCallDelta(0, 0, "call_1", "", '{"a":', 0))
    assert not follow(calls, PLACE, ToolCallDelta(0, 0, None, "f", "", 0))
    assert follow(calls, (1, 0), ToolCallDelta(0, 0, None, "f", "", 1)), "the keys of each choice count for themselves"
