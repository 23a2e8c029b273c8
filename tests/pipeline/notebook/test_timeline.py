"""The timeline: its items, its picture, and what it sends to the views of it."""

from __future__ import annotations

import msgspec
import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex.disposable import Disposable

from operators import (
    AudioDelta,
    Event,
    Finish,
    Gap,
    LogprobsDelta,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Retrying,
    RoundStarted,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    TruncatedError,
    Unknown,
    Usage,
)
from pipeline import collect, completion, record
from pipeline.notebook import _items, _timeline, show, timeline
from pipeline.notebook._items import COLORS, Items, Lane
from pipeline.notebook._picture import picture
from tests.pipeline.notebook.cells import WIDGET, latest
from tests.pipeline.notebook.hostile import ATTACKS, assert_still
from tests.pipeline.wire import ANSWER, WireServer

CALL = ToolCall(key=0, index=0, id="a", name="find", arguments='{"q": 1}', complete=True)
EVENTS: list[Event] = [
    Started(id="c1", model="m", role="assistant"),
    ReasoningDelta("Hm"),
    TextDelta("Hi"),
    TextDelta("two", choice=1),
    RefusalDelta("no"),
    AudioDelta(id="x", data="", transcript="la", expires_at=None),
    ToolCallDelta(key=0, index=0, id="a", name="find", arguments='{"q"'),
    CALL,
    Finish("tool_calls"),
    Usage(3, None, None),
    ToolResult(call=CALL, content="found", error=None),
    ToolResult(call=CALL, content="", error="lost"),
    RoundStarted(2),
    ToolCallDelta(key=0, index=0, id="b", name="", arguments=""),
    Retrying(2, 0.5, "it broke"),
    Restarted(),
    Gap(7),
    LogprobsDelta(content=[], refusal=None),
    Unknown(b"?"),
]
SVG = "{http://www.w3.org/2000/svg}"


def items(*events: Event) -> Items:
    made = Items()
    for number, event in enumerate(events):
        made.add(number / 10, event)
    return made


def test_each_event_has_a_lane_a_name_and_a_text():
    made = items(*EVENTS)
    told = [(made.lanes[item.lane].name, item.event, item.text, item.grows) for item in made.all]
    assert told[:15] == [
        ("events", "Started", "m", False),
        ("reasoning", "ReasoningDelta", "Hm", True),
        ("text", "TextDelta", "Hi", True),
        ("text [1]", "TextDelta", "two", True),
        ("refusal", "RefusalDelta", "no", True),
        ("audio", "AudioDelta", "la", True),
        ("find", "ToolCallDelta", '{"q"', True),
        ("find", "ToolCall", 'find({"q": 1})', False),
        ("events", "Finish", "tool_calls", False),
        ("events", "Usage", "3 tokens in, ? out", False),
        ("result", "ToolResult", "found", False),
        ("result", "ToolResult", "lost", False),
        ("events", "RoundStarted", "round 2", False),
        ("call", "ToolCallDelta", "", True),
        ("events", "Retrying", "attempt 2 in 0.50 s: it broke", False),
    ]
    assert made.lanes.count(Lane("call", "find")) == 1
    assert {lane.kind for lane in made.lanes} <= set(COLORS)


@pytest.mark.parametrize(
    ("error", "mark", "lane", "text"),
    [
        (TruncatedError("it ended"), "", Lane("error", "end"), "error: it ended (truncated)"),
        (None, "stopped", Lane("cut", "end"), "stopped"),
    ],
)
def test_how_it_ended_has_a_lane(error, mark, lane, text):
    made = items(TextDelta("a"))
    made.end(error, mark)
    assert made.lanes[-1] == lane
    assert made.all[-1].text == text


def test_a_stream_that_completed_has_no_such_lane():
    made = items(TextDelta("a"))
    made.end(None, "")
    assert len(made.all) == 1
    assert made.ended


def test_no_more_than_so_many_are_kept(monkeypatch):
    monkeypatch.setattr(_items, "MOST", 2)
    assert len(items(*EVENTS).all) == 2


def test_what_has_no_json_is_told_by_its_name(monkeypatch):
    monkeypatch.setattr(msgspec.json, "encode", lambda *_, **__: 1 / 0)
    assert items(Unknown(b"?")).all[0].text == "Unknown"


@given(
    st.lists(st.sampled_from(ATTACKS).map(TextDelta) | st.text().map(TextDelta) | st.sampled_from(EVENTS), max_size=9)
)
def test_its_picture_is_sound_and_runs_nothing(events):
    made = items(*events)
    assert_still(picture(made.all, made.lanes))


