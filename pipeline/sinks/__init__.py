"""Where events go. Each sink is an observer of events, and none of them parses."""

from pipeline.sinks._callbacks import callbacks
from pipeline.sinks._collect import Collected, collect
from pipeline.sinks._console import console
from pipeline.sinks._log import log
from pipeline.sinks._stream_parser import StreamParser
from pipeline.sinks._tap import tap

__all__ = ["Collected", "StreamParser", "callbacks", "collect", "console", "log", "tap"]
