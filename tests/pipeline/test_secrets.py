"""A marked key in headers, URL and body of a request is in nothing that is shown or kept, whoever looks on."""

from __future__ import annotations

import io
import logging
import traceback
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from operators import StreamError, message
from pipeline import (
    Retry,
    callbacks,
    collect,
    completion,
    console,
    decode,
    log,
    metrics,
    probe,
    record,
    replay,
    share_to,
    tap,
    traced,
)
from pipeline.notebook import show

KEY = "marked-key-4711-0815"
BODY = {"model": "m", "api_key": KEY, "messages": [{"role": "user", "content": f"api_key={KEY}"}]}
SAYS = (
    b'data: {"id":"c","model":"m","choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
REFUSES = b'{"error":{"message":"Incorrect API key provided: %b","code":"%b"}}' % (KEY.encode(), KEY.encode())


@pytest.mark.parametrize(("status", "answer"), [(200, SAYS), (401, REFUSES), (503, REFUSES)])
def test_no_onlooker_shows_it(
    status: int, answer: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore"):  # theirs shows the URL, as the README says
        caplog.set_level(logging.WARNING, name)
    spans = InMemorySpanExporter()
    tracing = TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    kept, screen = collect(), io.StringIO()
    told: list[Exception] = []
    shown: list[Any] = []
    client = httpx.Client(
        transport=httpx.MockTransport(lambda _: httpx.Response(status, content=answer, headers={"x-api-key": KEY}))
    )
    stream = completion(
        BODY,
        base_url=f"http://me:{KEY}@model.test/v1?api-key={KEY}&token={KEY}",
        api_key=KEY,
        headers={"x-api-key": KEY, "cookie": f"session={KEY}"},
        client=client,
        retry=Retry(attempts=2, backoff=0),
    )
    errors: list[Exception] = []
    sinks = share_to(log(), kept, console(screen, errors=screen), callbacks(on_error=told.append))
    with record(tmp_path / "run.jsonl"), probe() as seen:
        chain = stream.pipe(traced(tracer_provider=tracing), metrics(), sinks)
        chain.subscribe(shown.append, errors.append)
        answered = show(stream)
    replay(answer).pipe(tap(secrets=[KEY]), decode(), message()).subscribe(on_error=lambda _: None)

    for error in [*errors, *told]:
        assert isinstance(error, StreamError)
        shown += [str(error), repr(error), error.__dict__, *traceback.format_exception(error)]
    shown += [chain, stream, kept, kept.messages, screen.getvalue(), caplog.text, *caplog.messages]
    shown += [seen, seen.marbles().svg(), seen.explain(), seen.explain()._repr_html_()]
    shown += [answered, answered.events, answered.error, [span.to_json() for span in spans.get_finished_spans()]]
    shown += [(tmp_path / "run.jsonl").read_text(), *capsys.readouterr()]
    assert bool(errors) is (status != 200)
    assert len(shown) > 15
    assert [found for one in shown if KEY in (found := f"{one} {one!r}")] == []
