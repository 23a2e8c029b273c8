"""A kernel in a process of its own, and what its cells show."""

from __future__ import annotations

import queue
from typing import Any, NamedTuple, Self

from jupyter_client.manager import start_new_kernel

from tests.pipeline.notebook.cells import Shown, saved
from tests.support.timing import LONG


class Ran(NamedTuple):
    """A cell that has run: what it showed, every message with the time when it was sent, and what other cells showed meanwhile."""

    shown: list[Shown]
    messages: list[tuple[float, Any]]
    elsewhere: list[Any]

    @property
    def frames(self) -> list[tuple[float, str]]:
        """Each state of the first output that was drawn again, as text, with its time."""
        drawn = [(at, message["content"]) for at, message in self.messages if "display_data" in message["msg_type"]]
        first = drawn[0][1]["transient"]["display_id"]
        return [(at, said["data"]["text/plain"]) for at, said in drawn if said["transient"]["display_id"] == first]


class Kernel:
    """IPython's kernel. Its cells can be interrupted, and messages sent to it while one runs."""

    def __enter__(self) -> Self:
        self.comms: queue.Queue[str] = queue.Queue()
        """The widgets that were opened."""
        self.told: queue.Queue[Any] = queue.Queue()
        """What was said to their views."""
        self.manager, self.client = start_new_kernel(kernel_name="python3")
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code: str, *, interrupt: str | None = None) -> Ran:
        """Run a cell to its end; it is interrupted when it has shown the text `interrupt`."""
        own = self.client.execute(code)
        messages: list[tuple[float, Any]] = []
        elsewhere: list[Any] = []
        while True:
            message = self.client.get_iopub_msg(timeout=LONG)
            content = message["content"]
            if message["msg_type"] == "comm_open":
                self.comms.put(content["comm_id"])
            elif message["msg_type"] == "comm_msg":
                self.told.put(content["data"].get("content"))
            if message["parent_header"].get("msg_id") != own:
                elsewhere.append(message)
            elif content.get("execution_state") == "idle":
                return Ran(saved([message for _, message in messages]), messages, elsewhere)
            else:
                messages.append((message["header"]["date"].timestamp(), message))
            if interrupt is not None and interrupt in content.get("data", {}).get("text/plain", ""):
                interrupt = None
                self.manager.interrupt_kernel()

    def subshell(self) -> str | None:
        """A shell in which the kernel hears messages while a cell runs; None where it has none."""
        self.client.control_channel.send(self.client.session.msg("create_subshell_request"))
        try:
            reply = self.client.get_control_msg(timeout=LONG)["content"]
        except queue.Empty:  # it does not know the question
            return None
        return str(reply["subshell_id"]) if reply.get("status") == "ok" else None

    def say(self, comm: str, content: Any, subshell: str) -> None:
        """What a view of a widget says."""
        data = {"comm_id": comm, "data": {"method": "custom", "content": content}}
        message = self.client.session.msg("comm_msg", data)
        message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)
