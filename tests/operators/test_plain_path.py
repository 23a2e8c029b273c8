"""The plain path past a chain from bytes to events: faster, and never to be noticed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reactivex import Subject
from reactivex import operators as ops

from operators import (
    ConnectionLost,
    Event,
    Finish,
    Operator,
    Out,
    Stage,
    Started,
    TextDelta,
    Usage,
    chunks,
    deltas,
    event_stream,
    lines,
    operator,
    payloads,
    sse,
    tool_calls,
    watched_by,
)
from operators._plain_path import with_plain_path
from tests.support import COMPLETED, WAYS, Cold, Onlooker, Seen, Way, body_of, call, chunk, cut_at, cuts

RUN = WAYS[0].run


def chain(**options: Any) -> Operator[bytes, Event]:
    return event_stream().then(lines()).then(sse()).then(payloads()).then(chunks(**options)).then(deltas())


@operator
def tapped(out: Out[bytes], seen: list[bytes]) -> Stage[bytes]:
    def on_next(read: bytes) -> None:
        seen.append(read)
        out.on_next(read)

    yield on_next


def event(payload: Any) -> bytes:
    return body_of(payload, done=False)


PLAIN = [event(chunk({"content": text})) for text in ("a", "é\n", "", "\u2028")]
THOUGHTS = [event(chunk({key: text})) for key in ("reasoning_content", "reasoning") for text in ("hm", "ü", "")]
BEGINNINGS = [
    *[
        event(chunk({"role": role, "content": text}))
        for role in ("assistant", None, "", 7, "tool\ud83d")
        for text in ("", None, "a", 5)
    ],
    *[
        event(chunk({"role": "assistant"}, id=name, model=model))
        for name in ("c1", "", None, 5)
        for model in ("m", "", None)
    ],
    *[event(chunk({"content": "i"}, choice=index)) for index in (1, -1, 2**31, 2**64, 10**30, 0.0, "0", None, True)],  # type: ignore[arg-type]
    event(chunk({"role": "assistant", "reasoning_content": ""})),
    event(chunk({"role": "assistant", "reasoning_content": "hm"})),
    event(chunk({"role": "assistant", "content": "", "refusal": None}, usage=None, object="chat.completion.chunk")),
    event(chunk({"role": "assistant"}, x_groq={"id": "r"})),
    event(chunk({"role": "assistant", "tool_calls": []})),
    event({"id": "c1", "model": "m", "choices": []}),
    event({"id": "c1", "model": "m", "choices": [{"index": n, "delta": {"role": "assistant"}} for n in (0, 1)]}),
    event({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"role": "a"}, "message": {"content": "b"}}]}),
    b"\xef\xbb\xbf" + event(chunk({"role": "assistant"})),
    b": hello\n\n",
    b"\n\n",
    b"<p>\n\n",
    b"{}\n\n",
]
EVENTS = [
    *PLAIN * 3,
    *THOUGHTS * 2,
    event(chunk({"content": "", "reasoning_content": "hm"})),
    event(chunk({"content": None, "reasoning": "hm"})),
    event(chunk({"reasoning_content": "twice", "reasoning": "twice"})),
    event(chunk({"reasoning_content": "one", "reasoning": "other"})),
    event(chunk({"reasoning": "hm", "reasoning_details": [{"text": "hm"}]})),
    event(chunk({"reasoning_content": "b"}, choice=1)),
    event(chunk({"reasoning": "half \ud83d"})),
    event(chunk({"content": "b"}, choice=1)),
    event({"id": "c1", "choices": [{"index": 0, "delta": {"content": "nameless"}}]}),
    event({"choices": [{"delta": {"content": "no index"}}]}),
    event(chunk({"content": "ok \ud83d"})),
    event(chunk({"content": "\ude00!"})),
    event(chunk({"content": "r", "reasoning": "hm"})),
    event(chunk({"content": "n", "reasoning": "", "refusal": None})),
    event(chunk({"content": ["p"]})),
    event(chunk({"content": "s"}, "stop")),
    event(chunk({"content": "u"}, usage={"total_tokens": 1})),
    event(chunk({"content": "e"}, error={"message": "bad"})),
    event(call(0, "a", "f", "{}")),
    event(b"not json"),
    event(b"null"),
    event(b"[DONE]"),
    b": hello\n\n",
    b"\n",
    b"data: {\ndata: }\n\n",
    b"event: error\ndata: {}\n\n",
    PLAIN[0].replace(b"data: ", b"data:"),
    PLAIN[0].replace(b"\n", b"\r\n"),
    PLAIN[0][:-1],
    PLAIN[0][:9],
    b"id: 1\n" + PLAIN[0],
    event(chunk({"content": "x" * 5000})),
]


@given(
    st.lists(st.sampled_from(EVENTS), max_size=10),
    st.lists(st.integers(0, 3000), max_size=10) | st.integers(1, 50),
    st.sampled_from([COMPLETED, None, ConnectionLost("gone")]),
    st.sampled_from(["raise", "skip"]),
    st.integers(0, 4),
    st.lists(st.sampled_from(BEGINNINGS), max_size=2),
)
@settings(max_examples=500)
@example([PLAIN[0], PLAIN[0], event(chunk({"content": "b"}, choice=1))], [], COMPLETED, "raise", 0, [])
@example([event(b"[DONE]")], [], COMPLETED, "raise", 0, BEGINNINGS[:1])
@example([event(b"[DONE]")], [], COMPLETED, "raise", 0, BEGINNINGS[2:3])
def test_the_plain_path_changes_nothing(
    events: list[bytes], cut: Any, end: Any, errors: str, take: int, beginning: list[bytes]
) -> None:
    """The same events and the same end as the chain alone, in any cut, left early or not, whatever the body is."""
    body = b"".join([*beginning, *events])
    reads = cuts(body, cut) if isinstance(cut, int) else cut_at(body, cut)
    stages = [ops.take(take)] if take else []
    alone = RUN(reads, chain(errors=errors), *stages, end=end)
    fast = RUN(reads, with_plain_path(chain(errors=errors)), *stages, end=end)
    assert fast.values == alone.values
    assert (type(fast.end), str(fast.end)) == (type(alone.end), str(alone.end))


def piece(*, choice: int = 0, finish: str | None = None, **said: Any) -> bytes:
    """A chunk with one piece of a tool call; `arguments` and `name` are its function's."""
    function = {name: said.pop(name) for name in ("name", "arguments") if name in said}
    return event(chunk({"tool_calls": [said | ({"function": function} if function else {})]}, finish, choice=choice))


