"""Event → Event: tells OpenTelemetry of each chat and each tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators import Conversation, Event, Operator, Out, RoundStarted, Stage, ToolResult, operator

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider


def traced(
    *,
    provider: str | None = None,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
) -> Operator[Event, Event]:
    """From events to the same events; what passes, and what the sources above do, is told to OpenTelemetry.

    By the semantic conventions for generative AI (status: development): a span `chat {model}` of kind CLIENT for each
    completion, over its attempts, one a round in a tool conversation; a span `execute_tool {name}` of kind INTERNAL for each
    tool that runs, current while it does; and the histograms `gen_ai.client.operation.duration`,
    `….time_to_first_chunk`, `….time_per_output_chunk` (seconds) and `gen_ai.client.token.usage`. Times to and between chunks
    are those of the reads that brought them, from the request that was answered; a chunk is a piece of content, no
    keep-alive. What was said is told nobody.

    It goes below `completion()` or `run_tools()`; one for each stream. A span's parent is the one that is current on
    subscribe. `provider` is `gen_ai.provider.name`; None knows it by the server, "openai" where it does not. The providers
    default to the global ones. Ends as the stream above. Raises ImportError without the extra `otel`.

    >>> from pipeline import decode, replay
    >>> body = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}'
    >>> replay(body).pipe(decode(), traced()).subscribe(print) and None
    Started(id=None, model=None, role='assistant', choice=0)
    TextDelta(text='Hi', choice=0)
    Finish(reason='stop', choice=0)
    """
    try:
        from pipeline.measure._telemetry import Call, Telemetry
    except ImportError as error:
        raise ImportError('telling OpenTelemetry needs the extra "otel": pip install "rxchat[otel]"') from error
    telemetry = Telemetry(provider, tracer_provider, meter_provider)

    @operator
    def traced(out: Out[Event]) -> Stage[Event]:
        call = Call(telemetry, out.now)
        out.watch(call)

        def on_next(event: Event) -> None:
            if isinstance(event, RoundStarted):
                call.end()
                call.begin()
            elif isinstance(event, (ToolResult, Conversation)):
                call.end()
            else:
                call.add(event)
            out.on_next(event)

        try:
            yield on_next
        except Exception as error:
            call.end(error)
            raise
        finally:
            call.end()

    return traced()
