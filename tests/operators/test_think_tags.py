"""think_tags(): reasoning between tags, cut anywhere."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators import (
    ConnectionLost,
    Finish,
    LogprobsDelta,
    ReasoningDelta,
    Restarted,
    RoundStarted,
    Started,
    TextDelta,
    ToolCallDelta,
    ToolResult,
    Usage,
)
from operators._events import ToolCall
from operators._think_tags import think_tags
from tests.support import WAYS, Way

WAY = WAYS[0]


def split(*texts: object, end: object = "completed", **options: object) -> list[object]:
    events = [TextDelta(text) if isinstance(text, str) else text for text in texts]
    return list(WAY.run(events, think_tags(**options), end=end).values)  # type: ignore[arg-type]


def said(events: list[object]) -> tuple[str, str]:
    """All reasoning, all text."""
    return (
        "".join(event.text for event in events if isinstance(event, ReasoningDelta)),
        "".join(event.text for event in events if isinstance(event, TextDelta)),
    )


R, T = ReasoningDelta, TextDelta

SHAPES = [
    pytest.param("<think>hm</think>Hi", "hm", "Hi", id="plain"),
    pytest.param("<think>\nhm\n</think>\n\nHi\n", "hm", "Hi\n", id="the line breaks of the templates"),
    pytest.param("<think>\r\nhm\r\n</think>\r\n\r\nHi", "hm", "Hi", id="the same with CRLF"),
    pytest.param("<think>\n\n</think>\n\nHi", "", "Hi", id="empty reasoning"),
    pytest.param("<think></think>", "", "", id="nothing at all"),
    pytest.param(" \n<think>hm</think> Hi", "hm", " Hi", id="white space before the tag goes, a blank after it stays"),
    pytest.param(" \n Hi", "", " \n Hi", id="white space before an answer stays"),
    pytest.param("<think>a\n\nb\n\n</think>c", "a\n\nb\n", "c", id="one line break belongs to the closing tag"),
    pytest.param(
        "<think>1 < 2 </thin> </ think></think>3 > <b>2", "1 < 2 </thin> </ think>", "3 > <b>2", id="near misses"
    ),
    pytest.param("<think>a<think>b</think>c</think>d", "a<think>b", "c</think>d", id="an inner tag is reasoning"),
    pytest.param("Say <think>a</think>", "", "Say <think>a</think>", id="an answer that speaks of tags"),
    pytest.param("<thinking>a</thinking>", "", "<thinking>a</thinking>", id="another tag"),
    pytest.param("<think>hm</think>Hi<think>ho</think>", "hm", "Hi<think>ho</think>", id="a second pair is text"),
    pytest.param("<think>sum of it </thi", "sum of it </thi", "", id="unclosed"),
    pytest.param("<think>sum\n", "sum\n", "", id="unclosed after a line break"),
    pytest.param("<thi", "", "<thi", id="ends within the opening tag"),
    pytest.param(" ", "", " ", id="nothing but a blank"),
]


@pytest.mark.parametrize(("whole", "reasoning", "text"), SHAPES)
def test_every_cut_gives_the_same(whole: str, reasoning: str, text: str) -> None:
    for size in range(1, len(whole) + 1):
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
        assert said(split(*pieces, Finish("stop"))) == (reasoning, text), size
    for first, second in itertools.combinations(range(len(whole)), 2):
        assert said(split(whole[:first], whole[first:second], whole[second:])) == (reasoning, text)


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "</", "\n", "\r", "a", " "]), max_size=12), st.data())
def test_any_text_any_cut(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts)
    options = {"anywhere": data.draw(st.booleans()), "opened": data.draw(st.booleans())}
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=6).map(sorted))
    edges = [0, *places, len(whole)]
    pieces = [whole[start:end] for start, end in itertools.pairwise(edges) if start < end]
    events = split(*pieces, **options)
    assert said(events) == said(split(whole, **options))
    assert all(event.text for event in events)  # type: ignore[attr-defined]


def test_fused_and_unfused(each_way: Way) -> None:
    seen = each_way.run([T("<think>h"), T("m</thi"), T("nk>Hi"), Finish("stop")], think_tags())
    assert seen.values == [R("h"), R("m"), T("Hi"), Finish("stop")]
    assert seen.completed


def test_only_what_may_be_a_tag_is_held_back() -> None:
    assert split("a <", "b") == [T("a <"), T("b")]
    assert split("<", "b") == [T("<b")]
    assert split("<think>a", "b <", "c</", "d") == [R("a"), R("b "), R("<c"), R("</d")]
    assert split("<think>a</think>", "b <", "think>") == [R("a"), T("b <"), T("think>")]


def test_text_after_the_start_passes_as_it_is() -> None:
    delta = T("more")
    assert split("Hi", delta)[1] is delta


def test_a_flood_of_white_space_is_no_reason_to_hold_on() -> None:
    assert split(" " * 200, " " * 100, "<think>") == [T(" " * 300), T("<think>")]
    assert split(" " * 300 + "<think>") == [T(" " * 300 + "<think>")]


@pytest.mark.parametrize(
    "event",
    [
        Finish("stop"),
        ToolCallDelta(0, name="f"),
        R("more"),
        ToolResult(ToolCall(0, 0, "c", "f", "", complete=True), "1"),
    ],
)
def test_what_is_held_comes_before_what_follows_it(event: object) -> None:
    assert split("<think>a </", event) == [R("a "), R("</"), event]
    assert split("<th", event, "ink>") == [T("<th"), event, T("ink>")]


@pytest.mark.parametrize("event", [Usage(1, 2, 3), LogprobsDelta([{}]), Started("id")])
def test_what_comes_with_any_chunk_cuts_no_tag(event: object) -> None:
    assert split("<thi", event, "nk>a</th", event, "ink>b") == [event, R("a"), event, T("b")]


def test_each_choice_by_itself() -> None:
    events = [T("<thi"), T("<think>x", 1), T("nk>a</"), Finish("stop", 1), T("b", 1), T("think>c")]
    assert split(*events) == [R("x", 1), R("a"), Finish("stop", 1), R("b", 1), T("c")]


def test_an_error_comes_after_what_is_held() -> None:
    lost = ConnectionLost("gone")
    seen = WAY.run([T("<think>a</thi")], think_tags(), end=lost)
    assert said(seen.values) == ("a</thi", "")
    assert seen.end is lost


def test_a_round_flushes_and_begins_afresh() -> None:
    assert split("<think>a</", RoundStarted(2), "<think>b</think>c") == [
        R("a"),
        R("</"),
        RoundStarted(2),
        R("b"),
        T("c"),
    ]


def test_a_restart_makes_void_what_is_held() -> None:
    assert split("<think>a</", Restarted(), "Hi") == [R("a"), Restarted(), T("Hi")]


def test_the_tag_may_stand_in_the_prompt() -> None:
    assert said(split("\nhm", "\n</think>\n\nHi", opened=True)) == ("hm", "Hi")
    assert said(split("<think>\nhm</think>Hi", opened=True)) == ("hm", "Hi")
    assert said(split("hm", opened=True)) == ("hm", "")


def test_anywhere() -> None:
    assert said(split("a\n<thi", "nk>b</think>\nc <", "think>d", anywhere=True)) == ("bd", "a\nc ")
    assert split("a <", "b", anywhere=True) == [T("a "), T("<b")]


def test_other_tags() -> None:
    assert said(split("[THI", "NK]a[/THINK]b", open="[THINK]", close="[/THINK]")) == ("a", "b")


@pytest.mark.parametrize("tags", [("", "</think>"), ("<think>", "")])
def test_an_empty_tag_is_refused_at_the_call(tags: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="not empty"):
        think_tags(*tags)
