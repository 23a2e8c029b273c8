"""What OpenTelemetry is told, by the SDK's in-memory exporters; names by its own list of conventions."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx
import pytest
import reactivex
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from reactivex.scheduler import VirtualTimeScheduler

from operators import Event, Finish, StreamError, TextDelta
from pipeline import Retry, completion, decode, run_tools
from pipeline.measure import traced
from pipeline.measure._telemetry import _error_type, _provider
from pipeline.recordings import RecordedAttempt, RecordedRead, RecordedStream, Recording, replayed

SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
KEY = "sk-proj-MARKED-0123456789"


class Told:
    """Where the telemetry goes."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def traced(self, **options: Any) -> Any:
        return traced(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def points(self) -> dict[str, list[HistogramDataPoint]]:
        data = self.reader.get_metrics_data()
        found: dict[str, list[HistogramDataPoint]] = {}
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found[f"{metric.name} {metric.unit}"] = list(metric.data.data_points)  # type: ignore[arg-type]
        return found


@pytest.fixture
def told() -> Told:
    return Told()


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    chunk = {"id": "c1", "model": "m-2", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


HELLO = b"".join((
    event({"content": "Hel"}), b": alive\n\n", event({"content": "lo"}), event({}, "stop"),
    event({}, usage={"prompt_tokens": 5, "completion_tokens": 2}), b"data: [DONE]\n\n",
))  # fmt: skip
CALL = {"index": 0, "id": "call_1", "function": {"name": "now", "arguments": "{}"}}
CALLS = event({"tool_calls": [CALL]}) + event({}, "tool_calls") + b"data: [DONE]\n\n"


def client(*bodies: bytes | httpx.Response) -> httpx.Client:
    rest = iter(bodies)

    def answer(_: httpx.Request) -> httpx.Response:
        found = next(rest)
        return found if isinstance(found, httpx.Response) else httpx.Response(200, content=found)

    return httpx.Client(transport=httpx.MockTransport(answer))


def ask(client: Any, **options: Any) -> reactivex.Observable[Event]:
    return completion({"model": "m"}, base_url="http://model.test:8080/v1", client=client, **options)


def test_one_span_for_a_chat(told: Told) -> None:
    """With the attributes of the conventions, of kind CLIENT, and no event for a chunk."""
    passed: list[Event] = []
    ask(client(HELLO)).pipe(told.traced()).subscribe(passed.append)
    assert TextDelta("Hel") in passed
    (span,) = told.spans
    assert (span.name, span.kind, span.events, span.status.status_code) == (
        "chat m",
        SpanKind.CLIENT,
        (),
        StatusCode.UNSET,
    )
    attributes = dict(span.attributes or {})
    assert isinstance(attributes.pop("gen_ai.response.time_to_first_chunk"), float)
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.request.stream": True,
        "gen_ai.response.id": "c1",
        "gen_ai.response.model": "m-2",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.usage.output_tokens": 2,
        "server.address": "model.test",
        "server.port": 8080,
    }


def test_the_histograms(told: Told) -> None:
    ask(client(HELLO)).pipe(told.traced(provider="acme")).subscribe()
    points = told.points()
    counts = {name: [point.count for point in found] for name, found in points.items()}
    assert counts == {
        "gen_ai.client.operation.duration s": [1],
        "gen_ai.client.operation.time_to_first_chunk s": [1],
        "gen_ai.client.operation.time_per_output_chunk s": [1],
        "gen_ai.client.token.usage {token}": [1, 1],
    }
    shared = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m-2",
        "server.address": "model.test",
        "server.port": 8080,
    }
    for name, found in points.items():
        for point in found:
            attributes = dict(point.attributes or {})
            kind = attributes.pop("gen_ai.token.type", None)
            assert attributes == shared
            if kind is None:
                assert list(point.explicit_bounds) == SECONDS, name
            else:
                assert list(point.explicit_bounds) == [4**power for power in range(14)]
                assert point.sum == {"input": 5, "output": 2}[str(kind)]


def test_the_names_are_those_of_the_conventions(told: Told) -> None:
    conventions = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    instruments = pytest.importorskip("opentelemetry.semconv._incubating.metrics.gen_ai_metrics")
    known = {value for value in vars(conventions).values() if isinstance(value, str)}
    named = {value for value in vars(instruments).values() if isinstance(value, str)}
    bodies = client(CALLS, HELLO)
    run_tools({"model": "m"}, {"now": lambda: "noon"}, base_url="http://h/v1", client=bodies).pipe(told.traced()).run()
    used = {name for span in told.spans for name in span.attributes or {}}
    assert {name for name in used if name.startswith("gen_ai.")} <= known
    assert {name.split()[0] for name in told.points()} <= named


def test_times_are_those_of_the_reads(told: Told) -> None:
    """From the subscription, where no request is seen; not of what holds events back below."""
    reads = ((2.0, event({})), (3.0, event({"content": "a"})), (3.5, event({"content": "b"}, "stop")), (9.0, b"\n"))
    attempt = RecordedAttempt(reads=tuple(RecordedRead(at, data) for at, data in reads))
    source = replayed(Recording((RecordedStream(attempts=(attempt,)),)))
    clock = VirtualTimeScheduler()
    source.pipe(decode(), told.traced()).subscribe(scheduler=clock)
    clock.start()
    sums = {name: [point.sum for point in found] for name, found in told.points().items()}
    assert sums == {
        "gen_ai.client.operation.duration s": [9.0],
        "gen_ai.client.operation.time_to_first_chunk s": [3.0],
        "gen_ai.client.operation.time_per_output_chunk s": [0.5],
    }
    (span,) = told.spans
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time == 9_000_000_000
    assert span.name == "chat"