GROWS = [
    piece(index=index, arguments=text)
    for index in (0, 0, 1)
    for text in ('{"a":', "1", '"x', '"', "[", "]", "}", "{", "{}", "é", "\\", "", " ", '{"a":1}', '{"a":1', "true")
]
CALLS = [
    *GROWS * 2,
    *[piece(index=index, id=f"call_{index}", name="f", arguments=text) for index in (0, 1) for text in ("", "{", "{}")],
    piece(index=0, id="call_2", name="g", arguments=""),
    piece(index=0, name="f", arguments=""),
    piece(index=0, name="g", arguments='{"b":'),
    piece(index=0, id="late", arguments='"y'),
    piece(index=0, id="", type="function", name="", arguments='"z'),
    piece(index=0, id=None, type=None, name=None, arguments="2"),
    piece(index=0, arguments={"o": 1}),
    piece(index=0, arguments={}),
    piece(index=0, arguments=None),
    piece(index=0, arguments="half \ud83d"),
    piece(index=0, arguments="\ude00"),
    piece(index=0, arguments="x", extra_content=1),
    piece(index=0, arguments="1", choice=1),
    piece(index=0, id="call_9", name="h", arguments="{", choice=1),
    piece(index=None, arguments='"n"'),
    piece(id="call_3", name="f", arguments="{"),
    piece(arguments="1}"),
    piece(index="0", arguments="t"),
    piece(index=0, arguments="f", finish="tool_calls"),
    event(chunk({"tool_calls": [{"index": n, "function": {"arguments": "p"}} for n in (0, 1)]})),
    event(chunk({"content": "t"})),
    event(chunk({"content": None, "tool_calls": [{"index": 0, "function": {"arguments": "c"}}]})),
    event(chunk({"content": "t", "tool_calls": [{"index": 0, "function": {"arguments": "c"}}]})),
    event(chunk({}, usage={"total_tokens": 1})),
    event(chunk({"function_call": {"arguments": "1"}})),
    event(b"null"),
    event(b"not json"),
    b": ping\n\n",
    GROWS[0][:-1],
]
OPENED = piece(index=0, id="call_0", name="f", arguments="")
NAMELESS = piece(index=0, id="call_0", arguments='{"a":')
NAMED = piece(index=0, name="f")


