"""Where bytes come from, the ready-made chains, the conversation, and where events go."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pipeline.chat._completion import completion
from pipeline.chat._decode import decode
from pipeline.chat._retry import Retry
from pipeline.chat._run_tools import run_tools
from pipeline.chat._tools import Tool, tool
from pipeline.sources._fair_loop import fair_loop
from pipeline.sources._http import request
from pipeline.sources._iterate import Pull, iterate
from pipeline.sources._reads import reads
from pipeline.sources._replay import replay
from pipeline.sources._timeouts import Timeouts

if TYPE_CHECKING:
    from pipeline.measure import Metrics, TokenCounter, count_tokens, metrics, token_counter, traced
    from pipeline.notebook import show
    from pipeline.probing import Marbles, explain, probe
    from pipeline.recordings import Recording, diff, record
    from pipeline.sharing import Paced, block, coalesce, drop_oldest, latest, share_to
    from pipeline.sinks import StreamParser, callbacks, collect, console, log, tap

__all__ = [
    "Marbles",
    "Metrics",
    "Paced",
    "Pull",
    "Recording",
    "Retry",
    "StreamParser",
    "Timeouts",
    "TokenCounter",
    "Tool",
    "block",
    "callbacks",
    "coalesce",
    "collect",
    "completion",
    "console",
    "count_tokens",
    "decode",
    "diff",
    "drop_oldest",
    "explain",
    "fair_loop",
    "iterate",
    "latest",
    "log",
    "metrics",
    "probe",
    "reads",
    "record",
    "replay",
    "request",
    "run_tools",
    "share_to",
    "show",
    "tap",
    "token_counter",
    "tool",
    "traced",
]

_LATE = {
    **dict.fromkeys(
        ("Metrics", "TokenCounter", "count_tokens", "metrics", "token_counter", "traced"), "pipeline.measure"
    ),
    "show": "pipeline.notebook",
    **dict.fromkeys(("Marbles", "explain", "probe"), "pipeline.probing"),
    **dict.fromkeys(("Recording", "diff", "record"), "pipeline.recordings"),
    **dict.fromkeys(("StreamParser", "callbacks", "collect", "console", "log", "tap"), "pipeline.sinks"),
    **dict.fromkeys(("Paced", "block", "coalesce", "drop_oldest", "latest", "share_to"), "pipeline.sharing"),
}
"""Names that are imported when they are first asked for: what draws takes longer to import than what streams."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_LATE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext pipeline`: %%chat streams a prompt, and %marbles draws what happened in the last stream shown."""
    from pipeline.notebook._magics import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext pipeline`."""
    from pipeline.notebook._magics import unload

    unload(ipython)
