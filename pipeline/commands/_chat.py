"""`rxchat chat`: ask any endpoint, and show the answer as it comes."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.chat._completion import completion
from pipeline.chat._retry import Retry
from pipeline.chat._run_tools import run_tools
from pipeline.chat._tools import Tool, as_tools
from pipeline.commands._output import show, verbose, wrong
from pipeline.sources._timeouts import Timeouts


def chat(
    prompt: Annotated[str, typer.Argument(help="What to ask; - reads it from stdin.")],
    model: Annotated[str, typer.Option("--model", "-m", envvar="OPENAI_MODEL", help="The model's name.")] = "",
    base_url: Annotated[
        str, typer.Option(envvar="OPENAI_BASE_URL", help="The part of the URL before /chat/completions. Default: OpenAI's.")
    ] = "",
    system: Annotated[str, typer.Option("--system", "-s", help="A system message.")] = "",
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="KEY=VALUE", help="More of the request, VALUE as JSON or text: temperature=0.2."),
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", metavar="MODULE:FUNCTION", help="A Python function that the model may call. Repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One event a line, as JSON.")] = False,
    usage: Annotated[bool, typer.Option(help="Ask for the token counts.")] = True,
    reasoning: Annotated[bool | None, typer.Option(help="Show the reasoning. Default: on a terminal.")] = None,
    retries: Annotated[int, typer.Option(min=0, help="How often a request that failed is made again.")] = 2,
    idle: Annotated[float, typer.Option(min=0.001, help="Seconds without a byte after which the stream has timed out.")] = 60,
    debug: Annotated[bool, typer.Option("--verbose", "-v", help="Log requests, retries and events to stderr.")] = False,
) -> None:
    """Ask any OpenAI-compatible endpoint, and show the answer as it comes.

    The key is read from OPENAI_API_KEY; a local server needs none. Ctrl-C closes the connection and leaves what had come.
    """
    verbose(on=debug)
    if not model:
        wrong("which model? give --model NAME, or set OPENAI_MODEL")
    said = sys.stdin.read() if prompt == "-" else prompt
    if not said.strip():
        wrong("the prompt is empty" if prompt != "-" else "no prompt came on stdin")
    messages = [{"role": "system", "content": system}] if system else []
    body: dict[str, Any] = {"model": model, "messages": [*messages, {"role": "user", "content": said}]}
    if usage:
        body["stream_options"] = {"include_usage": True}
    body |= dict(_param(given) for given in param or ())
    options: dict[str, Any] = {
        "base_url": base_url or None,
        "timeouts": Timeouts(first=max(idle, 60), idle=idle),
        "retry": Retry(attempts=retries + 1),
    }
    try:
        asked = run_tools(body, [_tool(name) for name in tool], **options) if tool else completion(body, **options)
    except ValueError as error:
        wrong(str(error))
    show(asked, as_json=as_json, **({} if as_json else {"show_reasoning": reasoning}))


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
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        wrong(f"--tool {given}: {error}")

