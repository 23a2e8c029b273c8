"""The picture of what a probe has seen."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest
import reactivex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reactivex import Observable, Subject
from reactivex import operators as ops
from reactivex.scheduler import VirtualTimeScheduler

from operators import (
    ConnectionLost,
    Finish,
    Message,
    ProtocolError,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    chunks,
    current_spy,
    deltas,
    lines,
    message,
    payloads,
    sse,
    tool_calls,
)
from pipeline import Retry, completion, decode, replay, run_tools
from pipeline.probing import Marbles, Probe, probe
from pipeline.probing._looks import DARKENED, THEMES, label, look
from pipeline.probing._preview import preview
from pipeline.probing._seen import Item
from pipeline.probing._svg import WIDTH
from tests.operators.test_laws import passed, summed, twice
from tests.pipeline.probing.streams import played, recorded, timed
from tests.support import Cold, Seen, body_of, chunk

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {SVG + name for name in ("svg", "g", "rect", "path", "circle", "text", "tspan", "title", "style")}
ATTRIBUTES = {
    *("width", "height", "viewBox", "role", "aria-label", "class", "style", "x", "y", "dx", "cx", "cy", "r", "rx", "d"),
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap"),
    *("font-family", "font-size", "font-weight", "text-anchor", "{http://www.w3.org/XML/1998/namespace}space"),
}
UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def words(count: int) -> list[bytes]:
    """A text of so many words, one a read, and its end."""
    said = [chunk({"content": f"word{number} "}) for number in range(count)]
    return [event + b"\n\n" for event in body_of(*said, chunk(finish="stop")).split(b"\n\n") if event]


def parsed(svg: str) -> ET.Element:
    """The picture, well formed and made of nothing but shapes and words."""
    root = ET.fromstring(svg)
    for element in root.iter():
        assert element.tag in ELEMENTS
        assert set(element.attrib) <= ATTRIBUTES
        assert "url(" not in str(element.attrib)
    assert UNSEEN.search(svg) is None
    return root


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in parsed(svg).iter(SVG + "text")]


def tooltips(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter(SVG + "title")]


def drawn(seen: Probe, **options: Any) -> str:
    return seen.marbles(**options).svg()


# ----------------------------------------------------------------------------------- what it shows


def test_the_rows_are_the_stages_from_bytes_to_tool_calls() -> None:
    """In the order of the flow, with their counts; what emits just the same stands beside its like."""
    seen = played(timed(recorded("two_calls")).pipe(lines(), sse(), payloads(), chunks(), deltas(), tool_calls()))
    told = texts(drawn(seen))
    stages = ["reads", "lines()", "sse()", "payloads()", "chunks()", "deltas()", "tool_calls()"]
    assert [text for text in told if text in stages] == stages
    same = texts(drawn(played(timed(words(3)).pipe(decode(), tool_calls()))))
    assert "tool_calls()" not in same
    assert any(text.endswith("= tool_calls") for text in same)


def test_stages_can_be_chosen() -> None:
    """By name; all of them; one alone; threads pass those that are not drawn."""
    seen = played(timed(words(3)).pipe(decode(), tool_calls()))
    told = texts(drawn(seen, stages=["reads", "deltas"]))
    assert "reads" in told
    assert "deltas()" in told
    assert "lines()" not in told
    assert "tool_calls()" in texts(drawn(seen, stages="all"))
    assert "reads" not in texts(drawn(seen, stages="deltas"))
    (made,) = [row.given for row in seen.explain().rows if row.stage.startswith("deltas(")]
    assert drawn(seen, stages=["reads", "deltas"]).count('stroke-opacity="0.45"') == made == 5


def test_marbles_say_what_they_are() -> None:
    """A label if there is room, and always a tooltip with the type, the time, the size and the text."""
    svg = drawn(played(timed(words(2)).pipe(decode())))
    assert {"word0 ", "word1 ", "stop"} <= set(texts(svg))
    assert "TextDelta at 0, 6 B\nword0 " not in tooltips(svg)
    assert "TextDelta at 50 ms, 6 B\nword0 " in tooltips(svg)


def test_a_stall_is_a_band_that_says_how_long() -> None:
    """A wait much longer than the others; from a second on in the colour of a warning."""
    for wait, band in ((3.0, THEMES["light"].stall_band), (0.9, THEMES["light"].gap_band)):
        svg = drawn(played(timed(words(8), stall=(4, wait - 0.03)).pipe(decode())))
        assert any(tip.startswith("nothing for ") for tip in tooltips(svg))
        assert f'fill="{band}"' in svg


def test_tool_calls_are_bars_that_fill_up() -> None:
    """With name and arguments; one whose end never came is dashed."""
    seen = played(timed(recorded("two_calls")).pipe(decode(), tool_calls()))
    tips = [tip for tip in tooltips(drawn(seen)) if "pieces" in tip]
    assert [tip.splitlines()[:2] for tip in tips] == [
        ["get_weather", '{"city":"Paris"}'],
        ["get_weather", '{"city":"Zürich"}'],
    ]
    assert all(tip.endswith("whole") for tip in tips)
    cut = drawn(played(timed(recorded("two_calls")[:8]).pipe(decode(), tool_calls())))
    assert any(tip.endswith("never whole") for tip in tooltips(cut))
    assert 'stroke-dasharray="4 3"' in cut


def test_a_bar_starts_afresh_in_a_new_round_and_shows_how_its_tool_ran() -> None:
    """Three calls of one key in three rounds are three bars; what failed is said, and what still runs."""
    piece = {"index": 0, "id": "c", "function": {"name": "now", "arguments": "{}"}}
    body = body_of(chunk({"tool_calls": [piece]}), chunk(finish="tool_calls"))
    bodies = [body, body, body_of(chunk({"content": "done"}, "stop"))]
    pictures: list[str] = []

    def now() -> str:
        pictures.append(drawn(seen))
        if len(pictures) == 2:
            raise ValueError("no clock")
        return "noon"

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=bodies.pop(0), headers={"content-type": "text/event-stream"})

    with httpx.Client(transport=httpx.MockTransport(answer)) as client, probe() as seen:
        run_tools({"model": "m", "messages": []}, [now], client=client, base_url="http://x").subscribe(Seen())
    assert "still running" in texts(pictures[0])
    svg = drawn(seen)
    assert sum(tip.startswith("now\n") for tip in tooltips(svg)) == 2
    assert any("ValueError" in text for text in texts(svg))
    assert {"round 1", "round 2", "round 3"} <= set(texts(svg))


@pytest.mark.parametrize(
    ("stream", "state", "tip"),
    [
        (timed(words(2)).pipe(decode()), "completed", "completed at "),
        (timed(words(2)[:2]).pipe(decode()), "broken (truncated)", "truncated at "),
        (timed(words(2)[:2], failure=ConnectionLost("reset")).pipe(decode()), "broken (connection)", "connection at "),
        (timed(words(2)).pipe(decode(), ops.take(1)), "left after", "left by who was below at "),
    ],
)
def test_the_end_is_told(stream: Any, state: str, tip: str) -> None:
    """In the title, and where it happened."""
    svg = drawn(played(stream))
    assert any(text.startswith(state) for text in texts(svg))
    assert any(told.startswith(tip) for told in tooltips(svg))


def test_a_later_round_that_breaks_is_how_it_all_ended() -> None:
    """However well the rounds before it went; what they gave is counted together."""
    body = body_of(chunk({"content": "a"}), chunk(finish="stop"))
    with probe(clock=lambda: 0.0) as seen:
        for reads in ([body], [body[:60]]):
            replay(reads).pipe(decode()).subscribe(Seen())
    assert any(text.startswith("broken (truncated)") for text in texts(drawn(seen)))
    with probe(clock=lambda: 0.0) as seen:
        for reads in ([body[:60]], [body]):
            replay(reads).pipe(decode()).subscribe(Seen())
    assert any(text.startswith("completed2 reads") and text.endswith("3 items out") for text in texts(drawn(seen)))


def test_who_left_is_named() -> None:
    """A subscriber that raised, by the type of what it raised."""

    def divides(value: int) -> None:
        assert value / 0

    with probe() as seen, pytest.raises(ZeroDivisionError):
        Cold([1]).pipe(passed()).subscribe(divides)
    assert "left: ZeroDivisionError" in texts(drawn(seen))
    assert "left: ZeroDivisionError" in str(seen)


def test_a_stream_that_goes_on_ends_in_an_arrow() -> None:
    """And the title says so; a later picture shows more."""
    source: Subject[int] = Subject()
    with probe(clock=lambda: 0.0) as seen:
        source.pipe(passed()).subscribe(Seen())
    source.on_next(1)
    first = drawn(seen)
    assert any(text.startswith("running") for text in texts(first))
    assert "▷" in str(seen)
    source.on_next(2)
    assert drawn(seen).count("<circle") > first.count("<circle") or drawn(seen) != first


def test_a_stream_that_stands_still_shows_for_how_long() -> None:
    """Until now, by the clock: a stall that is not over is a band as well."""
    clock = VirtualTimeScheduler()
    with probe(clock=clock) as seen:
        timed(words(4), stall=(1, 9)).pipe(decode()).subscribe(Seen(), scheduler=clock)
        clock.advance_to(3.08)
    svg = drawn(seen)
    assert any(text.startswith("running, 3.08 s so far") for text in texts(svg))
    assert "nothing for 3.00 s" in tooltips(svg)


@pytest.mark.slow
def test_it_can_be_drawn_while_it_goes_on() -> None:
    """On another thread, which opens chains, emits and ends all the while."""

    def opened(number: int) -> Observable[int]:
        return reactivex.of(number).pipe(summed())

    def go_on(seen: Probe) -> None:
        with seen:
            for _ in range(10):
                Cold(range(20)).pipe(passed(), ops.flat_map(opened), twice()).subscribe(Seen())

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            seen = probe(limit=50)
            thread = threading.Thread(target=go_on, args=(seen,))
            thread.start()
            while thread.is_alive():
                parsed(drawn(seen))
                assert str(seen)
                assert seen.explain()._repr_html_()
            thread.join()
    finally:
        sys.setswitchinterval(usual)


def test_what_is_said_is_told_once() -> None:
    """Below marbles that have no room for it, however far apart they stand."""
    text = "".join(f"word{number} " for number in range(6)).strip()
    svg = drawn(played(timed(words(6), every=0.3).pipe(decode())), width=500)
    assert [told for told in texts(svg) if "word5" in told] == [text]


def test_an_attempt_that_failed_stands_before_the_one_that_counted() -> None:
    """On the same rows, each with its name, with room for the error between them."""
    statuses = [503, 200]

    def answer(_: httpx.Request) -> httpx.Response:
        content = body_of(chunk({"content": "ok"}, "stop"))
        return httpx.Response(statuses.pop(0), content=content, headers={"content-type": "text/event-stream"})

    with httpx.Client(transport=httpx.MockTransport(answer)) as client, probe() as seen:
        source = completion(
            {"model": "m", "messages": []}, client=client, base_url="http://x", retry=Retry(backoff=0.001)
        )
        source.pipe(message()).subscribe(Seen())
    places = {
        element.text: float(element.attrib["x"])
        for element in parsed(drawn(seen)).iter(SVG + "text")
        if element.text in {"503", "http", "200", "attempt 1", "attempt 2"}
    }
    assert sorted(places, key=places.__getitem__) == ["attempt 1", "503", "http", "attempt 2", "200"]
    text = str(seen)
    assert "attempt 1, attempt 2" in text
    assert "503" in text


def test_what_stock_operators_have_made_of_it_stands_below_them() -> None:
    """They are the edge between a row of ours and the next, with the threads across it."""
    seen = played(timed([b"a\n", b"bb\n"]).pipe(lines(), ops.map(len), summed()))
    assert "⋮ other operators" in texts(drawn(seen))
    assert "\n⋮\n" in str(seen)


def test_what_came_of_a_read_is_seen_past_stock_operators_above_the_chain() -> None:
    """If it came at the time of the read; what came later came of something else."""
    for between, linked in ((ops.map(bytes.upper), True), (ops.delay(0.5), False)):
        seen = played(timed([b"a\n", b"bb\n"]).pipe(between, lines()))
        (source,) = [strand for strand in seen.strands if strand.is_source]
        (chain,) = [strand for strand in seen.strands if not strand.is_source]
        reads = [item.seq for item in source.lanes[0].items]
        made = [item.cause for item in chain.lanes[0].items]
        if linked:
            assert made == reads
            assert seen.explain().rows[0].stage == "reads"
        else:
            assert chain.lanes[0].count == 2


def test_streams_that_run_side_by_side_have_rows_of_their_own() -> None:
    """A line parts them; too many are only counted."""
    with probe(clock=lambda: 0.0) as seen:
        for source in [Subject[int]() for _ in range(15)]:
            source.pipe(twice()).subscribe(Seen())
            source.on_next(1)
    assert drawn(seen).count('stroke-dasharray="1 4"') == 11
    assert "3 subscriptions left out" in str(seen)
    assert any(text.endswith("30 items out · 3 subscriptions left out") for text in texts(drawn(seen)))


def test_streams_that_run_at_once_stand_below_each_other() -> None:
    """Each from its reads down to what became of them."""
    clock = VirtualTimeScheduler()
    with probe(clock=clock) as seen:
        for _ in range(2):
            timed(words(2)).pipe(lines(), sse()).subscribe(Seen(), scheduler=clock)
        clock.start()
    names = ["reads", "lines()", "sse()"]
    assert [text for text in texts(drawn(seen, stages="all")) if text in names] == names * 2


# ----------------------------------------------------------------------------------- at any size


def test_few_items_have_words_many_are_grouped() -> None:
    """Ten can be read; two thousand keep the width, and each group says how many it is."""
    few, many = (drawn(played(timed(words(count), every=0.02).pipe(decode()))) for count in (10, 2000))
    assert texts(few).count("word9 ") == 1
    for svg in (few, many):
        assert float(parsed(svg).attrib["width"]) <= WIDTH
    assert len(many) < 400_000
    groups = [int(count) for tip in tooltips(many) for count in re.findall(r"(\d+) TextDelta", tip)]
    assert sum(groups) == 2000
    assert any("word0 word1" in text for text in texts(many))


def test_numbers_of_groups_stay_short() -> None:
    """Thousands are told as such."""
    svg = drawn(played(Cold(["x"] * 60_000).pipe(passed()), limit=60_000))
    assert any(re.fullmatch(r"\d\.\dk", text) for text in texts(svg))


def test_of_a_long_lane_the_ends_are_drawn_and_what_is_between_is_counted() -> None:
    """As many as were not kept."""
    seen = played(Cold(range(100)).pipe(passed()), limit=10)
    assert "90 more" in texts(drawn(seen))
    assert "…" in str(seen)


@pytest.mark.parametrize("width", [60, 480, 700, 2000])
def test_the_width_is_kept(width: int) -> None:
    """A narrow picture groups earlier; of less than 480 pixels none can be read."""
    seen = played(timed(words(120), every=0.02).pipe(decode()))
    assert float(parsed(drawn(seen, width=width)).attrib["width"]) <= max(width, 480) + 60
    text = str(seen.marbles(width=max(width, 80)))
    assert max(map(len, text.splitlines())) <= max(width, 80)


def test_the_same_stream_gives_the_same_picture() -> None:
    """To the byte."""
    pictures = {drawn(played(timed(recorded("two_calls")).pipe(decode(), tool_calls(), message()))) for _ in range(3)}
    assert len(pictures) == 1


# ----------------------------------------------------------------------------------- how it is shown


def test_it_shows_itself_as_svg_and_as_text() -> None:
    """A probe does as its marbles do."""
    seen = played(timed(words(2)).pipe(decode()))
    marbles = seen.marbles()
    assert isinstance(marbles, Marbles)
    assert marbles._repr_mimebundle_() == {"image/svg+xml": marbles.svg(), "text/plain": str(marbles)}
    assert seen._repr_mimebundle_(include=None) == marbles._repr_mimebundle_()
    assert repr(marbles) == f"<marbles of {seen!r}>"


def test_it_can_be_saved(tmp_path: Path) -> None:
    """As SVG or as text, by the name's end."""
    marbles = played(timed(words(2)).pipe(decode())).marbles()
    assert marbles.save(tmp_path / "x.svg").read_text("utf-8") == marbles.svg()
    assert marbles.save(str(tmp_path / "x.txt")).read_text("utf-8") == str(marbles)
    with pytest.raises(ValueError, match=r"x\.png"):
        marbles.save(tmp_path / "x.png")


