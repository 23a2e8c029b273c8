"""`%load_ext pipeline`: %%chat streams a prompt, %marbles draws the last stream."""

from __future__ import annotations

import argparse
import atexit
import functools
import json
import keyword
import os
import shlex
from typing import Any, NoReturn

from IPython.core.error import UsageError

from pipeline.chat._completion import completion
from pipeline.embedded import EmbeddedServer, RecordedServer, serve
from pipeline.notebook._last import last, probe_what_is_shown
from pipeline.notebook._show import show
from pipeline.probing import Marbles


def load(ipython: Any) -> None:
    """The magics are there from now on, and what is shown from now on is seen by a probe."""

    def chat(line: str, cell: str) -> None:
        given = _CHAT.parse(line)
        if given.out is not None and (keyword.iskeyword(given.out) or not given.out.isidentifier()):
            raise UsageError(f"%%chat: --out is the name of a variable, not {given.out!r}")
        answer = show(_asked(given, cell.strip()), reasoning=not given.no_reasoning, timeline=given.timeline)
        if given.out is not None:
            ipython.user_ns[given.out] = answer

    def marbles(line: str) -> Marbles:
        return _drawn(_MARBLES.parse(line))

    chat.__doc__, marbles.__doc__ = _CHAT.format_help(), _MARBLES.format_help()
    ipython.register_magic_function(chat, "cell")
    ipython.register_magic_function(marbles, "line")
    probe_what_is_shown(on=True)


def unload(ipython: Any) -> None:
    """The magics are gone, and nothing is probed any more."""
    probe_what_is_shown(on=False)
    ipython.magics_manager.magics["cell"].pop("chat", None)
    ipython.magics_manager.magics["line"].pop("marbles", None)


# ---------------------------------------------------------------------------------------------------- options


class _Options(argparse.ArgumentParser):
    """The options on the line of a magic; what is wrong with them is said in one line, and ends nothing."""

    def __init__(self, prog: str, description: str) -> None:
        layout = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, description=description, add_help=False, allow_abbrev=False, formatter_class=layout)

    def parse(self, line: str) -> argparse.Namespace:
        try:
            return self.parse_args(shlex.split(line))
        except ValueError as error:  # a quotation without an end
            self.error(str(error))

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}")


def _param(word: str) -> tuple[str, Any]:
    """KEY=VALUE → both, the value as JSON or else as text.

    >>> _param("temperature=0.2"), _param("user=me")
    (('temperature', 0.2), ('user', 'me'))
    """
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"KEY=VALUE is wanted, not {word!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


_CHAT = _Options(
    "%%chat",
    """\
Ask what the cell says, and show the answer as it comes.

The key is read from OPENAI_API_KEY. With no URL, neither here nor in OPENAI_BASE_URL, it is
OpenAI's if there is a key; else a tiny scripted model on this machine answers, which needs no
network. last() of pipeline.notebook has the answer, also of a cell that was interrupted.""",
)
_CHAT.add_argument("-m", "--model", help="the model's name; else OPENAI_MODEL")
_CHAT.add_argument("-s", "--system", help="a system message")
_CHAT.add_argument("-u", "--url", help="the part of the URL before /chat/completions; else OPENAI_BASE_URL")
_CHAT.add_argument(
    "-p",
    "--param",
    type=_param,
    action="append",
    default=[],
    metavar="KEY=VALUE",
    help="more of the request, VALUE as JSON or text: -p temperature=0.2",
)
_CHAT.add_argument("-o", "--out", metavar="NAME", help="a variable for the answer")
_CHAT.add_argument("--no-reasoning", action="store_true", help="leave the reasoning out")
_CHAT.add_argument("--timeline", action="store_true", help="draw a timeline below, too")

_MARBLES = _Options("%marbles", "Draw what happened in the last stream that was shown, stage by stage.")
_MARBLES.add_argument("--stages", metavar="NAMES", help="those to draw, with commas; or all")
_MARBLES.add_argument("--width", type=int, help="in pixels")
_MARBLES.add_argument("--theme", choices=("auto", "light", "dark"), default="auto", help="default: as the browser says")
_MARBLES.add_argument("--save", metavar="PATH", help="write it to a file, too: .svg, or .txt")


# ---------------------------------------------------------------------------------------------------- what they do


@functools.cache
def _server() -> EmbeddedServer | RecordedServer:
    """The server that answers where no other is named; up when it is first needed, until the kernel ends."""
    server = serve()
    atexit.register(server.close)
    return server


def _asked(given: argparse.Namespace, prompt: str) -> Any:
    if not prompt:
        raise UsageError("%%chat: the prompt is empty")
    url, key = given.url or os.environ.get("OPENAI_BASE_URL"), None
    model = given.model or os.environ.get("OPENAI_MODEL")
    more: dict[str, Any] = {}
    if not url and not os.environ.get("OPENAI_API_KEY"):
        url, key, model = _server().base_url, "", _server().model
        more["chat_template_kwargs"] = {"enable_thinking": True}
    if not model:
        raise UsageError("%%chat: which model? give -m NAME, or set OPENAI_MODEL")
    messages = [{"role": "system", "content": given.system}] if given.system else []
    body = {
        "model": model,
        "messages": [*messages, {"role": "user", "content": prompt}],
        "stream_options": {"include_usage": True},
        **more,
        **dict(given.param),
    }
    try:
        return completion(body, base_url=url, api_key=key)
    except ValueError as error:
        raise UsageError(f"%%chat: {error}") from None


def _drawn(given: argparse.Namespace) -> Marbles:
    answer = last()
    if answer is None or answer.probe is None:
        raise UsageError("%marbles: no stream has been shown since %load_ext pipeline: try show() or %%chat")
    stages = given.stages if given.stages in {None, "all"} else [name.strip() for name in given.stages.split(",")]
    try:
        drawn = answer.probe.marbles(stages=stages, width=given.width, theme=given.theme)
        if given.save is not None:
            drawn.save(given.save)
        drawn.svg()  # so that what is wrong is said here
    except (ValueError, OSError) as error:
        raise UsageError(f"%marbles: {error}") from None
    return drawn
