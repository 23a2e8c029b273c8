"""What can be measured of a stream while it passes: times, tokens, telemetry."""

from pipeline.measure._count_tokens import count_tokens
from pipeline.measure._metrics import Metrics, metrics
from pipeline.measure._token_counter import BpeCounter, TokenCounter, token_counter
from pipeline.measure._traced import traced

__all__ = ["BpeCounter", "Metrics", "TokenCounter", "count_tokens", "metrics", "token_counter", "traced"]
