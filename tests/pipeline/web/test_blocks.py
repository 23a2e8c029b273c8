"""What an answer is made of, as events come."""

from __future__ import annotations

from operators import (
    ApiError,
    AudioDelta,
    Event,
    Finish,
    Gap,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Retrying,
    RoundStarted,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
)
from pipeline.web._blocks import MOST, Blocks, Span

CALL = ToolCall(0, 0, "a", "f", '{"x": 1}', complete=True)


def made(*events: Event, room: int = 1000, secrets: tuple[str, ...] = ()) -> Blocks:
    blocks = Blocks(room, secrets)
    for event in events:
        blocks.add(event)
    return blocks


def texts(blocks: Blocks) -> list[tuple[str, str]]:
    return [(block.kind, block.text.part(0, 1000)) for block in blocks.all]


def test_runs_of_one_kind_are_one_block_each_in_the_order_in_which_they_opened() -> None:
    blocks = made(ReasoningDelta("a"), ReasoningDelta("b"), TextDelta("c"), ReasoningDelta("d"), RefusalDelta("e"))
    assert texts(blocks) == [("reasoning", "ab"), ("text", "c"), ("reasoning", "d"), ("refusal", "e")]


def test_choices_that_come_interleaved_have_a_block_each() -> None:
    blocks = made(TextDelta("a", 0), TextDelta("1", 1), TextDelta("b", 0), TextDelta("2", 1))
    assert [(block.choice, block.text.part(0, 9)) for block in blocks.all] == [(0, "ab"), (1, "12")]


def test_calls_grow_by_their_key_and_get_their_result() -> None:
    blocks = made(
        ToolCallDelta(0, 0, "a", "f"),
        ToolCallDelta(1, 1, "b", "g"),
        ToolCallDelta(0, arguments='{"x": '),
        ToolCallDelta(1, arguments="{}"),
        ToolCallDelta(0, arguments="1}"),
        CALL,
        ToolResult(CALL, "done", None),
        TextDelta("so"),
    )
    assert texts(blocks) == [("call", '{"x": 1}'), ("call", "{}"), ("result", "done"), ("text", "so")]
    first, second, result, _ = blocks.all
    assert first.facts == {"name": "f", "id": "a", "complete": True}
    assert second.facts["complete"] is None
    assert result.facts == {"call": first.id, "name": "f", "error": None}


def test_a_call_that_comes_whole_is_one_too() -> None:
    assert texts(made(CALL)) == [("call", '{"x": 1}')]


def test_what_nobody_completed_has_ended_with_its_round() -> None:
    blocks = made(
        ToolCallDelta(0, 0, "a", "f", "{}"), Finish("tool_calls"), RoundStarted(2), ToolCallDelta(0, 0, "b", "f")
    )
    assert [block.facts.get("ended") for block in blocks.all] == [True, None, None]
    blocks.end(None)
    assert blocks.all[2].facts["ended"]


def test_what_came_before_a_restart_is_void() -> None:
    blocks = made(TextDelta("old"), RoundStarted(2), TextDelta("void"), Restarted(), TextDelta("new"))
    assert [block.facts.get("void", False) for block in blocks.all] == [False, True, True, False, False]
    assert texts(blocks)[-1] == ("text", "new")


def test_retries_gaps_and_the_error_are_said_plainly_and_without_secrets() -> None:
    blocks = made(
        Retrying(2, 0.5, "401, sent as Bearer abc"), Gap(12), AudioDelta("a", "AAAA", "spoken"), AudioDelta("a", "AAAA")
    )
    blocks.end(ApiError("bad key: hunter2", code="sk-12345678", status=401))
    said = texts(blocks)
    assert said[0] == ("retry", "Attempt 2 in 0.5 s, because of: 401, sent as Bearer ***")
    assert said[1][1].startswith("12 events were left out")
    assert said[2] == ("audio", "spoken")
    assert blocks.all[-1].facts == {"kind": "api", "status": "401", "code": "***"}


def test_a_secret_in_the_answer_is_hidden_also_over_cuts_and_nothing_stays_held_back() -> None:
    blocks = made(
        TextDelta("my hun"), TextDelta("ter2 and hun"), ReasoningDelta("hunt"), TextDelta("h"), secrets=("hunter2",)
    )
    blocks.end(None)
    assert texts(blocks) == [("text", "my ******* and hun"), ("reasoning", "hunt"), ("text", "h")]


def test_it_says_where_a_text_went() -> None:
    blocks = Blocks(1000)
    assert blocks.add(TextDelta("🌤")) == Span(0, 0, 2)
    assert blocks.add(TextDelta("a")) == Span(0, 2, 1)
    assert blocks.add(Finish("stop")) is None


def test_the_number_of_blocks_and_the_text_are_bounded() -> None:
    blocks = Blocks(room=50)
    for at in range(2 * MOST):
        blocks.add(TextDelta("text", at))
        blocks.add(ReasoningDelta("thought", at))
        blocks.add(ToolCallDelta(at, at, "a", "f", "{}"))
    assert len(blocks.all) <= MOST
    assert sum(len(block.text) for block in blocks.all) == 50
    assert sum(block.came for block in blocks.all) == 2 * MOST * 13
