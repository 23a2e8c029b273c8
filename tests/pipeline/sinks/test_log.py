"""One line an event, at the level that it deserves, without secrets."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import reactivex
from reactivex import Observable

from operators import (
    AnnotationDelta,
    ApiError,
    AudioDelta,
    Conversation,
    Event,
    Finish,
    Gap,
    HttpError,
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
    ToolCallSnapshot,
    ToolResult,
    Unknown,
    Usage,
)
from pipeline.sinks import log


def stream(*events: Event) -> Observable[Event]:
    return reactivex.from_iterable(events)


CALL = ToolCall(0, 0, "call_1", "now", "{}", complete=True)


@pytest.fixture
def records() -> Iterator[list[logging.LogRecord]]:
    found: list[logging.LogRecord] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record)

    logger, handler = logging.getLogger("rxchat"), Keeping()
    logger.setLevel(logging.DEBUG)
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("event", "level", "line"),
    [
        (Started("c1", "m"), "INFO", "Started id='c1' model='m' role='assistant' choice=0"),
        (TextDelta("a\nb"), "DEBUG", r"TextDelta text='a\nb' choice=0"),
        (ReasoningDelta("x"), "DEBUG", "ReasoningDelta text='x' choice=0"),
        (RefusalDelta("x", 1), "DEBUG", "RefusalDelta text='x' choice=1"),
        (ToolCallDelta(0, 1, "c"), "DEBUG", "ToolCallDelta key=0 index=1 id='c' name='' arguments='' choice=0"),
        (
            ToolCallSnapshot(0, 0, "c", "f", ["{", "}"], 2),
            "DEBUG",
            "ToolCallSnapshot key=0 index=0 id='c' name='f' arguments='{}' choice=0",
        ),
        (AudioDelta("a", transcript="Hi"), "DEBUG", "AudioDelta id='a' transcript='Hi' choice=0"),
        (LogprobsDelta([{"token": "a"}]), "DEBUG", "LogprobsDelta content=[{'token': 'a'}] choice=0"),
        (AnnotationDelta([{"url": "u"}]), "DEBUG", "AnnotationDelta annotations=[{'url': 'u'}] choice=0"),
        (Unknown({"x": (1,)}), "DEBUG", "Unknown data={'x': [1]}"),
        (CALL, "INFO", "ToolCall key=0 index=0 id='call_1' name='now' arguments='{}' complete=True choice=0"),
        (Finish("stop"), "INFO", "Finish reason='stop' choice=0"),
        (
            Usage(1, 2, 3, {"cached": 1}),
            "INFO",
            "Usage prompt_tokens=1 completion_tokens=2 total_tokens=3 details={'cached': 1}",
        ),
        (ToolResult(CALL, "12:00"), "INFO", "ToolResult name='now' id='call_1' choice=0 content='12:00'"),
        (
            ToolResult(CALL, "", "no such tool"),
            "WARNING",
            "ToolResult name='now' id='call_1' choice=0 content='' error='no such tool'",
        ),
        (RoundStarted(2), "INFO", "RoundStarted round=2"),
        (Retrying(2, 1.5, "429"), "WARNING", "Retrying attempt=2 wait=1.5 error='429'"),
        (Restarted(), "WARNING", "Restarted"),
        (Gap(3), "WARNING", "Gap dropped=3"),
        (Conversation([{}, {}]), "INFO", "Conversation messages=2"),
        (
            Conversation([], Usage(1, 2, 3)),
            "INFO",
            "Conversation messages=0 usage={'prompt_tokens': 1, 'completion_tokens': 2, 'total_tokens': 3}",
        ),
    ],
)
def test_every_event_has_its_line(records: list[Any], event: Event, level: str, line: str) -> None:
    log().on_next(event)
    [record] = records
    assert (record.levelname, record.getMessage(), record.name) == (level, line, "rxchat")
    assert record.rxchat["event"] == type(event).__name__


def test_fields_are_on_the_record(records: list[Any]) -> None:
    stream(Finish("stop", 1)).subscribe(log())
    assert [record.rxchat for record in records] == [
        {"event": "Finish", "reason": "stop", "choice": 1},
        {"event": "completed", "events": 1},
    ]


def test_errors_of_the_stream(records: list[Any]) -> None:
    log().on_error(HttpError("slow down", status=429, retry_after=5.0, code="rate"))
    [record] = records
    assert record.levelname == "ERROR"
    assert record.getMessage() == (
        "HttpError kind='http' message='slow down' retryable=True status=429 code='rate' retry_after=5.0"
    )
    assert record.exc_info is None


def test_any_other_error_has_its_traceback(records: list[Any]) -> None:
    error = ValueError("mine")
    log().on_error(error)
    [record] = records
    assert record.getMessage() == "ValueError message='mine'"
    assert record.exc_info[1] is error


def test_the_logger_and_its_level_are_heeded(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mine")
    for given in ("mine", logging.getLogger("mine")):
        caplog.clear()
        stream(TextDelta("a"), Finish("stop")).subscribe(log(given))
        assert [(record.name, record.levelname) for record in caplog.records] == [("mine", "INFO")] * 2


MARKED = "sk-MARKED0123456789"


@pytest.mark.parametrize(
    "event",
    [
        TextDelta(f"you sent {MARKED}"),
        ToolCallDelta(0, name="f", arguments='{"password": "MARKED"}'),
        ReasoningDelta("", extra={"reasoning_details": [{"data": f"Bearer {MARKED}"}]}),
        Unknown({"api_key": "MARKED"}),
        Retrying(2, 1.0, f"Incorrect API key {MARKED}"),
        TextDelta("MARKED given"),
        TextDelta("x" * 995 + MARKED + "y" * 10_000),
    ],
)
def test_no_secret_reaches_a_record(records: list[Any], event: Event) -> None:
    sink = log(secrets=["MARKED given", ""])
    sink.on_next(event)
    sink.on_error(ApiError(f"Bearer {MARKED}"))
    for record in records:
        assert "MARKED" not in record.getMessage() + repr(record.rxchat)


def test_long_texts_are_cut(records: list[Any]) -> None:
    sink = log(limit=10)
    sink.on_next(TextDelta("abcdefghij" * 10))
    sink.on_next(Unknown(list(range(100))))
    assert [record.getMessage() for record in records] == [
        "TextDelta text='abcdefghij… (100 characters)' choice=0",
        "Unknown data=[0, 1, 2, …",
    ]


def test_a_line_is_one_line_and_obeyed_by_no_terminal(records: list[Any]) -> None:
    log().on_next(TextDelta("a\r\nERROR forged\x1b[2J\u202e\u2028"))
    assert records[0].getMessage() == r"TextDelta text='a\r\nERROR forged\x1b[2J\u202e\u2028' choice=0"
