"""Streams kept in files: record them, play them again, compare them."""

from pipeline.recordings._diff import Diff, Parting, Timing, diff
from pipeline.recordings._format import Failure
from pipeline.recordings._record import Record, record
from pipeline.recordings._recording import (
    RecordedAttempt,
    RecordedEnd,
    RecordedRead,
    RecordedRequest,
    RecordedResponse,
    RecordedStream,
    Recording,
)
from pipeline.recordings._replayed import Replayed, replayed

__all__ = [
    "Diff",
    "Failure",
    "Parting",
    "Record",
    "RecordedAttempt",
    "RecordedEnd",
    "RecordedRead",
    "RecordedRequest",
    "RecordedResponse",
    "RecordedStream",
    "Recording",
    "Replayed",
    "Timing",
    "diff",
    "record",
    "replayed",
]
