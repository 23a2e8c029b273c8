"""Events become rows, with polars and with pandas."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

import pytest

from operators import AudioDelta, TextDelta, ToolCallSnapshot, Unknown
from pipeline.plots import to_dataframe
from tests.pipeline.plots.streams import CONVERSATION, Pairs, steady

COLUMNS = ["stream", "at", "event", "choice", "call", "text", "json"]


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = to_dataframe({"run": CONVERSATION, "other": steady()}, library="polars")
    assert frame.columns == COLUMNS
    assert frame.height == len(CONVERSATION) + 11
    assert frame.schema["at"] == polars.Float64
    said = frame.filter(polars.col("event") == "ToolCallDelta")["text"].to_list()
    assert said == ["get_weather", '{"city":"Paris"}', "get_weather"]
    assert frame["call"].to_list()[:5] == [None, None, None, None, 0]


def test_pandas() -> None:
    pytest.importorskip("pandas")
    frame = to_dataframe(CONVERSATION, library="pandas")
    assert list(frame.columns) == COLUMNS
    assert frame.loc[frame.event == "ReasoningDelta", "text"].tolist() == ["hmm "]
    assert str(frame.call.dtype) == "Int64"
    assert frame.call.isna().sum() == len(CONVERSATION) - 4


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_stream_of_nothing_has_the_same_columns(library) -> None:
    pytest.importorskip(library)
    frame = to_dataframe([], library=library)
    assert list(frame.columns) == COLUMNS
    assert len(frame) == 0


def test_whatever_an_event_holds_can_be_a_row() -> None:
    odd: Pairs = [(0.0, Unknown({1, 2})), (0.0, ToolCallSnapshot(0, 0, "c", "f", ["{}"], 1)), (0.0, AudioDelta())]
    frame = to_dataframe([*odd, (0.0, TextDelta("a"))])
    assert frame["text"].to_list() == ["", "", "", "a"]


def without(monkeypatch, *names: str) -> None:
    found = PathFinder.find_spec
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(PathFinder, "find_spec", lambda name, *a: None if name in names else found(name, *a))


def test_pandas_is_taken_where_polars_is_not(monkeypatch) -> None:
    pandas = pytest.importorskip("pandas")
    without(monkeypatch, "polars")
    assert isinstance(to_dataframe(steady()), pandas.DataFrame)


def test_where_neither_is_it_says_so(monkeypatch) -> None:
    without(monkeypatch, "polars", "pandas")
    with pytest.raises(ImportError, match="needs polars or pandas"):
        to_dataframe(steady())


def test_another_library_is_refused() -> None:
    with pytest.raises(ValueError, match="'duckdb'"):
        to_dataframe(steady(), library="duckdb")  # type: ignore[arg-type]


def test_a_number_too_large_for_a_column_is_in_the_json() -> None:
    frame = to_dataframe([(0.0, TextDelta("x", 10**30))])
    assert frame["choice"].to_list() == [None]
    assert str(10**30) in frame["json"][0]
