"""An ASGI application → a server on the loopback interface, in a thread of its own."""

from __future__ import annotations

import socket
import threading

import uvicorn
from starlette.types import ASGIApp

HOST = "127.0.0.1"
CLOSE_SECONDS = 3.0


class Server:
    """Listens as soon as it is made; `close` ends it. Raises OSError where the port cannot be had."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        listening = socket.create_server((HOST, port))
        self.port: int = listening.getsockname()[1]
        # no log of requests: the token stands in their paths
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            http="h11",
            loop="asyncio",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), name="rxchat-page", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait until the thread has ended. May be called twice."""
        self._server.should_exit = True
        if self._thread is not threading.current_thread():
            self._thread.join(CLOSE_SECONDS)
