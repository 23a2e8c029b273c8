"""Operators on streams of chat completions: bytes become events, one concern at a time. No I/O happens here.

Each operator's docstring has a marble, which the tests run: what comes in, the operator, what goes out.

        TextDelta('H')  TextDelta('i')  |
        text()
        -               -               ('Hi' |)

Time runs to the right. Columns are two or more spaces apart; what stands in one column happens at the same time. A value
is a Python expression over the names that this package exports. `-` is nothing, `|` completes, `#TruncatedError` breaks the
stream with an error of this class, and `(a b |)` is several at once, in this order.
"""

from operators._argument_events import (
    ArgumentClosed,
    ArgumentDelta,
    ArgumentEvent,
    ArgumentOpened,
    ArgumentsChecked,
    ArgumentsInvalid,
)
from operators._errors import (
    ApiError,
    ConnectionLost,
    EmptyStream,
    HttpError,
    LimitExceeded,
    NotEventStream,
    ProtocolError,
    StreamError,
    StreamTimeout,
    TruncatedError,
)
from operators._events import (
    AnnotationDelta,
    AudioDelta,
    Conversation,
    Event,
    Finish,
    Gap,
    LogprobsDelta,
    Message,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Retrying,
    RoundStarted,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallSnapshot,
    ToolResult,
    Unknown,
    Usage,
)
from operators._operator import Operator, Out, Stage, operator
from operators._spy import Lanes, Spy, current_spy, watched_by

from operators._event_stream import event_stream  # bytes → bytes: of an event stream, whatever the body was  # isort: skip
from operators._lines import lines  # bytes → bytes: lines  # isort: skip
from operators._sse import ServerSentEvent, sse  # bytes → ServerSentEvent  # isort: skip
from operators._payloads import payloads  # ServerSentEvent → bytes: the data that is a chunk  # isort: skip
from operators._chunks import Choice, Chunk, Delta, chunks  # bytes → Chunk  # isort: skip
from operators._deltas import deltas  # Chunk → Event  # isort: skip
from operators._cumulative import cumulative  # Event → Event: only what is new, where a provider repeats  # isort: skip
from operators._think_tags import think_tags  # Event → Event: reasoning between tags, apart  # isort: skip
from operators._limits import TokenCounter, limit_bytes, limit_text, limit_tokens  # guards that end in LimitExceeded  # isort: skip
from operators._tool_calls import tool_calls  # Event → Event: adds each finished call  # isort: skip
from operators._arguments import arguments  # Event → Event: adds what each piece of arguments did  # isort: skip
from operators._select import select  # Event → Event: only these types  # isort: skip
from operators._text import text  # Event → str: the whole text, on completion  # isort: skip
from operators._message import message  # Event → Message: one a choice, on completion  # isort: skip

__all__ = [
    "AnnotationDelta",
    "ApiError",
    "ArgumentClosed",
    "ArgumentDelta",
    "ArgumentEvent",
    "ArgumentOpened",
    "ArgumentsChecked",
    "ArgumentsInvalid",
    "AudioDelta",
    "Choice",
    "Chunk",
    "ConnectionLost",
    "Conversation",
    "Delta",
    "EmptyStream",
    "Event",
    "Finish",
    "Gap",
    "HttpError",
    "Lanes",
    "LimitExceeded",
    "LogprobsDelta",
    "Message",
    "NotEventStream",
    "Operator",
    "Out",
    "ProtocolError",
    "ReasoningDelta",
    "RefusalDelta",
    "Restarted",
    "Retrying",
    "RoundStarted",
    "ServerSentEvent",
    "Spy",
    "Stage",
    "Started",
    "StreamError",
    "StreamTimeout",
    "TextDelta",
    "TokenCounter",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallSnapshot",
    "ToolResult",
    "TruncatedError",
    "Unknown",
    "Usage",
    "arguments",
    "chunks",
    "cumulative",
    "current_spy",
    "deltas",
    "event_stream",
    "limit_bytes",
    "limit_text",
    "limit_tokens",
    "lines",
    "message",
    "operator",
    "payloads",
    "select",
    "sse",
    "text",
    "think_tags",
    "tool_calls",
    "watched_by",
]
