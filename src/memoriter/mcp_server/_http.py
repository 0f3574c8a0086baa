"""An HTTP server that stops at a signal, with limits for its connections and a log of its requests."""

from __future__ import annotations

import logging
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection
    from types import FrameType

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memoriter.mcp_server._server import Shutdown

CLOSING_SECONDS = 1
"""Seconds that the shutdown waits for open responses."""
REQUEST_SECONDS = 10.0
"""Seconds within which a client must send a whole request, from its first byte to its last."""
MOST_CONNECTIONS = 512
"""Maximum number of open connections; one client address may have half of them."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """A uvicorn server that reports its start and stops within the time limit of its shutdown."""

    def __init__(self, app: ASGIApp, ready: Callable[[], None], process_shutdown: Shutdown) -> None:
        config = uvicorn.Config(
            app,
            http=Connection,
            log_level="warning",
            ws="none",
            proxy_headers=False,  # a client must not choose the address that its connection is counted under
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )
        super().__init__(config)
        self._ready = ready
        self._process_shutdown = process_shutdown
        self._stopped = False
        self._repeats = 0
        """Signals that uvicorn will raise again."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._process_shutdown.begin()
        await super().shutdown(sockets)
        self._stopped = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down gracefully at the first signal, and at once at the second."""
        if self._stopped and self._repeats:  # uvicorn raises each signal again after its shutdown
            self._repeats -= 1
            return
        if self._stopped or self.should_exit:
            self._process_shutdown.exit_now(128 + sig)
        self._repeats += 1
        super().handle_exit(sig, frame)

    def run_until_signal(self, listening: socket.socket) -> None:
        """Serve until SIGINT or SIGTERM, which may arrive before the server has started."""
        previous = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self.run(sockets=[listening])
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)


class Connection(H11Protocol):
    """A connection with a time limit for each request, `REQUEST_SECONDS`, and one of a limited number.

    If there are too many, the connection with the oldest incomplete request is closed, or else the oldest one.
    """

    _timeout: asyncio.TimerHandle | None = None
    opened_at = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # asyncio sets this option only for sockets that name their protocol; without it, a body is delayed by 40 ms.
        with suppress(OSError):
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.opened_at = self.loop.time()
        self._start_timeout()
        connections = cast("set[object]", self.connections)
        others: list[Connection] = [
            connection for connection in connections if isinstance(connection, Connection) and connection is not self
        ]
        same_address = [connection for connection in others if connection.address == self.address]
        if len(same_address) >= MOST_CONNECTIONS // 2:
            _next_to_drop(same_address).drop()
        elif len(others) >= MOST_CONNECTIONS:
            _next_to_drop(others).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timeout()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.reading:
            self._start_timeout()
        else:
            self._cancel_timeout()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.reading or self.timeout_keep_alive_task is not None:
            self._cancel_timeout()

    @property
    def reading(self) -> bool:
        """Whether a request is incomplete."""
        return self.conn.their_state in {h11.IDLE, h11.SEND_BODY}

    @property
    def address(self) -> str:
        """The address of the client."""
        return self.client[0] if self.client else ""

    def drop(self) -> None:
        """Abort the connection at once, even in the middle of a response."""
        self._cancel_timeout()
        self.transport.abort()
        self.connections.discard(self)

    def _start_timeout(self) -> None:
        if self._timeout is None:
            self._timeout = self.loop.call_later(REQUEST_SECONDS, self._on_timeout)

    def _cancel_timeout(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _on_timeout(self) -> None:
        self._timeout = None
        if self.transport.is_closing():
            return
        cycle: Any = getattr(self, "cycle", None)
        if cycle is None or cycle.response_complete:
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()
        else:
            self.transport.abort()


def _next_to_drop(connections: list[Connection]) -> Connection:
    return min(connections, key=lambda connection: (not connection.reading, connection.opened_at))


class RequestLog:
    """ASGI middleware that logs each request with its status and duration."""

    def __init__(self, app: ASGIApp, paths: Collection[str]) -> None:
        """Wrap an application that serves these paths; only they are logged by name."""
        self._app = app
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log it when it has been answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = anyio.current_time(), 0

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            method = scope["method"] if scope["method"] in METHODS else "another method"
            path = scope["path"] if scope["path"] in self._paths else "another path"
            milliseconds = (anyio.current_time() - started) * 1000
            log.info("%s %s: status %d, %.1f ms", method, path, status, milliseconds)
