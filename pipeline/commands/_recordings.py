"""`rxchat record`, `rxchat replay` and `rxchat diff`: keep a stream, play it again, compare two."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from pipeline.chat._decode import decode
from pipeline.commands._asking import AsJson, BaseUrl, Idle, Model, Params, Retries, System, Tools, WithUsage, asked
from pipeline.commands._output import must_be_there, show, wrong
from pipeline.recordings import diff as compare
from pipeline.recordings import record as recorder
from pipeline.recordings import replayed
from pipeline.sources._reads import reads

Recorded = Annotated[Path, typer.Argument(help="A recording, or a plain body as `curl -N … > body.sse` writes it.")]


def record(
    out: Annotated[Path, typer.Argument(help="The file to write; what is in it is replaced.")],
    prompt: Annotated[
        str, typer.Argument(help="What to ask; - reads it from stdin. Without it, stdin is the body.")
    ] = "",
    model: Model = "",
    base_url: BaseUrl = "",
    system: System = "",
    param: Params = None,
    tool: Tools = None,
    as_json: AsJson = False,
    usage: WithUsage = True,
    retries: Retries = 2,
    idle: Idle = 60,
) -> None:
    """Ask as `rxchat chat` does and keep every read as it came, with its time; no key is written.

    curl -N … | rxchat record run.jsonl keeps a body that comes on stdin.
    """
    if prompt:
        stream = asked(
            prompt,
            model=model,
            base_url=base_url,
            system=system,
            params=param,
            tools=tool,
            usage=usage,
            retries=retries,
            idle=idle,
        )
    elif sys.stdin.isatty():
        wrong("give a prompt, or a body on stdin: curl -N … | rxchat record run.jsonl")
    else:
        stream = reads(sys.stdin.buffer).pipe(decode())
    try:
        with recorder(out):
            show(stream, as_json=as_json)
    except OSError as error:
        wrong(f"{out} cannot be written: {error.strerror or error}")


def replay(
    file: Recorded,
    speed: Annotated[float, typer.Option(min=0, help="1 as it came, 2 twice as fast, 0 at once.")] = 1,
    stream: Annotated[int, typer.Option(min=1, help="Which of the recorded streams, counted from 1.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Play a recording again, with the same reads at the same times."""
    must_be_there(file)
    try:
        source = replayed(file, speed=speed, stream=stream)
    except ValueError as error:
        wrong(str(error))
    show(source.pipe(decode()), as_json=as_json)


def diff(a: Recorded, b: Recorded) -> None:
    """Say where two recordings part, and how their times compare. Exit status 1 if they do."""
    must_be_there(a, b)
    try:
        found = compare(a, b)
    except ValueError as error:
        wrong(str(error))
    typer.echo(str(found))
    raise typer.Exit(0 if found.same else 1)
