"""What is kept of a stream, and what a page is told of it."""

from __future__ import annotations

import logging
import threading
from typing import Any

import msgspec
import pytest

from operators import (
    ConnectionLost,
    Conversation,
    Event,
    Finish,
    ReasoningDelta,
    Retrying,
    RoundStarted,
    Started,
    TextDelta,
    ToolCallDelta,
    ToolCallSnapshot,
    Unknown,
    Usage,
)
from pipeline.web import _reader
from pipeline.web._facts import Account
from pipeline.web._hub import STREAMS, Hub
from pipeline.web._reader import Reader
from pipeline.web._rows import SHOWN, Rows


class Client:
    """A page, as far as merging updates goes: what it is told of a block must begin where it is."""

    def __init__(self, hub: Hub, chosen: int | None = None) -> None:
        self.reader = Reader(hub, chosen)
        self.stream: int | None = None
        self.order: list[int] = []
        self.lines: dict[int, Any] = {}
        self.texts: dict[int, str] = {}
        self.rows: list[int] = []
        self.updates = 0

    def read(self) -> Client:
        while (update := self.reader.read()) is not None:
            self.updates += 1
            told = msgspec.json.decode(msgspec.json.encode(update))
            if told.get("stream") != self.stream:
                self.stream, self.texts, self.rows = told.get("stream"), {}, []
            self.order = told.get("order", self.order)
            self.lines |= {line["id"]: line for line in told.get("streams", [])}
            for part in told.get("blocks", []):
                known = self.texts.get(part["id"], "")
                assert part["at"] == len(known.encode("utf-16-le")) // 2
                self.texts[part["id"]] = known + part.get("text", "")
            self.rows += [row["n"] for row in told.get("rows", [])]
        return self


def hub(**options: Any) -> Hub:
    return Hub(**({"events": 100} | options))


def test_updates_are_what_is_new_and_a_late_page_gets_all() -> None:
    streams = hub()
    feed = streams.open("one")
    early = Client(streams)
    for word in ("a 🌤", "b", "c"):
        feed.add(TextDelta(word))
        early.read()
    late = Client(streams).read()
    assert early.texts == late.texts == {0: "a 🌤bc"}
    assert early.rows == late.rows == [1, 2, 3]
    assert (early.updates, late.updates) == (3, 1)
    assert late.reader.read() is None


def test_a_page_that_is_slow_gets_fewer_and_larger_updates() -> None:
    streams = hub()
    feed, slow = streams.open("one"), Client(streams)
    for at in range(250):
        feed.add(TextDelta(f"{at} "))
    slow.read()
    assert slow.texts[0] == "".join(f"{at} " for at in range(250))
    assert slow.rows == list(range(151, 251))
    assert slow.updates == 1


def test_much_is_told_in_several_updates_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reader, "UNITS", 7)
    monkeypatch.setattr(_reader, "ROWS", 2)
    streams = hub()
    feed = streams.open("one")
    for word in ("🌤🌤🌤🌤🌤", "abcdefghij", "k"):
        feed.add(TextDelta(word))
        feed.add(ReasoningDelta(word))
    page = Client(streams).read()
    assert "".join(page.texts.values()) == "🌤🌤🌤🌤🌤🌤🌤🌤🌤🌤abcdefghijabcdefghijkk"
    assert page.rows == [1, 2, 3, 4, 5, 6]
    assert page.updates > 5


def test_a_page_follows_the_newest_stream_or_stays_with_one() -> None:
    streams = hub()
    first = streams.open("one")
    newest, staying = Client(streams), Client(streams, chosen=1)
    first.add(TextDelta("1"))
    newest.read(), staying.read()
    streams.open("two").add(TextDelta("2"))
    assert (newest.read().stream, newest.texts) == (2, {0: "2"})
    assert (staying.read().stream, staying.texts) == (1, {0: "1"})
    assert newest.order == staying.order == [1, 2]
    assert Client(streams, chosen=99).read().stream is None


def test_the_number_of_streams_is_bounded_and_those_that_run_stay_longest() -> None:
    streams = hub()
    running = streams.open("runs")
    for at in range(STREAMS + 5):
        streams.open(f"{at}").end("completed")
    assert len(streams.feeds) == STREAMS
    assert streams.feeds[0] is running