def test_themes_are_light_dark_or_what_the_reader_prefers() -> None:
    """Where style sheets are dropped, auto is light; its style sheet touches pictures of its own kind alone."""
    seen = played(timed(words(2)).pipe(decode()))
    auto, light, dark = (drawn(seen, theme=theme) for theme in ("auto", "light", "dark"))
    style = re.compile(r"<style>.*</style>\n")
    assert style.sub("", auto).replace("rxmarbles-auto", "rxmarbles-light") == light
    assert style.search(light + dark) is None
    sheet = style.findall(auto)[0]
    colours = set(re.findall(r'(?:fill|stroke)="(#\w+)"', light))
    assert colours == set(re.findall(r'="(#\w+)"', sheet))
    assert all(rule.startswith(".rxmarbles-auto ") for rule in sheet.partition("{")[2].split("}")[:-2])
    for colour in colours:
        light = light.replace(f'="{colour}"', f'="{DARKENED[colour]}"')
    assert light.replace("rxmarbles-light", "rxmarbles-dark") == dark


def test_each_colour_has_one_that_stands_for_it_in_the_dark() -> None:
    """Or a style sheet could not tell them apart."""
    *plain, hues = THEMES["light"]
    assert len(DARKENED) == len(plain) + 2 * len(hues)


@pytest.mark.parametrize("options", [{"stages": ["nothing"]}, {"theme": "pink"}, {"width": 10}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    """With what would have been right."""
    with pytest.raises(ValueError, match=r"nothing.*deltas|light|60"):
        played(timed(words(1)).pipe(decode())).marbles(**options).svg()


def test_labels_get_shorter_with_the_room() -> None:
    """Words, then only what comes rarely, then none."""

    def labels(value: object) -> list[str]:
        said = preview(value)
        return [label(Item(1, 0, type(value).__name__, said.text, said.size, None, said.piece), at) for at in range(4)]

    call = ToolCall(0, 0, "i", "get_weather", "{}", complete=True)
    assert labels(TextDelta("hello")) == ["hello", "", "", ""]
    assert labels(ToolCallDelta(0, 0, "i", "", '{"city"')) == ['{"city"', '{"c…', "", ""]
    assert labels(ToolCallDelta(0, 0, "i", "get_weather", "")) == ["get_weather", "get_weather", "", ""]
    assert labels(call) == ["get_weather", "get_weather", "", ""]
    assert labels(Finish("stop")) == ["stop", "stop", "stop", ""]
    assert labels(ToolResult(call, "yes"))[0] == "result"
    assert labels(5) == ["5", "5", "", ""]
    assert look("Mine") == look("Mine")


# ----------------------------------------------------------------------------------- nothing in it is obeyed

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]></text><foreignObject>",
    "</title></style><script>",
    "&lt;&#x41;&nbsp;<!-- --> <?xml?> <!ENTITY x>",
    "\x00\x1b[31m\x07\r\n\x85\u2028",
    "\u202egnp.exe\u2066\u200b\ufeff\u061c",
    "\ud800 \uffff \ufffe",
    "{fill:red} @import url(http://x)",
    "日本語 🌤 e\u0301" + "é" * 300,
]


