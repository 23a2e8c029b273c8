"""A chat server without a network: llama.cpp's own, or where it has no wheel a player of what it has said."""

from __future__ import annotations

from pathlib import Path

from pipeline.embedded._recorded import RecordedServer
from pipeline.embedded._server import EmbeddedServer, EmbeddedServerError
from pipeline.embedded._smollm2 import smollm2

__all__ = ["EmbeddedServer", "EmbeddedServerError", "RecordedServer", "serve", "smollm2"]


def serve(gguf: Path | str | None = None) -> EmbeddedServer | RecordedServer:
    """A GGUF, or nothing for the tiny model → a server that is up; the recorded one where xllamacpp is not installed.

    Raises what EmbeddedServer does. No recording stands in for a GGUF: that needs the extra.
    """
    if gguf is None and not EmbeddedServer.available():
        return RecordedServer()
    return EmbeddedServer(gguf)