def test_the_end_is_told_once() -> None:
    feed = hub().open()
    feed.end("broken", ConnectionLost("gone"))
    feed.end("left")
    assert (feed.facts.state, feed.facts.error, feed.title) == ("broken", "connection", "Stream 1")
    assert feed.now() == feed.now()


def test_nothing_raised_in_here_reaches_the_stream(caplog: pytest.LogCaptureFixture) -> None:
    feed = hub().open("one")
    with caplog.at_level(logging.WARNING, "rxchat.web"):
        feed.add(TextDelta(None))  # type: ignore[arg-type]
        feed.add(TextDelta(None))  # type: ignore[arg-type]
    feed.add(TextDelta("fine"))
    assert len(caplog.records) == 1
    assert feed.facts.events == 1


def test_several_threads_may_emit_while_pages_read() -> None:
    streams = hub(events=10_000)
    feed = streams.open("one")

    def emit(choice: int) -> None:
        for _ in range(500):
            feed.add(TextDelta("ab", choice))

    threads = [threading.Thread(target=emit, args=(choice,)) for choice in range(4)]
    page = Client(streams)
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        page.read()
    page.read()
    assert sorted(page.texts.values()) == ["ab" * 500] * 4
    assert page.rows == list(range(1, 2001))


# ------------------------------------------------------------------------------------------------------- the raw events


def row_of(event: Event, secrets: tuple[str, ...] = ()) -> Any:
    rows = Rows(10, secrets)
    rows.add(event, 0.0, None)
    return rows.after(0, 10)[0]


def test_a_row_shows_the_event_without_secrets() -> None:
    shown = row_of(Conversation([{"role": "user", "content": "my key is hunter2, sk-abcdefgh"}]), ("hunter2",)).json
    assert '"my key is ***, ***"' in shown


def test_a_long_event_is_cut_and_no_secret_is_shown_in_part() -> None:
    shown = row_of(Unknown({"text": "x" * (SHOWN - 30) + " hunter2 " + "y" * 9000}), ("hunter2",)).json
    assert len(shown) == SHOWN + 2
    assert "hunt" not in shown


@pytest.mark.parametrize(
    "event",
    [
        Unknown(object()),
        Unknown({1: b"\xff", "deep": {"a": {1, 2}}}),
        Unknown(float("nan")),
        ToolCallSnapshot(0, 0, "a", "f", ["{"] * 9, 9),
        TextDelta("\ud83d"),
    ],
)
def test_every_event_can_be_shown(event: Event) -> None:
    row = row_of(event)
    assert row.event == type(event).__name__
    msgspec.json.encode(row)


# ------------------------------------------------------------------------------------------------------------ the facts


def facts_of(*events: tuple[float, Event]) -> Any:
    account = Account()
    for at, event in events:
        account.add(event, at)
    return account.facts


def test_the_rate_leaves_out_the_wait_for_the_first_token_of_each_round() -> None:
    facts = facts_of(
        (0, RoundStarted(1)), (5, TextDelta("a")), (5.5, TextDelta("b")), (6, Usage(1, 11, 12)),
        (60, RoundStarted(2)), (90, TextDelta("a")), (90.5, TextDelta("b")), (91, Usage(2, 11, 13)), (91, Finish("stop")),
    )  # fmt: skip
    assert (facts.rate, facts.estimated, facts.first, facts.stalls) == (20.0, False, 5, 0)
    assert (facts.tokens_in, facts.tokens_out, facts.round, facts.finish) == (3, 22, 2, "stop")


def test_without_usage_each_piece_counts_as_a_token() -> None:
    facts = facts_of(
        (0, Started("i", "m")), (1, TextDelta("a")), (2, ToolCallDelta(0)), (3, TextDelta("b")), (3, Retrying(2, 1, ""))
    )
    assert (facts.rate, facts.estimated, facts.model, facts.retries) == (1.0, True, "m", 1)
    assert (facts.stalls, facts.longest) == (2, 1)


def test_several_choices_and_a_conversation() -> None:
    facts = facts_of((0, Finish("stop", 0)), (0, Finish("length", 1)), (1, Conversation([], Usage(5, None, 5))))
    assert (facts.finish, facts.tokens_in, facts.tokens_out, facts.rate) == ("stop, length", 5, None, None)
