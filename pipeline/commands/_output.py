"""How a command shows a stream, and with what status it ends."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import typer
from reactivex import Observable

from operators import Event, StreamError
from pipeline.sinks import console
from pipeline.sinks._phrases import noted


class JsonLines:
    """One event a line on stdout, as it comes; an error is the last line, an object like the others."""

    def on_next(self, event: Event) -> None:
        self._write(msgspec.json.encode(event))

    def on_error(self, error: Exception) -> None:
        names = ("kind", "message", "status", "code", "type", "param", "retry_after", "request_id")
        known = {name: value for name in names if (value := getattr(error, name, None)) is not None}
        self._write(msgspec.json.encode({"event": "Error", "message": str(error)} | known))

    def on_completed(self) -> None:
        pass

    def _write(self, line: bytes) -> None:
        sys.stdout.write(line.decode() + "\n")
        sys.stdout.flush()


def show(stream: Observable[Event], *, as_json: bool, **options: Any) -> None:
    """Show the stream until it ends. A broken one exits with 1, an interrupted one shows that it was left."""
    failed: list[Exception] = []
    sink: Any = JsonLines() if as_json else console(**options)

    def on_error(error: Exception) -> None:
        failed.append(error)
        sink.on_error(error)

    try:
        stream.subscribe(sink.on_next, on_error, sink.on_completed)
    except KeyboardInterrupt:  # the source has closed its connection already
        if hasattr(sink, "dispose"):
            sink.dispose()
        raise
    except BrokenPipeError:  # `rxchat … | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    if failed:
        if as_json:
            complain(failed[0])
        raise typer.Exit(1)


def complain(error: Exception) -> None:
    """Say on stderr what went wrong, in one line."""
    kind = f"{error.kind}: " if isinstance(error, StreamError) else ""
    sys.stderr.write(f"rxchat: {kind}{error}{noted(error)}\n")


def wrong(message: str) -> NoReturn:
    """Wrong usage: say so, and exit with 2."""
    sys.stderr.write(f"rxchat: {message}\n")
    raise typer.Exit(2)


def must_be_there(*files: str | Path) -> None:
    """Files, or pipes with a name, such as `<(curl -N …)` makes."""
    for file in files:
        if not Path(file).exists():
            wrong(f"there is no file {str(file)!r}")
        if Path(file).is_dir():
            wrong(f"{str(file)!r} is a folder, not a file")


def verbose(*, on: bool) -> None:
    """Log what happens inside to stderr."""
    if on:
        logging.basicConfig(stream=sys.stderr, level=logging.DEBUG, format="%(asctime)s %(name)s %(message)s")
        logging.getLogger("httpcore").setLevel(logging.INFO)
