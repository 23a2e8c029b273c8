"""The commands of `rxchat`, one a file."""

from __future__ import annotations

import logging
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from pipeline.commands._chat import chat
from pipeline.commands._demo import demo
from pipeline.commands._marbles import marbles
from pipeline.commands._parse import parse
from pipeline.commands._recordings import diff, record, replay
from pipeline.commands._watch import watch

__all__ = ["app", "main"]

INTERRUPTED = 130  # as a shell counts it: 128 + SIGINT

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Streaming chat completions, from the bytes of any OpenAI-compatible server to events.",
)
for command in (chat, parse, demo, record, replay, diff, marbles, watch):
    app.command()(command)


def _version(*, asked: bool) -> None:
    if asked:
        typer.echo(f"rxchat {version('rxchat')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    _asked: Annotated[
        bool, typer.Option("--version", callback=lambda asked: _version(asked=asked), is_eager=True, help="Say which.")
    ] = False,
) -> None: ...


def main() -> None:
    """Run a command. Exit status: 0 done, 1 the stream broke, 2 wrong usage, 130 interrupted."""
    logging.getLogger("rxchat").addHandler(logging.NullHandler())  # a sink shows it, in whose lines nobody should write
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
