"""OpenTelemetry's instruments, and one chat as they see it. The only file that imports OpenTelemetry."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import context, metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

from operators import Event, Finish, HttpError, Restarted, Retrying, Spy, Started, StreamError, Usage
from pipeline._redact import redact_text
from pipeline.measure._metrics import CONTENT
from pipeline.measure._source_facts import SourceFacts

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = tuple(4**power for power in range(14))

_PROVIDERS = {
    "anthropic.com": "anthropic",
    "api.x.ai": "x_ai",
    "azure.com": "azure.ai.openai",
    "cohere.com": "cohere",
    "deepseek.com": "deepseek",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "groq.com": "groq",
    "mistral.ai": "mistral_ai",
    "perplexity.ai": "perplexity",
}
"""The well-known values of gen_ai.provider.name, by the end of the server's name."""


class Telemetry:
    """A tracer and the four histograms, with the boundaries that the conventions ask for."""

    def __init__(
        self, provider: str | None, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None
    ) -> None:
        self.provider = provider
        self.tracer = trace.get_tracer("rxchat", tracer_provider=tracer_provider)
        meter = metrics.get_meter("rxchat", meter_provider=meter_provider)

        def histogram(name: str, unit: str, what: str, bounds: tuple[float, ...]) -> metrics.Histogram:
            return meter.create_histogram(
                f"gen_ai.client.{name}", unit, what, explicit_bucket_boundaries_advisory=bounds
            )

        self.duration = histogram("operation.duration", "s", "GenAI operation duration.", _SECONDS)
        self.first_chunk = histogram(
            "operation.time_to_first_chunk", "s", "Time from the request to the first chunk of output.", _SECONDS
        )
        self.next_chunk = histogram(
            "operation.time_per_output_chunk", "s", "Time from one chunk of output to the next.", _SECONDS
        )
        self.tokens = histogram("token.usage", "{token}", "Number of input and output tokens used.", _TOKENS)


class Call(Spy):
    """One chat, from its first request to the end of its answer; then, after `begin()`, the next one.

    The span is begun with the request, as its sampler wants to know model and server; where no request is seen, with the
    first event. Tools may start in other threads, and end it too.
    """

    def __init__(self, telemetry: Telemetry, now: Callable[[], float]) -> None:
        self._telemetry, self._now = telemetry, now
        self._parent = context.get_current()
        self._facts = SourceFacts(now)
        self._lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """What follows is the next chat."""
        self._facts.clear()
        self._span: Span | None = None
        self._began, self._wall = self._now(), time.time_ns()
        self._attributes: dict[str, Any] = {}  # those that spans and histograms share
        self._first: float | None = None
        self._last = 0.0
        self._reasons: dict[int, str] = {}
        self._usage = Usage()
        self._id: str | None = None

    # ------------------------------------------------------------------------------------------------ what sources do

    def request(self, method: str, url: str, headers: Mapping[str, str], body: object) -> None:
        self._facts.request(method, url, headers, body)
        if self._span is None:
            model = body.get("model") if isinstance(body, Mapping) else None
            self._began, self._wall = self._now(), time.time_ns()
            self._start(url, model if isinstance(model, str) else None)

    def read(self, data: bytes) -> None:
        self._facts.read(data)

    def closed(self, error: Exception | None) -> None:
        self._facts.closed(error)

    def tool(self, name: str, id: str) -> Callable[[Exception | None], None]:  # noqa: A002
        self.end()
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": id,
            "gen_ai.tool.type": "function",
        }
        span = self._telemetry.tracer.start_span(f"execute_tool {name}", self._parent, SpanKind.INTERNAL, attributes)
        token = context.attach(trace.set_span_in_context(span, self._parent))

        def ended(error: Exception | None) -> None:
            context.detach(token)
            _fail(span, error)
            span.end()

        return ended

    # ------------------------------------------------------------------------------------------------ what passes

    def add(self, event: Event) -> None:
        if isinstance(event, Retrying):
            return
        if self._span is None:
            self._start(None, None)
        if isinstance(event, CONTENT):
            self._chunk()
        elif isinstance(event, Started):
            self._id = self._id or event.id
            if event.model:
                self._attributes["gen_ai.response.model"] = event.model
        elif isinstance(event, Finish):
            self._reasons.setdefault(event.choice, event.reason)
        elif isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, Restarted):
            self._first = None
            self._reasons.clear()
            self._usage = Usage()

    def _chunk(self) -> None:
        """The read that brought it is when it came; a stage between may have held it back."""
        at = self._now() if self._facts.last_read is None else self._facts.last_read
        if self._first is None:
            since = self._began if self._facts.requested is None else self._facts.requested
            self._first = at - since
            self._telemetry.first_chunk.record(self._first, self._attributes)
        else:
            self._telemetry.next_chunk.record(at - self._last, self._attributes)
        self._last = at

    # ------------------------------------------------------------------------------------------------ the span

    def _start(self, url: str | None, model: str | None) -> None:
        address = urlsplit(url) if url is not None else None
        host = (address.hostname or "") if address is not None else ""
        self._attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self._telemetry.provider or _provider(host),
        }
        if model is not None:
            self._attributes["gen_ai.request.model"] = model
        if address is not None and host:
            self._attributes["server.address"] = host
            self._attributes["server.port"] = address.port or (80 if address.scheme == "http" else 443)
        self._span = self._telemetry.tracer.start_span(
            f"chat {model}" if model else "chat",
            self._parent,
            SpanKind.CLIENT,
            {**self._attributes, "gen_ai.request.stream": True},
            start_time=self._wall,
        )

    def end(self, error: Exception | None = None) -> None:
        """The answer is over: at the end of its body, or now. Does nothing a second time."""
        with self._lock:
            if self._span is None and error is not None and not self._attributes:
                self._start(None, None)  # it broke before anything was seen
            span, self._span = self._span, None
        if span is None:
            return
        at = self._facts.closed_at if self._facts.closed_at is not None else self._now()
        self._record(at - self._began, error)
        found = {
            "gen_ai.response.id": self._id,
            "gen_ai.response.model": self._attributes.get("gen_ai.response.model"),
            "gen_ai.response.finish_reasons": [self._reasons[choice] for choice in sorted(self._reasons)] or None,
            "gen_ai.response.time_to_first_chunk": self._first,
            "gen_ai.usage.input_tokens": self._usage.prompt_tokens,
            "gen_ai.usage.output_tokens": self._usage.completion_tokens,
        }
        span.set_attributes({name: value for name, value in found.items() if value is not None})
        _fail(span, error)
        span.end(self._wall + round((at - self._began) * 1e9))

    def _record(self, seconds: float, error: Exception | None) -> None:
        failed = {} if error is None else {"error.type": _error_type(error)}
        self._telemetry.duration.record(seconds, {**self._attributes, **failed})
        for kind, count in (("input", self._usage.prompt_tokens), ("output", self._usage.completion_tokens)):
            if count is not None:
                self._telemetry.tokens.record(count, {**self._attributes, "gen_ai.token.type": kind})


def _provider(host: str) -> str:
    return next((name for end, name in _PROVIDERS.items() if host == end or host.endswith(f".{end}")), "openai")


def _fail(span: Span, error: Exception | None) -> None:
    if error is not None:
        span.set_attribute("error.type", _error_type(error))
        span.set_status(Status(StatusCode.ERROR, redact_text(str(error))))


def _error_type(error: Exception) -> str:
    """Few values: the status of a refused request, the kind of a broken stream, else the name of the exception."""
    if isinstance(error, HttpError) and error.status is not None:
        return str(error.status)
    return error.kind if isinstance(error, StreamError) else type(error).__name__