def test_a_tool_may_be_called_anything():
    made = items(ToolCallDelta(key=0, index=0, id="a", name='<script>"&\x1b[31m' + "x" * 99, arguments=""))
    root = assert_still(picture(made.all, made.lanes))
    assert next(text.text for text in root.iter(f"{SVG}text")) == '<script>"&␛[31mxx…'


def test_what_falls_on_one_pixel_is_one_mark():
    made = Items()
    for number in range(20_000):
        made.add(number / 10_000, TextDelta("x"))
    svg = picture(made.all, made.lanes)
    assert svg.count("<rect") < 700
    assert "(+" in svg


# ------------------------------------------------------------------------------------------------------------ the widget


def sent(cells):
    """What went to the views."""
    found = (m["content"]["data"] for m in cells.messages if m["msg_type"] == "comm_msg")
    return [data["content"] for data in found if data["method"] == "custom"]


def test_it_is_shown_as_a_picture_that_stays_and_as_a_widget(cells):
    [still, live] = cells.run(
        "timeline(pairs)", timeline=timeline, pairs=[(0.1, TextDelta("Hi")), (0.2, Finish("stop"))]
    )
    assert still.plain == "<timeline: 2 events in 0.20 s: text, events>"
    assert still.data["image/svg+xml"].startswith("<svg")
    assert WIDGET in live.data
    assert live.plain == ""


def test_a_view_that_asks_is_sent_all_of_it(cells, monkeypatch):
    monkeypatch.setattr(_timeline, "_BATCH", 2)
    pairs = [(number / 10, TextDelta(str(number))) for number in range(5)]
    cells.run("shown = timeline(pairs)\nshown", timeline=timeline, pairs=pairs)
    cells.run("said(0, {'ask': 0})", said=cells.said)
    told = sent(cells)
    assert [message["from"] for message in told] == [0, 2, 4]
    assert [item[3] for message in told for item in message["items"]] == list("01234")
    assert told[0]["lanes"] == [["text", "text", COLORS["text"]]]
    assert [message["ended"] for message in told] == [True] * 3
    assert told[0]["pictured"] is True


@pytest.mark.parametrize("junk", ["ask", None, {}, {"ask": "0"}, {"ask": None}, [1], {"ask": -5}, {"ask": 10**9}])
def test_whatever_a_view_says_does_no_harm(cells, junk):
    cells.run("shown = timeline(pairs)\nshown", timeline=timeline, pairs=[(0.1, TextDelta("Hi"))])
    shown = cells.run("said(0, junk)", said=cells.said, junk=junk)
    assert [one.kind for one in shown] == []


def test_it_is_drawn_while_a_stream_runs_and_its_picture_stays(cells):
    def subscribe(observer, scheduler=None):
        for event in EVENTS:
            observer.on_next(event)
        cells.said(0, {"ask": 0})
        observer.on_completed()
        return Disposable()

    shown = cells.run("show(stream, timeline=True, stop=False)", show=show, stream=reactivex.create(subscribe))
    told = sent(cells)
    assert len(told[-1]["items"]) + told[-1]["from"] == len(EVENTS)
    assert told[-1]["pictured"] is False
    assert list(shown[1].data) == ["image/svg+xml", "text/plain"]


def test_it_can_be_made_of_an_answer_that_was_cut_or_broke(cells):
    cells.run("a = show(stream)", show=show, stream=reactivex.throw(TruncatedError("it ended")))
    [still, _] = cells.run("timeline(a)", timeline=timeline)
    assert ">end<" in still.data["image/svg+xml"]
    assert "it ended" in still.data["image/svg+xml"]


def test_of_an_answer_that_still_runs_it_shows_what_has_come(cells):
    def subscribe(observer, scheduler=None):
        observer.on_next(TextDelta("some"))
        shown = timeline(latest())
        assert not shown.items.ended
        assert len(shown.items.all) == 1
        observer.on_completed()
        return Disposable()

    cells.run("show(stream)", show=show, stream=reactivex.create(subscribe))


def test_it_can_be_made_of_a_recording(tmp_path):
    path = tmp_path / "one.rec"
    with WireServer(lambda call: call.answer(ANSWER)) as server, record(path):
        completion({"model": "m", "messages": []}, base_url=server.url, api_key="").subscribe(collect())
    made = timeline(path)
    assert "".join(item.text for item in made.items.all if item.event == "TextDelta") == "Hello"
    assert made.items.ended