@given(
    st.sampled_from([OPENED, NAMELESS, b""]),
    st.lists(st.sampled_from(CALLS), max_size=14),
    st.lists(st.integers(0, 3000), max_size=10) | st.integers(1, 200),
    st.sampled_from([COMPLETED, None, ConnectionLost("gone")]),
    st.integers(0, 6),
)
@settings(max_examples=500)
@example(
    OPENED, [piece(index=0, arguments=text) for text in ('{"a":', '"x', '"}', '{"a":"x"}', " ")], 200, COMPLETED, 0
)
@example(OPENED, [*GROWS[:2], piece(index=0, id="call_2", name="g", arguments=""), *GROWS[:2]], 200, COMPLETED, 0)
@example(NAMELESS, [NAMED, *[piece(index=0, arguments=text) for text in ("1", "}", '{"a":1}')]], 200, COMPLETED, 0)
def test_the_plain_path_of_calls_changes_nothing(
    opened: bytes, events: list[bytes], cut: Any, end: Any, take: int
) -> None:
    """What the chain has not seen of a call, it knows before anything depends on it: the same calls, whole or not."""
    body = b"".join([opened, *events])
    reads = cuts(body, cut) if isinstance(cut, int) else cut_at(body, cut)
    stages: list[Any] = [tool_calls(), *([ops.take(take)] if take else [])]
    alone = RUN(reads, chain(), *stages, end=end)
    fast = RUN(reads, with_plain_path(chain()), *stages, end=end)
    assert fast.values == alone.values
    assert (type(fast.end), str(fast.end)) == (type(alone.end), str(alone.end))


def test_a_read_that_is_one_event_without_text_says_nothing() -> None:
    """Of an answer, and of a call."""
    for said in ([PLAIN[0], PLAIN[0], PLAIN[2], PLAIN[1]], [OPENED, GROWS[0], piece(index=0, arguments=""), GROWS[1]]):
        seen = RUN(said, with_plain_path(chain()), end=None)
        assert seen.values == RUN(said, chain(), end=None).values
        assert len(seen.values) == 4


def test_what_the_chain_is_owed_is_bounded() -> None:
    """A long string in small pieces goes to it from time to time."""
    seen: list[bytes] = []
    pieces = [OPENED, piece(index=0, arguments='{"a":"'), *[piece(index=0, arguments="x" * 100)] * 2000]
    RUN([*pieces, piece(index=0, arguments='"}', finish="tool_calls")], with_plain_path(tapped(seen).then(chain())))
    assert 2 < len(seen) < 12
    assert max(map(len, seen)) < 66_000