def test_a_span_for_each_round_and_each_tool(told: Told) -> None:
    """A tool's own spans are its children; all others are children of what was current on subscribe."""
    mine = told.tracers.get_tracer("mine")
    seen: list[Any] = []

    def now() -> str:
        with mine.start_as_current_span("inner"):
            seen.append(trace.get_current_span())
            raise ValueError("no clock")

    bodies = client(CALLS, HELLO)
    with mine.start_as_current_span("outer") as outer:
        run_tools({"model": "m"}, {"now": now}, base_url="http://h/v1", client=bodies).pipe(told.traced()).run()
    spans = {span.name: span for span in told.spans}
    assert [span.name for span in told.spans] == ["chat m", "inner", "execute_tool now", "chat m", "outer"]
    tool = spans["execute_tool now"]
    assert tool.kind is SpanKind.INTERNAL
    assert dict(tool.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "now",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.type": "function",
        "error.type": "ValueError",
    }
    assert tool.status.status_code is StatusCode.ERROR
    parents = {span.name: span.parent.span_id if span.parent else None for span in told.spans}
    root, inside = outer.get_span_context().span_id, tool.get_span_context()
    assert inside is not None
    assert parents == {
        "outer": None,
        "chat m": root,
        "execute_tool now": root,
        "inner": inside.span_id,
    }
    first, second = (dict(span.attributes or {}) for span in told.spans if span.name == "chat m")
    assert first["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert second["gen_ai.response.finish_reasons"] == ("stop",)


def test_on_an_event_loop(told: Told) -> None:
    async def now() -> str:
        await asyncio.sleep(0)
        return "noon"

    async def run() -> None:
        rest = iter((CALLS, HELLO))
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=next(rest)))
        async with httpx.AsyncClient(transport=transport) as client:
            await run_tools({"model": "m"}, {"now": now}, base_url="http://h/v1", client=client).pipe(told.traced())

    asyncio.run(run())
    assert [span.name for span in told.spans] == ["chat m", "execute_tool now", "chat m"]
    assert all(span.status.status_code is StatusCode.UNSET for span in told.spans)


def test_over_all_attempts_one_span(told: Told) -> None:
    ask(client(httpx.Response(503), HELLO), retry=Retry(backoff=0)).pipe(told.traced()).run()
    (span,) = told.spans
    assert "error.type" not in (span.attributes or {})


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (httpx.Response(429, json={"error": {"message": f"slow down, {KEY}"}}), "429"),
        (event({"content": "Hel"}), "truncated"),
        (b"<html>", "not_sse"),
    ],
)
def test_an_error_has_a_type(told: Told, answer: Any, kind: str) -> None:
    with pytest.raises(StreamError):
        ask(client(answer), retry=Retry(attempts=1)).pipe(told.traced()).run()
    (span,) = told.spans
    assert (span.attributes or {})["error.type"] == kind
    assert span.status.status_code is StatusCode.ERROR
    assert "MARKED" not in span.to_json()
    (point,) = told.points()["gen_ai.client.operation.duration s"]
    assert (point.attributes or {})["error.type"] == kind


def test_a_span_ends_with_its_subscription(told: Told) -> None:
    """A subscriber that leaves is no error."""
    found = (
        ask(client(HELLO)).pipe(told.traced(), reactivex.operators.take(2)).pipe(reactivex.operators.to_list()).run()
    )
    assert len(found) == 2
    (span,) = told.spans
    assert "error.type" not in (span.attributes or {})
    assert "gen_ai.response.finish_reasons" not in (span.attributes or {})


def test_what_was_never_asked_is_no_chat(told: Told) -> None:
    silent: reactivex.Observable[Event] = reactivex.never()
    silent.pipe(told.traced()).subscribe().dispose()
    assert told.exporter.get_finished_spans() == ()
    reactivex.of(Finish("stop")).pipe(told.traced()).subscribe()
    assert [span.name for span in told.spans] == ["chat"]


def test_providers_and_ports() -> None:
    hosts = ("api.openai.com", "me.openai.azure.com", "api.groq.com", "api.x.ai", "localhost", "notgroq.com")
    assert [_provider(host) for host in hosts] == ["openai", "azure.ai.openai", "groq", "x_ai", "openai", "openai"]
    assert _error_type(KeyError()) == "KeyError"


def test_the_default_port(told: Told) -> None:
    completion({"model": "m"}, base_url="https://api.groq.com/v1", client=client(HELLO)).pipe(told.traced()).run()
    attributes = told.spans[0].attributes or {}
    assert (attributes["server.address"], attributes["server.port"]) == ("api.groq.com", 443)
    assert attributes["gen_ai.provider.name"] == "groq"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pipeline.measure._telemetry", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ImportError, match=r'pip install "rxchat\[otel\]"'):
        traced()
