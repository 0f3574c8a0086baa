"""An HTTP server that stops at a signal, with limits for its connections and a log of its requests.

Connections are limited by hand because uvicorn has no time limit for a request, and its `limit_concurrency` lets one
address take all connections.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import anyio
import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from memoriter.access import FIELDS, TOOL, UPLOAD, RequestRecord, name_of_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import FrameType

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memoriter.mcp_server._server import Shutdown

CLOSING_SECONDS = 1
"""Seconds that the shutdown waits for responses that are still open after `Server` has drained."""
REQUEST_SECONDS = 10.0
"""Seconds within which a client must send a whole request, from its first byte to its last; see `UPLOAD`."""
LEAST_UPLOADED = 100_000
"""Bytes that must arrive in `REQUEST_SECONDS` of an upload, which may then take as long again."""
MOST_CONNECTIONS = 512
"""Maximum number of open connections; one client address may have half of them."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
"""The headers of a request that has a body."""
log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """A uvicorn server that reports its start, drains, and stops within the time limit of its shutdown.

    To drain: no connection is accepted any more, requests that run are answered for up to `drain` seconds, and only
    then running work is told to stop.
    """

    def __init__(
        self,
        app: RequestLog,
        ready: Callable[[], None],
        process_shutdown: Shutdown,
        *,
        commands: socket.socket | None = None,
        draining: Callable[[], None] = lambda: None,
        drain: float = 0.0,
        proxies: Collection[str] = (),
    ) -> None:
        """Serve an application.

        Args:
            app: the application; it knows the requests that run.
            ready: called once requests are answered.
            process_shutdown: what happens after the server has drained.
            commands: a listening socket in a folder, for commands of this user.
            draining: called when it begins to drain; it ends streams, and returns at once.
            drain: seconds that requests which run may still take after a signal.
            proxies: addresses and networks of proxies, whose headers name the address of a client.
        """
        config = uvicorn.Config(
            app,
            http=Connection,
            log_level="warning",
            log_config=None,  # the program decides where logs go
            ws="none",
            proxy_headers=bool(proxies),  # nobody else may choose the address that a request is logged with
            forwarded_allow_ips=list(proxies),
            timeout_graceful_shutdown=CLOSING_SECONDS,
        )
        super().__init__(config)
        self._requests = app
        self._ready = ready
        self._commands = commands
        self._process_shutdown = process_shutdown
        self._draining = draining
        self._drain = drain
        self._stopped = False
        self._repeats = 0
        """Signals that uvicorn will raise again."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._commands is not None:
            self.servers.append(
                await asyncio.get_running_loop().create_unix_server(self._new_connection, sock=self._commands)
            )
        if self.started:
            self._ready()

    def _new_connection(self) -> Connection:
        return Connection(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._draining()
        await self._finish_requests(sockets or [])
        self._process_shutdown.begin()
        await super().shutdown(sockets)
        self._stopped = True

    async def _finish_requests(self, sockets: list[socket.socket]) -> None:
        """Accept nothing more, and wait until requests that run are answered, for `drain` seconds at most."""
        for server in self.servers:
            server.close()
        for listening in sockets:
            listening.close()
        for connection in list(cast("set[Any]", self.server_state.connections)):
            connection.shutdown()
        if running := self._requests.running:
            log.info("ending: waiting up to %.1f s for %d requests", self._drain, running)
        await self._requests.wait_until_idle(self._drain)
        if left := self._requests.running:
            log.warning("ending: %d requests are still running after %.1f s", left, self._drain)

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
    _arrived = 0
    """Bytes since the time limit began."""
    opened_at = 0.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        opened = transport.get_extra_info("socket")
        if opened.family in {socket.AF_INET, socket.AF_INET6}:
            # asyncio sets this only for sockets that name their protocol; without it, a body is delayed by 40 ms.
            with suppress(OSError):
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:  # earlier versions of uvicorn leave out the address of a socket in a folder
            self.server = (str(opened.getsockname()), None)
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
        self._arrived += len(data)
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
            self._arrived = 0
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
        if cycle is not None and self._is_moving_upload(cycle):
            self._start_timeout()
        elif cycle is None or cycle.response_complete:
            self.transport.write(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()
        else:
            self.transport.abort()

    def _is_moving_upload(self, cycle: Any) -> bool:
        is_upload = not cycle.response_complete and UPLOAD in cycle.scope["state"]
        return is_upload and self._arrived >= LEAST_UPLOADED


def _next_to_drop(connections: list[Connection]) -> Connection:
    return min(connections, key=lambda connection: (not connection.reading, connection.opened_at))


class RequestLog:
    """ASGI middleware that logs each request, and knows those that run.

    A record contains lengths and names, and nothing that a client sent but the method.
    """

    def __init__(
        self,
        app: ASGIApp,
        paths: Collection[str],
        *,
        observers: Collection[Callable[[RequestRecord], None]] = (),
    ) -> None:
        """Wrap an application."""
        self._app = app
        self._paths = frozenset(paths)
        self._observers = tuple(observers)
        self.running = 0
        """Number of requests that are being answered, without streams that only end with their clients."""
        self._idle = asyncio.Event()
        self._idle.set()

    async def wait_until_idle(self, seconds: float) -> None:
        """Wait until no request is being answered, so many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._idle.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log it when it has been answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, on_stream=self._end_one)
        self.running += 1
        self._idle.clear()
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except _ClientLeft:
            pass
        finally:
            if not exchange.streams:
                self._end_one()
            self._report(exchange)

    def _end_one(self) -> None:
        self.running -= 1
        if not self.running:
            self._idle.set()

    def _report(self, exchange: _Exchange) -> None:
        scope = exchange.scope
        record = RequestRecord(
            method=scope["method"] if scope["method"] in METHODS else "another method",
            path=scope["path"] if scope["path"] in self._paths else "another path",
            tool=scope.get(TOOL, ""),
            caller=name_of_caller(scope),
            address=str((scope.get("client") or ("",))[0]),
            status=exchange.status,
            seconds=anyio.current_time() - exchange.started,
            received=exchange.received,
            sent=exchange.sent,
        )
        values = (record.method, record.path, record.status, record.seconds * 1000)
        log.info("%s %s: status %d, %.1f ms", *values, extra={FIELDS: record.fields})
        for observer in self._observers:
            observer(record)


class _ClientLeft(BaseException):
    """The client has left in the middle of its request.

    This is not a failure and not an `Exception`, so that no handler in between catches or logs it.
    """


class _Exchange:
    """One request with its response: counts of what passes, and whether the response is a stream of events."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, on_stream: Callable[[], None]) -> None:
        self.scope = scope
        self._receive = receive
        self._send = send
        self.started = anyio.current_time()
        self.status = 0
        self.received = self.sent = 0
        self._complete = not any(name in BODY_HEADERS for name, _ in scope["headers"])
        self.streams = False
        self._on_stream = on_stream

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" and not self._complete:
            raise _ClientLeft
        self._complete = not message.get("more_body", False)
        self.received += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kind = next((value for name, value in message["headers"] if name.lower() == b"content-type"), b"")
            # What answers a POST ends by itself, also if it is sent as events, as MCP does.
            if self.scope["method"] == "GET" and kind.startswith(b"text/event-stream"):
                self.streams = True
                self._on_stream()
        self.sent += len(message.get("body", b""))
        await self._send(message)