def test_a_plain_event_does_not_wait_for_what_follows(each_way: Way) -> None:
    """It is there as soon as its blank line is, byte by byte and read by read."""
    body = [*PLAIN[:2], *PLAIN[:2]]
    for reads in (body, [byte for read in body for byte in cuts(read, 1)]):
        seen = each_way.run(reads, with_plain_path(chain()), end=None)
        assert seen.values == [Started("c1", "m"), *[TextDelta("a"), TextDelta("é\n")] * 2]


def test_an_event_of_several_lines_waits_for_its_blank_line(each_way: Way) -> None:
    """It goes through the chain as a whole."""
    reads = [PLAIN[0], PLAIN[0], b"id: 1\nretry: 5\n", PLAIN[1], PLAIN[0]]
    texts = [TextDelta("a"), TextDelta("a"), TextDelta("é\n"), TextDelta("a")]
    assert each_way.run(reads, with_plain_path(chain()), end=None).values[1:] == texts


def test_it_goes_past_the_chain() -> None:
    """Else it would be of no use: the stages of the chain see the first events only, or none."""
    seen: list[bytes] = []
    operator = with_plain_path(tapped(seen).then(chain()))
    for said in ({"content": "a"}, {"reasoning_content": "a"}, {"content": None, "reasoning": "a"}):
        seen.clear()
        assert len(RUN([event(chunk(said))] * 5, operator, end=None).values) == 6
        assert len(seen) < 5
    seen.clear()
    grows = [piece(index=0, arguments=text) for text in ('{"a":', "[", "1", "]", ",", '"b":', "{", "}")]
    assert len(RUN([OPENED, *grows], operator, end=None).values) == 2 + len(grows)
    assert 0 < len(seen) < 5


def test_a_stream_in_which_nothing_is_plain_is_left_to_the_chain_for_a_while() -> None:
    odd = PLAIN[0].replace(b"data: ", b"data:")
    body = [*PLAIN, *[odd] * 100, *PLAIN * 3]
    for reads in (body, cuts(b"".join(body), 37), cuts(b"".join(body), 1000)):
        assert RUN(reads, with_plain_path(chain()), end=None).values == RUN(reads, chain(), end=None).values
    seen: list[bytes] = []
    operator = with_plain_path(tapped(seen).then(chain()))
    assert len(RUN([odd] * 100 + [PLAIN[0]] * 5000, operator, end=None).values) == 5101
    assert 1000 < len(seen) < 1100, "it is tried again"


def test_reads_that_are_no_bytes_are_left_to_the_chain() -> None:
    """It takes other kinds of bytes, at any time, and says what is wrong with text."""
    for kind in (bytearray, memoryview):
        reads = [*PLAIN[:1] * 3, *[kind(read) for read in PLAIN]]
        assert RUN(reads, with_plain_path(chain()), end=None).values[1:5] == [TextDelta("a")] * 4
    assert isinstance(RUN(["data: x"], with_plain_path(chain())).end, TypeError)


def test_who_looks_on_is_shown_the_chain_alone() -> None:
    """Its names, and every value on its lanes."""
    shown: list[tuple[str, ...]] = []

    class Looker(Onlooker):
        def chain(self, stages: tuple[str, ...]) -> Any:
            shown.append(stages)
            return super().chain(stages)

    operator = with_plain_path(chain())
    seen: Any = Seen()
    with watched_by(Looker()):
        Cold([*PLAIN, event(chunk(finish="stop"))]).pipe(operator).subscribe(seen)
    assert shown == [chain().names]
    assert repr(operator) == repr(chain())
    assert seen.values[-1] == Finish("stop")


def test_a_path_past_a_path_is_one_past_the_chain() -> None:
    """Of a detour in the chain of another one, its chain counts."""
    twice = with_plain_path(with_plain_path(chain()))
    reads = [*PLAIN, event(chunk(finish="stop"))]
    assert repr(twice) == repr(chain())
    assert RUN(reads, twice).values == RUN(reads, chain()).values


