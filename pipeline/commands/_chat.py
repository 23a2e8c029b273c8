"""`rxchat chat`: ask any endpoint, and show the answer as it comes."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.commands._asking import AsJson, BaseUrl, Idle, Model, Params, Retries, System, Tools, WithUsage, asked
from pipeline.commands._output import show, verbose


def chat(
    prompt: Annotated[str, typer.Argument(help="What to ask; - reads it from stdin.")],
    model: Model = "",
    base_url: BaseUrl = "",
    system: System = "",
    param: Params = None,
    tool: Tools = None,
    as_json: AsJson = False,
    usage: WithUsage = True,
    reasoning: Annotated[bool | None, typer.Option(help="Show the reasoning. Default: on a terminal.")] = None,
    retries: Retries = 2,
    idle: Idle = 60,
    debug: Annotated[bool, typer.Option("--verbose", "-v", help="Log requests, retries and events to stderr.")] = False,
) -> None:
    """Ask any OpenAI-compatible endpoint, and show the answer as it comes.

    The key is read from OPENAI_API_KEY; a local server needs none. Ctrl-C closes the connection and leaves what had come.
    """
    verbose(on=debug)
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
    show(stream, as_json=as_json, **({} if as_json else {"show_reasoning": reasoning}))
