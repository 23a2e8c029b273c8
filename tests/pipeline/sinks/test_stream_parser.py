"""The parser that people have: the same callbacks, whatever way the body is fed."""

import asyncio
import json
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest

from operators import ApiError, EmptyStream, Event, Message, ProtocolError, StreamError, TruncatedError, tool_calls
from pipeline import decode, replay
from pipeline.sinks import StreamParser

RECORDED = {entry.name: entry.read_bytes() for entry in (files("pipeline.embedded") / "recorded").iterdir()}


def data(text: str, reason: str | None = None) -> str:
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}"


def by_line(parser: StreamParser, body: bytes) -> None:
    for line in body.split(b"\n"):
        parser.feed(line.decode())


def by_line_with_ends(end: str) -> Callable[[StreamParser, bytes], None]:
    def feed(parser: StreamParser, body: bytes) -> None:
        for line in body.decode().removesuffix("\n").split("\n"):
            parser.feed(line + end)

    return feed


def by_line_without_blanks(parser: StreamParser, body: bytes) -> None:
    for line in body.split(b"\n"):
        if line:
            parser.feed(line.decode())


def by_lines_of_bytes(parser: StreamParser, body: bytes) -> None:
    for line in body.split(b"\n"):
        parser.feed(line)


def by_reads(size: int) -> Callable[[StreamParser, bytes], None]:
    def feed(parser: StreamParser, body: bytes) -> None:
        for at in range(0, len(body), size):
            parser.feed_bytes(body[at : at + size])

    return feed


