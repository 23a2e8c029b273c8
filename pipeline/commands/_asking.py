"""The options with which an endpoint is asked, and the stream that they make: the same for every command that asks."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from reactivex import Observable

from operators import Event
from pipeline.chat._completion import completion
from pipeline.chat._retry import Retry
from pipeline.chat._run_tools import run_tools
from pipeline.chat._tools import Tool, as_tools
from pipeline.commands._output import wrong
from pipeline.sources._timeouts import Timeouts

Model: TypeAlias = Annotated[str, typer.Option("--model", "-m", envvar="OPENAI_MODEL", help="The model's name.")]
BaseUrl: TypeAlias = Annotated[
    str, typer.Option(envvar="OPENAI_BASE_URL", help="The part of the URL before /chat/completions. Default: OpenAI's.")
]
System: TypeAlias = Annotated[str, typer.Option("--system", "-s", help="A system message.")]
Params: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--param", "-p", metavar="KEY=VALUE", help="More of the request, VALUE as JSON or text: temperature=0.2."
    ),
]
Tools: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--tool", metavar="MODULE:FUNCTION", help="A Python function that the model may call. Repeatable."),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One event a line, as JSON.")]
WithUsage: TypeAlias = Annotated[bool, typer.Option(help="Ask for the token counts.")]
Retries: TypeAlias = Annotated[int, typer.Option(min=0, help="How often a request that failed is made again.")]
Idle: TypeAlias = Annotated[
    float, typer.Option(min=0.001, help="Seconds without a byte after which the stream has timed out.")
]


def asked(
    prompt: str,
    *,
    model: str,
    base_url: str,
    system: str,
    params: list[str] | None,
    tools: list[str] | None,
    usage: bool,
    retries: int,
    idle: float,
) -> Observable[Event]:
    """The stream that a prompt and the options ask for; wrong ones exit with 2."""
    if not model:
        wrong("which model? give --model NAME, or set OPENAI_MODEL")
    said = sys.stdin.read() if prompt == "-" else prompt
    if not said.strip():
        wrong("no prompt came on stdin" if prompt == "-" else "the prompt is empty")
    messages = [{"role": "system", "content": system}] if system else []
    body: dict[str, Any] = {"model": model, "messages": [*messages, {"role": "user", "content": said}]}
    if usage:
        body["stream_options"] = {"include_usage": True}
    body |= dict(_param(given) for given in params or ())
    options: dict[str, Any] = {
        "base_url": base_url or None,
        "timeouts": Timeouts(first=max(idle, 60), idle=idle),
        "retry": Retry(attempts=retries + 1),
    }
    try:
        return run_tools(body, [_tool(name) for name in tools], **options) if tools else completion(body, **options)
    except ValueError as error:
        wrong(str(error))


def _param(given: str) -> tuple[str, Any]:
    name, equals, value = given.partition("=")
    if not equals or not name:
        wrong(f"--param takes KEY=VALUE, not {given!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _tool(given: str) -> Tool:
    """The tool that MODULE:FUNCTION names, from the folder in which the command is run, or installed."""
    module, colon, name = given.partition(":")
    if not colon:
        wrong(f"--tool takes MODULE:FUNCTION, not {given!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), name)
        return next(iter(as_tools([found]).values()))
    except Exception as error:  # a module may raise anything while it is imported
        wrong(f"--tool {given}: {type(error).__name__}: {error}")
