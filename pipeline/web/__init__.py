"""Streams on a local web page: the answer as it comes, tool calls that grow, a timeline, the raw events."""

from pipeline.web._page import Page, web
from pipeline.web._sink import WebSink

__all__ = ["Page", "WebSink", "web"]
