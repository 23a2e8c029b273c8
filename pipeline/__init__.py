"""Where bytes come from, the ready-made chains, the conversation, and where events go."""

from pipeline.chat._decode import decode
from pipeline.sources._replay import replay

__all__ = ["decode", "replay"]
