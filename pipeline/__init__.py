"""Where bytes come from, the ready-made chains, the conversation, and where events go."""

from pipeline.chat._completion import completion
from pipeline.chat._decode import decode
from pipeline.chat._retry import Retry
from pipeline.chat._run_tools import run_tools
from pipeline.chat._tools import Tool, tool
from pipeline.sources._http import request
from pipeline.sources._iterate import Pull, iterate
from pipeline.sources._reads import reads
from pipeline.sources._replay import replay
from pipeline.sources._timeouts import Timeouts

__all__ = ["Pull", "Retry", "Timeouts", "Tool", "completion", "decode", "iterate", "reads", "replay", "request", "run_tools", "tool"]