WAYS: dict[str, Callable[[StreamParser, bytes], None]] = {
    "lines": by_line,
    "lines with LF": by_line_with_ends("\n"),
    "lines with CRLF": by_line_with_ends("\r\n"),
    "lines with CR": by_line_with_ends("\r"),
    "lines but no blank ones": by_line_without_blanks,
    "lines of bytes": by_lines_of_bytes,
    "byte by byte": by_reads(1),
    "reads": by_reads(100),
    "whole": by_reads(1_000_000),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_all_ways_of_feeding_say_the_same(name: str, way: str) -> None:
    body = RECORDED[name]
    expected: list[Event] = []
    replay(body).pipe(decode(), tool_calls()).subscribe(expected.append)
    seen: list[Any] = []
    parser = StreamParser(on_event=seen.append, on_done=lambda: seen.append("done"))
    WAYS[way](parser, body)
    parser.close()
    assert seen == [*expected, "done"]


def test_text_comes_with_the_line_that_ends_its_event() -> None:
    texts: list[str] = []
    parser = StreamParser(on_text=texts.append)
    parser.feed(data("Hel"))
    assert texts == []
    parser.feed("")
    assert texts == ["Hel"]
    parser.feed(data("lo", "stop"))
    parser.feed("")
    assert (texts, parser.text) == (["Hel", "lo"], "Hello")
    parser.close()
    assert parser.messages == (Message(text="Hello", finish_reason="stop"),)


def test_without_blank_lines_it_comes_with_the_next_one() -> None:
    texts: list[str] = []
    parser = StreamParser(on_text=texts.append)
    parser.feed(data("a"))
    parser.feed(data("b"))
    assert texts == ["a"]
    parser.feed("data: [DONE]")
    assert texts == ["a", "b"]
    parser.close()


def test_data_over_several_lines_is_one_event() -> None:
    parser = StreamParser()
    for line in ('data: {"choices": [{', 'data: "delta": {"content": "Hi"}}]}', "", "data: [DONE]", ""):
        parser.feed(line)
    parser.close()
    assert parser.text == "Hi"


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_separator_inside_a_line_is_text(separator: str) -> None:
    parser = StreamParser()
    parser.feed(data(f"a{separator}b", "stop"))
    parser.feed("")
    parser.close()
    assert parser.text == f"a{separator}b"


def test_a_line_cut_at_a_separator_is_made_whole() -> None:
    parser = StreamParser()
    for event in (data("a\u2028b: c\u2029d\u2028: e"), data("f", "stop")):
        for line in [*event.splitlines(), ""]:  # as httpx's iter_lines cuts it
            parser.feed(line)
    parser.close()
    assert parser.text == "a\u2028b: c\u2028d\u2028: ef"


def test_unknown_fields_and_comments_are_still_no_text() -> None:
    parser = StreamParser()
    for line in (": ping", "event: message", data("a"), "x-field: 1", "", ": ping", "nonsense", data("b", "stop"), ""):
        parser.feed(line)
    parser.close()
    assert parser.text == "ab"


def test_a_broken_event_does_not_swallow_the_next() -> None:
    parser = StreamParser(decoder=decode(errors="skip"))
    for line in (data("a"), "", 'data: {"broken', "", data("b"), "", 'data: {"broken', data("c"), ""):
        parser.feed(line)
    assert parser.text == "ab"  # the third is a part of what is broken: no blank line ended that
    parser.feed(data("d", "stop"))
    parser.close()
    assert parser.text == "abd"


def test_many_pieces_of_one_line_cost_no_more_than_their_length() -> None:
    parser = StreamParser(on_error=lambda error: None)
    parser.feed('data: {"choices":[{"delta":{"content":"')
    for _ in range(50_000):
        parser.feed("x" * 20)
    parser.feed('"}}]}')
    parser.close()
    assert parser.text.count("x") == 1_000_000


def test_a_byte_order_mark_and_a_whole_completion() -> None:
    parser = StreamParser()
    parser.feed("\ufeff" + data("Hi", "stop"))
    parser.close()
    assert parser.text == "Hi"
    parser.reset()
    for line in json.dumps({"choices": [{"message": {"content": "Whole"}}]}, indent=1).split("\n"):
        parser.feed(line)
    parser.close()
    assert parser.text == "Whole"


# ---------------------------------------------------------------------------------------------------- the end


def test_done_comes_with_the_mark_and_once() -> None:
    done: list[str] = []
    parser = StreamParser(on_done=lambda: done.append("done"))
    for line in (data("a"), "", "data: [DONE]", ""):
        parser.feed(line)
    assert done == ["done"]
    parser.feed(data("late"))
    parser.feed("")
    parser.close()
    parser.close()
    assert (done, parser.text) == (["done"], "a")


def test_a_cut_stream_raises_on_close_with_what_came() -> None:
    parser = StreamParser()
    parser.feed(data("Hel"))
    with pytest.raises(TruncatedError) as caught:
        parser.close()
    assert [message.text for message in caught.value.partial] == ["Hel"]
    assert parser.text == "Hel"


def test_an_error_in_the_stream_raises_from_feed() -> None:
    parser = StreamParser()
    parser.feed(data("Hel"))
    parser.feed("")
    parser.feed('data: {"error": {"message": "overloaded"}}')
    with pytest.raises(ApiError, match="overloaded") as caught:
        parser.feed("")
    assert [message.text for message in caught.value.partial] == ["Hel"]
    parser.feed(data("late"))
    parser.close()
    assert parser.text == "Hel"


def test_errors_go_to_on_error_if_there_is_one() -> None:
    errors: list[Any] = []
    parser = StreamParser(on_error=errors.append)
    parser.feed(data("Hel"))
    parser.close()
    parser.reset()
    parser.close()
    assert [type(error) for error in errors] == [TruncatedError, EmptyStream]
    assert [message.text for message in errors[0].partial] == ["Hel"]


def test_what_a_callback_raises_leaves_feed_and_ends_the_stream() -> None:
    errors: list[Any] = []
    parser = StreamParser(on_text=lambda text: 1 / 0, on_error=errors.append)
    parser.feed(data("a"))
    with pytest.raises(ZeroDivisionError):
        parser.feed("")
    with pytest.raises(RuntimeError, match=r"has ended, as a callback raised; reset\(\) begins"):
        parser.feed(data("b"))
    parser.close()
    assert errors == []
    assert parser.text == "a"


def test_reset_begins_anew_with_the_same_callbacks() -> None:
    seen: list[str] = []
    parser = StreamParser(on_text=seen.append, on_done=lambda: seen.append("done"))
    parser.feed(data("lost"))
    parser.reset()
    assert (parser.text, parser.messages) == ("", ())
    parser.feed_bytes((data("a", "stop") + "\n\n").encode())
    parser.close()
    parser.reset()
    parser.feed(data("b", "stop"))
    parser.close()
    assert seen == ["a", "done", "b", "done"]


def test_misuse_is_said() -> None:
    with pytest.raises(TypeError, match=r"feed\(\) takes a line as text"):
        StreamParser().feed_bytes("data: x")  # type: ignore[arg-type]
    parser = StreamParser()
    parser.feed(data("a", "stop"))
    with pytest.raises(RuntimeError, match="was fed with lines, not with reads"):
        parser.feed_bytes(b"data: ")
    parser.close()
    with pytest.raises(RuntimeError, match=r"closed; reset\(\) begins"):
        parser.feed("")
    with pytest.raises(TypeError, match="on_txt"):
        StreamParser(on_txt=print)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        StreamParser(on_text=3)  # type: ignore[arg-type]


def test_another_decoder() -> None:
    parser = StreamParser(decoder=decode(errors="skip"))
    for line in (data("a"), "", "data: nonsense", "", data("b", "stop"), ""):
        parser.feed(line)
    parser.close()
    assert parser.text == "ab"
    loud = StreamParser()
    loud.feed(data("a"))
    loud.feed("")
    with pytest.raises(ProtocolError):
        by_line(loud, b"data: {nonsense\n\ndata: {}\n\n")


def test_in_async_code_and_read_meanwhile() -> None:
    body = RECORDED["text.sse"]

    async def main() -> list[str]:
        parser, texts = StreamParser(), []
        for line in body.decode().split("\n"):
            parser.feed(line)
            texts.append(parser.text)
            await asyncio.sleep(0)
        parser.close()
        return texts

    texts = asyncio.run(main())
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert texts[-1].startswith("It is sunny")


def test_errors_are_stream_errors() -> None:
    with pytest.raises(StreamError):
        StreamParser().close()
