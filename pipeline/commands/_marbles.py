"""`rxchat marbles`: a recorded stream as a marble diagram."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from reactivex.scheduler import VirtualTimeScheduler

from operators import message, tool_calls
from pipeline.chat._decode import decode
from pipeline.commands._output import wrong


class Theme(StrEnum):
    """What the panel of the picture looks like."""

    light = "light"
    dark = "dark"


def marbles(
    recording: Annotated[
        Path, typer.Argument(help="A recording (rxchat record), or a body as `curl -N … > body.sse` writes it.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The SVG file to write, .txt for text; - is stdout. Default: text to stdout."
        ),
    ] = None,
    stages: Annotated[
        str, typer.Option(help="The rows to show, by name, with commas: reads,deltas,message; all shows every one.")
    ] = "",
    width: Annotated[int | None, typer.Option(min=60, help="Pixels of the picture, or characters of the text.")] = None,
    stream: Annotated[int, typer.Option(min=1, help="Which stream of the recording.")] = 1,
    theme: Annotated[Theme, typer.Option(help="Of the picture's own panel.")] = Theme.light,
) -> None:
    """Draw what happened in a recorded stream: a row for each stage, a marble for each item, a thread from cause to effect.

    Takes no time: the recording is played on a virtual clock.
    """
    from pipeline.probing import probe
    from pipeline.recordings import replayed

    clock = VirtualTimeScheduler()
    try:
        reads = replayed(recording, stream=stream)
    except (OSError, ValueError) as error:
        wrong(str(error))
    with probe(clock=clock) as seen:
        reads.pipe(decode(), tool_calls(), message()).subscribe(on_error=_ignore, scheduler=clock)
        clock.start()
    named = "all" if stages == "all" else [name.strip() for name in stages.split(",") if name.strip()] or None
    picture = seen.marbles(stages=named, width=width, theme=theme.value)
    try:
        if output is None:
            sys.stdout.write(f"{picture}\n")
        elif str(output) == "-":
            sys.stdout.write(picture.svg())
        else:
            picture.save(output)
    except (OSError, ValueError) as error:
        wrong(str(error))


def _ignore(error: Exception) -> None:
    """How a stream ended is in the picture."""
