"""`rxchat watch`: streams on a page in the browser."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from reactivex import Observable
from reactivex import operators as ops

from operators import Event
from pipeline.chat._completion import completion
from pipeline.chat._decode import decode
from pipeline.chat._run_tools import run_tools
from pipeline.commands._demo import QUESTION, get_weather
from pipeline.commands._output import must_be_there, wrong
from pipeline.embedded import EmbeddedServerError, serve
from pipeline.recordings import Recording, replayed
from pipeline.sources._reads import reads
from pipeline.web import Page, web


def watch(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...", help="Recordings, or plain bodies; - is a body on stdin, shown as it comes."
        ),
    ] = None,
    ask: Annotated[
        list[str] | None,
        typer.Option("--ask", metavar="PROMPT", help="Ask an endpoint, as `rxchat chat` does. Repeatable."),
    ] = None,
    model: Annotated[str, typer.Option("--model", "-m", envvar="OPENAI_MODEL", help="The model to ask.")] = "",
    base_url: Annotated[
        str,
        typer.Option(envvar="OPENAI_BASE_URL", help="The part of the URL before /chat/completions. Default: OpenAI's."),
    ] = "",
    demo: Annotated[
        bool, typer.Option("--demo", help="Streams of a real server on this machine, without a key.")
    ] = False,
    speed: Annotated[float, typer.Option(min=0, help="How fast recordings are played; 0: at once.")] = 1,
    pace: Annotated[float, typer.Option(min=0, help="Seconds between two events of a body that has no times.")] = 0.02,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port of the page; 0: any that is free.")] = 0,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in the default browser.")] = False,
) -> None:
    """Show streams on a page in the browser while they run: answers, tool calls, a timeline, the raw events.

    curl -N … | rxchat watch shows one as it comes. The URL of the page is printed; it has a token in it and leads to this
    machine only. Ctrl-C ends the page.
    """
    if ask and not model:
        wrong("which model? give --model NAME, or set OPENAI_MODEL")
    if not files and not ask and not demo:
        if sys.stdin.isatty():
            wrong("watch what? give a file, a body on stdin, --ask PROMPT or --demo")
        files = ["-"]
    with ExitStack() as stack:
        try:
            streams = [*_played(files or [], speed, pace), *_asked(ask or [], model, base_url)]
            streams += _demonstrated(stack, pace) if demo else []
            page = stack.enter_context(web(port))
        except (EmbeddedServerError, ImportError, OSError, ValueError) as error:
            wrong(str(error))
        sys.stdout.write(page.url + "\n")
        sys.stdout.flush()
        sys.stderr.write("Ctrl-C ends the page.\n")
        for title, stream in streams:
            _show(page, title, stream)
        if opens:
            page.open()
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass  # as it is meant to end


def _show(page: Page, title: str, stream: Observable[Event]) -> None:
    """Run the stream in a thread of its own, which ends with the process if not before."""
    threading.Thread(target=lambda: stream.subscribe(page.sink(title)), name=title, daemon=True).start()


def _played(files: list[str], speed: float, pace: float) -> Iterator[tuple[str, Observable[Event]]]:
    for file in files:
        if file == "-":
            # unbuffered: a thread that waits in a buffered stdin would crash the interpreter on its way out
            yield "stdin", reads(open(0, "rb", buffering=0, closefd=False)).pipe(decode())  # noqa: SIM115
            continue
        must_be_there(file)
        recording, name = Recording.load(file), Path(file).name
        for one in recording.streams:
            events = replayed(recording, stream=one.number, speed=0 if recording.plain else speed).pipe(decode())
            title = name if len(recording.streams) == 1 else f"{name}, stream {one.number}"
            yield title, events.pipe(ops.do_action(_pause(pace))) if recording.plain and pace else events


def _asked(prompts: list[str], model: str, base_url: str) -> Iterator[tuple[str, Observable[Event]]]:
    for prompt in prompts:
        body = _body(model, prompt)
        yield prompt, completion(body, base_url=base_url or None)


def _demonstrated(stack: ExitStack, pace: float) -> list[tuple[str, Observable[Event]]]:
    server: Any = stack.enter_context(serve())
    where = {"base_url": server.base_url, "api_key": ""}
    weather = run_tools(
        _body(server.model, QUESTION) | {"chat_template_kwargs": {"enable_thinking": True}}, [get_weather], **where
    )
    story = completion(_body(server.model, "Tell me a story.") | {"max_tokens": 600}, **where)
    # the model says all it has to say in a twentieth of a second
    return [
        ("A story without an end", story.pipe(ops.do_action(_pause(pace)))),
        (QUESTION, weather.pipe(ops.do_action(_pause(pace * 3)))),
    ]


def _body(model: str, prompt: str) -> dict[str, Any]:
    return {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "stream_options": {"include_usage": True},
    }


def _pause(seconds: float) -> Callable[[Event], None]:
    return lambda _: time.sleep(seconds)