@pytest.mark.parametrize("body", [b"\0\n\n\n\n", b"x\n\n\ny\n", b"\n\n<p>\n\n"])
def test_blank_lines_are_neither_added_nor_left_out(body: bytes) -> None:
    """The start of a body that is no event stream is shown as it came."""
    for reads in ([body], cuts(body, 1)):
        assert str(RUN(reads, with_plain_path(chain())).end) == str(RUN([body], chain()).end)


def test_an_event_that_is_nested_too_deep_is_the_chains() -> None:
    """It is no chunk there, though what is nested is a key that nobody reads."""
    deep = b'{"deep":' + b"[" * 300 + b"]" * 300 + b"," + PLAIN[0][7:]
    body = PLAIN[0] * 3 + b"data: " + deep + PLAIN[0]
    for reads in ([body], cuts(body, 50)):
        seen, alone = RUN(reads, with_plain_path(chain())), RUN(reads, chain())
        assert seen.values == alone.values
        assert len(seen.values) == 4
        assert "nested too deeply" in str(seen.end)


@pytest.mark.parametrize("before", [0, 2])
def test_what_a_subscriber_feeds_meanwhile_is_kept(before: int) -> None:
    """A part of an event, from inside on_next."""
    heard = []
    for each in (chain(), with_plain_path(chain())):
        source: Subject[bytes] = Subject()
        seen: list[Event] = []

        def on_next(event: Event, source: Subject[bytes] = source, seen: list[Event] = seen) -> None:
            seen.append(event)
            if len(seen) == 2 + before:
                source.on_next(PLAIN[1][:-1])

        source.pipe(each).subscribe(on_next)
        for read in (*PLAIN[:1] * before, PLAIN[0], b"\n", PLAIN[0]):
            source.on_next(read)
        heard.append(seen)
    assert heard[0] == heard[1]
    assert len(heard[1]) == 4 + before


WHOLE = [*PLAIN, *THOUGHTS, OPENED, *[one for one in CALLS if one.endswith(b"}\n\n")]]


@given(
    st.lists(st.sampled_from(WHOLE), min_size=2, max_size=8),
    st.integers(1, 3),
    st.dictionaries(st.integers(1, 6), st.sampled_from([*WHOLE, PLAIN[0] * 2, GROWS[0] + GROWS[1]]), min_size=1),
)
@settings(max_examples=300)
@example([piece(index=0, name="f", arguments="["), GROWS[1], piece(index=0, id="x", arguments="2")], 1, {4: GROWS[1]})
@example([PLAIN[0] * 3], 1, {2: event(chunk({"content": "half \ud83d"}))})
@example([PLAIN[0]], 1, {1: event(chunk({"content": "half \ud83d"}))})
def test_a_subscriber_who_feeds_whole_events_changes_nothing(
    events: list[bytes], together: int, feeds: dict[int, bytes]
) -> None:
    """Whatever comes of it, comes in the order in which the chain alone tells it."""
    heard: list[list[Event]] = []
    for each in (chain(), with_plain_path(chain())):
        source: Subject[bytes] = Subject()
        seen: list[Event] = []

        def on_next(event: Event, source: Subject[bytes] = source, seen: list[Event] = seen) -> None:
            seen.append(event)
            if len(seen) in feeds:
                source.on_next(feeds[len(seen)])

        source.pipe(each).subscribe(on_next, lambda _: None)
        for at in range(0, len(events), together):
            source.on_next(b"".join(events[at : at + together]))
        heard.append(seen)
    assert heard[1] == heard[0]


def test_a_message_that_is_no_object_is_the_chains() -> None:
    """It looks at such a chunk twice, and finds more."""
    odd = event(chunk() | {"eval_count": 7, "choices": [{"index": 0, "delta": {"content": "a"}, "message": "x"}]})
    for reads in ([odd], [*PLAIN[:1] * 2, odd]):
        seen = RUN(reads, with_plain_path(chain()), end=None).values
        assert seen == RUN(reads, chain(), end=None).values
        assert isinstance(seen[-1], Usage)
