"""Cells that run in this process, in IPython's own kernel, and what a notebook would save of their outputs."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, NamedTuple

from ipykernel.inprocess.ipkernel import InProcessKernel
from ipykernel.inprocess.manager import InProcessKernelManager

from pipeline.notebook import last
from tests.support.timing import LONG

WIDGET = "application/vnd.jupyter.widget-view+json"


class Shown(NamedTuple):
    """What a cell has shown: a bundle by media type, the text of a stream, or an error."""

    kind: str
    data: dict[str, Any]

    @property
    def plain(self) -> str:
        return str(self.data.get("text/plain", ""))

    @property
    def html(self) -> str:
        return str(self.data.get("text/html", ""))


def saved(messages: list[Any]) -> list[Shown]:
    """From a kernel's messages to the outputs that stay: each in its last state, pieces of a stream joined."""
    shown: list[Shown] = []
    places: dict[str, int] = {}
    for message in messages:
        kind, content = message["msg_type"], message["content"]
        if kind == "stream":
            if shown and shown[-1].kind == content["name"]:
                content = {**content, "text": shown.pop().plain + content["text"]}
            shown.append(Shown(content["name"], {"text/plain": content["text"]}))
        elif kind == "error":
            shown.append(Shown("error", {"text/plain": f"{content['ename']}: {content['evalue']}"}))
        elif kind in {"display_data", "execute_result"}:
            places[content.get("transient", {}).get("display_id", "")] = len(shown)
            shown.append(Shown(kind, content["data"]))
        elif kind == "update_display_data":
            place = places.get(content["transient"]["display_id"])
            if place is not None:
                shown[place] = Shown(shown[place].kind, content["data"])
    return shown


class _Manager(InProcessKernelManager):
    def start_kernel(self, **_: Any) -> None:
        """As it does, but that this is the one kernel of the process: else no widget finds it."""
        self.kernel = InProcessKernel.instance(parent=self, session=self.session)


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def latest() -> Any:
    """The Answer that was shown last."""
    return last()


class Cells:
    """A kernel in this process: what a test has, its cells have."""

    def __init__(self) -> None:
        self._manager = _Manager()
        self._manager.start_kernel()
        self._client: Any = self._manager.client()
        self._client.start_channels()
        kernel: Any = self._manager.kernel
        self.kernel = kernel
        self.shell: Any = kernel.shell
        self.messages: list[Any] = []
        """Of the cell that ran last."""

    def run(self, code: str, **names: Any) -> list[Shown]:
        """Run a cell in which there are these names; its outputs."""
        self.shell.user_ns.update(names)
        self._client.execute(code)
        channel = self._client.iopub_channel
        self.messages = []
        while channel.msg_ready():
            self.messages.append(channel.get_msg(timeout=0))
        return saved(self.messages)

    def said(self, widget: int, content: Any) -> None:
        """A view of the last widget but `widget` says this."""
        comm = list(self.kernel.comm_manager.comms.values())[-1 - widget]
        comm.handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})

    def close(self) -> None:
        self._client.stop_channels()
        thread = self.kernel.iopub_thread  # leaves a task behind that it has cancelled and not waited for
        ending = _cancelled(thread._event_pipe_gc_task)
        asyncio.run_coroutine_threadsafe(ending, thread.io_loop.asyncio_loop).result(LONG)
        self._manager.shutdown_kernel()
        type(self.shell).clear_instance()
        type(self.kernel).clear_instance()
