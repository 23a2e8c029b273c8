"""`rxchat parse`: what a recorded body says."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from reactivex import Observable

from operators import Message, StreamError, message
from pipeline.chat._decode import decode
from pipeline.commands._output import complain, must_be_there, show, wrong
from pipeline.recordings import replayed
from pipeline.recordings._format import header_of
from pipeline.sources._reads import reads


class OnError(StrEnum):
    """What becomes of data that cannot be decoded."""

    stop = "raise"
    skip = "skip"
    emit = "emit"


def parse(
    file: Annotated[
        str, typer.Argument(help="A recorded body, as `curl -N … > body.sse` writes it; - is stdin.")
    ] = "-",
    as_json: Annotated[bool, typer.Option("--json", help="One event a line, as JSON.")] = False,
    whole: Annotated[bool, typer.Option("--message", help="The final messages, one a line, as JSON.")] = False,
    think_tags: Annotated[bool, typer.Option("--think-tags", help="<think> in the text is reasoning.")] = False,
    cumulative: Annotated[bool, typer.Option("--cumulative", help="Each delta repeats the whole text so far.")] = False,
    extras: Annotated[bool, typer.Option("--extras", help="Show keys that no event has a field for.")] = False,
    errors: Annotated[OnError, typer.Option(help="What to do with data that cannot be decoded.")] = OnError.stop,
) -> None:
    """Show what a recorded body says: as it would have looked, as events, or as the final message.

    curl -N … | rxchat parse shows it as it comes.
    """
    if file == "-":
        if sys.stdin.isatty():
            wrong("give a file, or a body on stdin: curl -N … | rxchat parse")
        source = reads(sys.stdin.buffer)
    else:
        must_be_there(file)
        source = _reads_of(Path(file))
    events = source.pipe(decode(think_tags=think_tags, cumulative=cumulative, extras=extras, errors=errors.value))
    if not whole:
        show(events, as_json=as_json, **({} if as_json else {"clock": None}))
        return
    broken: list[Exception] = []
    events.pipe(message()).subscribe(_print, broken.append)
    if broken:
        for partial in broken[0].partial if isinstance(broken[0], StreamError) else ():
            _print(partial)
        complain(broken[0])
        raise typer.Exit(1)


def _print(one: Message) -> None:
    sys.stdout.write(msgspec.json.encode(one).decode() + "\n")


def _reads_of(path: Path) -> Observable[bytes]:
    """What a body has as soon as it has it, and what a recording has, all at once."""
    if path.is_file():
        with path.open("rb") as file:
            first = file.readline(1000)
        try:
            if header_of(first.rstrip(b"\n")) is not None:
                return replayed(path, speed=0)
        except ValueError as error:
            wrong(str(error))
    return reads(path)
