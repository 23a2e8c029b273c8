"""Streams in a notebook: shown in a cell as they come."""

from pipeline.notebook._answer import Answer
from pipeline.notebook._last import last
from pipeline.notebook._show import show
from pipeline.notebook._timeline import Timeline, timeline
from pipeline.plots._timed import Timed

__all__ = ["Answer", "Timed", "Timeline", "last", "show", "timeline"]
