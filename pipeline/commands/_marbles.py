"""`rxchat marbles`: a recorded stream as a marble diagram."""

from __future__ import annotations

import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from reactivex.scheduler import VirtualTimeScheduler

from operators import message, tool_calls
from pipeline.chat._decode import decode
from pipeline.commands._output import must_be_there, wrong
from pipeline.commands._recordings import Recorded
from pipeline.sinks._visible import encodable

if TYPE_CHECKING:
    from pipeline.probing import Marbles


class Theme(StrEnum):
    """The colours of the picture."""

    auto = "auto"
    light = "light"
    dark = "dark"


def marbles(
    recording: Recorded,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The SVG file to write, .txt for text; - is SVG to stdout. Default: text to stdout."
        ),
    ] = None,
    stages: Annotated[
        str, typer.Option(help="The rows to show, by name, with commas: reads,deltas,message; all shows every one.")
    ] = "",
    width: Annotated[int | None, typer.Option(min=60, help="Pixels of the picture, or characters of the text.")] = None,
    stream: Annotated[int, typer.Option(min=1, help="Which stream of the recording.")] = 1,
    theme: Annotated[Theme, typer.Option(help="auto is dark for readers who prefer that.")] = Theme.auto,
) -> None:
    """Draw what happened in a recorded stream: a row for each stage, a marble for each item, a thread from cause to effect.

    Takes no time: the recording is played on a virtual clock.
    """
    from pipeline.probing import probe
    from pipeline.recordings import replayed

    must_be_there(recording)
    clock = VirtualTimeScheduler()
    try:
        reads = replayed(recording, stream=stream)
    except ValueError as error:
        wrong(str(error))
    except OSError as error:
        wrong(f"{recording} cannot be read: {error.strerror or error}")
    with probe(clock=clock) as seen:
        reads.pipe(decode(), tool_calls(), message()).subscribe(on_error=_ignore, scheduler=clock)
        clock.start()
    named = "all" if stages == "all" else [name.strip() for name in stages.split(",") if name.strip()] or None
    if output is None and width is None and sys.stdout.isatty():
        width = max(shutil.get_terminal_size().columns, 60)
    picture = seen.marbles(stages=named, width=width, theme=theme.value)
    try:
        if output is None:
            typer.echo(encodable(str(picture), sys.stdout.encoding))
        elif str(output) == "-":
            typer.echo(picture.svg(), nl=False)
        else:
            _save(picture, output)
    except ValueError as error:
        wrong(str(error))


def _save(picture: Marbles, file: Path) -> None:
    try:
        picture.save(file)
    except OSError as error:
        wrong(f"{file} cannot be written: {error.strerror or error}")


def _ignore(error: Exception) -> None:
    """How a stream ended is in the picture."""