class Sneaky:
    """A value of a stranger, whose type has a hostile name."""


Sneaky.__name__ = '<b onclick="x">'


def hostile(text: str) -> Probe:
    """A stream that says it everywhere."""
    call = ToolCallDelta(0, 0, text, text, text)
    values: list[Any] = [TextDelta(text), ReasoningDelta(text), call, ToolCall(0, 0, text, text, text, complete=True)]
    values += [ToolResult(ToolCall(0, 0, text, text, text, complete=True), text), Finish(text), Message(text=text)]
    values += [text.encode("utf-8", "surrogatepass"), text, Sneaky(), {text: text}]
    seen = played(Cold(values, ProtocolError(text)).pipe(passed([text]), passed()))
    with seen:
        spy = current_spy()
        assert spy is not None
        ended = spy.tool(text, text)
        assert ended is not None
        ended(ProtocolError(text))
        spy.scope("round", 1).scope("source", 1).request(text, text, {}, None)
    return seen


@given(st.text(alphabet=st.characters(exclude_categories=())))
@example(HOSTILE[0])
@example(HOSTILE[1])
@example(HOSTILE[2])
@example(HOSTILE[3])
@example(HOSTILE[4])
@example(HOSTILE[5])
@example(HOSTILE[6])
@example(HOSTILE[7])
@example(HOSTILE[8])
@example(HOSTILE[9])
@settings(max_examples=60)
def test_any_text_makes_a_picture_of_shapes_and_words_alone(text: str) -> None:
    """Well-formed XML, no element or attribute that is not ours, nothing that turns text around or cannot be seen."""
    seen = hostile(text)
    for theme in ("auto", "dark"):
        parsed(drawn(seen, theme=theme, stages="all"))
    for told in (str(seen), str(seen.explain())):
        assert UNSEEN.search(told.replace("\n", "")) is None
    table = seen.explain()._repr_html_()
    assert UNSEEN.search(table.replace("\n", "")) is None
    root = ET.fromstring(f"<p>{table}</p>")
    assert {element.tag for element in root.iter()} <= {"p", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert {name for element in root.iter() for name in element.attrib} <= {"style"}


@given(st.lists(st.binary(max_size=40), max_size=12))
@settings(max_examples=40)
def test_any_bytes_make_a_picture(reads: list[bytes]) -> None:
    """Through the real chain, broken as they will be."""
    parsed(drawn(played(replay(reads).pipe(decode(), tool_calls(), message())), stages="all"))


def test_hostile_text_is_seen_as_what_it_is() -> None:
    """Shown, not dropped."""
    svg = drawn(hostile(HOSTILE[0]), stages="all", width=2000)
    assert any("<script>alert(1)</script>" in tip for tip in tooltips(svg))
    assert "<script" not in svg


def rows(seen: Probe) -> list[str]:
    """The rows of the text picture: name and marbles, without spaces and blank columns."""
    lines = str(seen).splitlines()
    return [" ".join(line.split()[:2]).replace("─", "") for line in lines if line[:1].isalpha() and "   " in line]


def test_a_row_that_ends_otherwise_stands_by_itself() -> None:
    """Though it shows the same items as the one above, or none as that does."""
    assert rows(played(Cold([]).pipe(decode(), message()))) == ["in |", "payloads() ✕"]
    assert rows(played(Cold([1, 2, 3]).pipe(passed(), ops.take(2), passed()))) == ["in ii)", "in ii|"]


def test_a_row_that_comes_later_stands_by_itself() -> None:
    late = played(timed([b"1", b"2"]).pipe(passed(), ops.delay(2.0), passed()))
    assert rows(late) == ["reads ●●|", "in ··|"]
    assert "⋮" in str(late)


def test_the_parts_of_one_stream_that_are_too_many_share_rows() -> None:
    """So that what came of all of them is in sight."""
    inner = played(Cold(range(30)).pipe(passed(), ops.flat_map(lambda n: Cold([n]).pipe(twice())), summed()))
    assert [row.split()[0] for row in rows(inner)] == ["in", "in", "twice()", "in", "summed()"]
    assert "left out" not in str(inner)


def test_time_is_told_where_all_steps_are_short() -> None:
    seen = played(timed([b"x"] * 300, every=0.0001).pipe(passed()))
    assert len([text for text in texts(drawn(seen)) if re.fullmatch(r"\d+ ms", text)]) > 10
