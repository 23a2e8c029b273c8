"""An observer that says so when it is given a second stream."""

from __future__ import annotations

from typing import ClassVar

from reactivex import Observer

from operators import Event


class OneStream(Observer[Event]):
    """A sink for one stream. When that has ended, another one would be shown to nobody: its producer gets RuntimeError."""

    made_by: ClassVar[str]
    _had_its_end = False

    def on_next(self, value: Event) -> None:
        if not self.is_stopped:
            self._on_next_core(value)
        elif self._had_its_end:
            raise self._second_stream()

    def on_error(self, error: Exception) -> None:
        if self._had_its_end:
            raise self._second_stream() from error
        self._had_its_end = True
        super().on_error(error)

    def on_completed(self) -> None:
        self._had_its_end = True
        super().on_completed()

    def _second_stream(self) -> RuntimeError:
        return RuntimeError(f"this sink has had a stream to its end; {self.made_by} makes one for each stream")
