"""`rxchat marbles`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from reactivex.scheduler import VirtualTimeScheduler
from typer.testing import CliRunner, Result

import pipeline.embedded
from operators import ConnectionLost
from pipeline.commands import app
from pipeline.recordings import (
    Failure,
    RecordedAttempt,
    RecordedEnd,
    RecordedRead,
    RecordedStream,
    Recording,
    record,
    replayed,
)
from tests.support import body_of, chunk
from tests.support.timing import LONG

RECORDED = Path(pipeline.embedded.__file__).parent / "recorded"


def marbles(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["marbles", *map(str, words)])


@pytest.fixture
def two_streams(tmp_path: Path) -> Path:
    """A recording: a stream that broke after an hour, and one of text."""
    reads = tuple(RecordedRead(at, body_of(chunk({"content": f"at {at}"}), done=False)) for at in (0.5, 3600.0))
    broken = RecordedAttempt(reads=reads, end=RecordedEnd(3600.0, Failure.of(ConnectionLost("gone"))))
    whole = RecordedAttempt(reads=(RecordedRead(0.1, body_of(chunk({"content": "Hi"}, "stop"))),), end=RecordedEnd(0.2))
    clock, file = VirtualTimeScheduler(), tmp_path / "run.jsonl"
    with record(file, clock=lambda: clock.to_seconds(clock.now)):
        for attempt in (broken, whole):
            stream = replayed(Recording((RecordedStream(attempts=(attempt,)),)))
            stream.subscribe(on_error=lambda _: None, scheduler=clock)
            clock.start()
    return file


def test_a_body_is_drawn_as_text_from_bytes_to_message() -> None:
    """With the calls in it, and without an option anywhere."""
    done = marbles(RECORDED / "two_calls.sse")
    assert done.exit_code == 0
    stages = [line.split(" ")[0].partition("(")[0] for line in done.stdout.splitlines()]
    assert [stage for stage in stages if stage in {"reads", "lines", "deltas", "tool_calls", "message"}] == [
        *("reads", "lines", "deltas", "tool_calls", "message")
    ]
    assert '{"city":"Zürich"}' in done.stdout


def test_a_recording_has_its_times_and_takes_none(two_streams: Path) -> None:
    """A stall of an hour is told, and how the stream broke; each stream of it can be drawn."""
    done = marbles(two_streams)
    assert done.exit_code == 0
    assert "3,599.5 s" in done.stdout
    assert "connection" in done.stdout
    assert "3,599.5 s" not in marbles(two_streams, "--stream", "2").stdout


def test_the_picture_goes_to_a_file_or_to_stdout(two_streams: Path, tmp_path: Path) -> None:
    """As SVG or as text, by the name's end; the same to the byte, wherever it goes."""
    svg, text = tmp_path / "x.svg", tmp_path / "x.txt"
    assert marbles(two_streams, "-o", svg).stdout == ""
    assert marbles(two_streams, "--output", text).exit_code == 0
    assert ET.fromstring(svg.read_text("utf-8")).tag.endswith("svg")
    assert marbles(two_streams, "-o", "-").stdout == svg.read_text("utf-8")
    assert marbles(two_streams).stdout == text.read_text("utf-8") + "\n"


def test_rows_width_and_theme_can_be_chosen(two_streams: Path) -> None:
    """As `Probe.marbles()` takes them; all shows those, too, that emit just the same as the row above."""
    assert marbles(two_streams, "--stages", "deltas, message").stdout.startswith(("deltas()", " "))
    assert "reads" not in marbles(two_streams, "--stages", "deltas, message").stdout
    assert "\ntool_calls()" in marbles(two_streams, "--stages", "all").stdout
    assert "\ntool_calls()" not in marbles(two_streams).stdout
    assert max(map(len, marbles(RECORDED / "text.sse", "--width", "80").stdout.splitlines())) <= 80
    assert "rxmarbles-dark" in marbles(two_streams, "-o", "-", "--theme", "dark").stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere.jsonl",), "there is no file 'nowhere.jsonl'"),
        ((RECORDED / "text.sse", "--stream", "2"), "stream"),
        ((RECORDED / "text.sse", "--stages", "nonsense"), "there is no stage nonsense"),
        ((RECORDED / "text.sse", "-o", "x.png"), "x.png"),
        ((RECORDED / "text.sse", "-o", "nowhere/x.svg"), "nowhere/x.svg cannot be written"),
        ((RECORDED / "text.sse", "--theme", "pink"), "pink"),
        ((RECORDED / "text.sse", "--width", "10"), "60"),
        ((RECORDED / "text.sse", "--stream", "0"), "1"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    words: tuple[str | Path, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On stderr, with status 2, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    done = marbles(*words)
    assert done.exit_code == 2
    assert told in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_recording_or_cannot_be_read(tmp_path: Path) -> None:
    """Is wrong usage as well."""
    file = tmp_path / "x.jsonl"
    file.write_text('{"format": "rxchat recording", "version": 999}\n')
    assert "version 999" in marbles(file).stderr
    file.chmod(0)
    if not os.access(file, os.R_OK):  # root reads all
        assert "cannot be read" in marbles(file).stderr


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_it_can_be_written_to_any_terminal(encoding: str) -> None:
    """What its encoding lacks becomes an escape."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "marbles", str(RECORDED / "two_calls.sse")],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": encoding},
        timeout=LONG,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "get_weather" in done.stdout.decode(encoding)
