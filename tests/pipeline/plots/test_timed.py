"""What is seen of a stream becomes events with their times, and what is compared gets names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from operators import Restarted, TextDelta
from pipeline.plots._named import named
from pipeline.plots._said import between, said
from pipeline.plots._timed import Timed, timed
from pipeline.recordings import record, replayed
from tests.pipeline.plots.streams import recorded, steady


def test_a_recording_that_broke_has_the_events_up_to_there_at_the_times_of_their_reads() -> None:
    events = [(at, event) for at, event in timed(recorded("a", "b")) if isinstance(event, TextDelta)]
    assert events == [(0.25, TextDelta("a")), (0.5, TextDelta("b"))]


def test_a_path_a_recording_and_an_answer_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with record(path, clock=iter(range(100)).__next__):
        replayed(recorded("a", "b"), speed=0).subscribe()

    class Answer:
        events = timed(path)

    assert [event.text for _, event in timed(path) if isinstance(event, TextDelta)] == ["a", "b"]
    assert timed(Answer()) == timed(path) == timed(str(path))


def test_what_is_no_file_is_called_by_its_model_and_names_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.sse"
    path.write_bytes(b"")
    assert [*named((path, recorded("a"), recorded("b"), steady(), {"mine": steady()}), 1)] == [
        "run", "tiny", "tiny (2)", "stream", "mine",
    ]  # fmt: skip


def test_nothing_is_no_source() -> None:
    with pytest.raises(TypeError, match="nothing to look at"):
        named(({},), 1)


def test_a_stream_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="there is no stream 3"):
        timed(recorded("a"), stream=3)


def test_what_a_restart_made_void_is_not_said() -> None:
    pieces = said(
        [Timed(0.1, TextDelta("no")), Timed(1.0, Restarted()), Timed(2.0, TextDelta("a")), Timed(2.5, TextDelta("b"))]
    )
    assert [piece.text for piece in pieces] == ["a", "b"]
    assert between(pieces) == [(2.0, 2.5)]


@pytest.mark.parametrize("source", [3, [TextDelta("x")], [("a", TextDelta("x"))], None])
def test_what_is_no_stream_to_look_at_is_told(source: Any) -> None:
    with pytest.raises(TypeError, match="is a recording, its path, an answer that was shown, or pairs"):
        timed(source)
