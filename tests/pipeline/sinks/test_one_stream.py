"""A sink that has had its stream says so when it is given another one, instead of showing nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
import reactivex

from operators import TextDelta
from pipeline.sharing import share_to
from pipeline.sinks import callbacks, collect, console, log

SINKS: dict[str, Any] = {
    "callbacks": callbacks,
    "collect": collect,
    "console": lambda: console(io.StringIO()),
    "live console": lambda: console(io.StringIO(), live=True),
}
STREAM = reactivex.of(TextDelta("Hi"))


@pytest.fixture(params=list(SINKS.values()), ids=list(SINKS))
def sink(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_a_second_stream_is_told(sink: Any) -> None:
    STREAM.subscribe(sink)
    with pytest.raises(RuntimeError, match=r"has had a stream to its end; (callbacks|collect|console)\(\) makes one"):
        STREAM.subscribe(sink)


def test_a_second_stream_that_only_breaks_is_told(sink: Any) -> None:
    """With its error as the cause."""
    STREAM.subscribe(sink)
    gone = ConnectionError("gone")
    with pytest.raises(RuntimeError, match="makes one for each stream") as raised:
        sink.on_error(gone)
    assert raised.value.__cause__ is gone


def test_what_comes_after_it_was_left_is_passed_over(sink: Any) -> None:
    """The stream may go on for others, and end."""
    sink.on_next(TextDelta("H"))
    sink.dispose()
    sink.on_next(TextDelta("i"))
    sink.on_completed()


def test_the_other_sinks_go_on(caplog: pytest.LogCaptureFixture) -> None:
    first, second = collect(), collect()
    STREAM.subscribe(first)
    STREAM.pipe(share_to(first, second)).subscribe()
    assert (first.text, second.text) == ("Hi", "Hi")
    assert "collect() makes one for each stream" in caplog.text


def test_a_log_is_for_any_number_of_streams(caplog: pytest.LogCaptureFixture) -> None:
    """It keeps nothing but a count, and shows what comes."""
    caplog.set_level("INFO", "rxchat")
    sink: Any = log()
    for stream in (STREAM, STREAM, reactivex.of(b"data"), reactivex.throw(ZeroDivisionError("no"))):
        stream.subscribe(sink)
    assert [record.getMessage() for record in caplog.records] == [
        "completed events=1",
        "completed events=1",
        "bytes value=\"b'data'\"",
        "completed events=1",
        "ZeroDivisionError message='no'",
    ]


@pytest.mark.parametrize("make", [SINKS[name] for name in SINKS if name != "callbacks"])
def test_bytes_are_no_events(make: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A decode() was forgotten."""
    caplog.set_level("DEBUG", "rxchat")
    with pytest.raises(TypeError, match=r"takes events, got bytes: is decode\(\) missing above it\?"):
        make().on_next(b"data: {}\n\n")
