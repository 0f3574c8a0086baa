"""One process that has a memory open for everybody on this machine: over MCP, and for hooks."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from memoriter.mcp_server._auth import Authentication, HookProof, Keeper
from memoriter.mcp_server._hooks import Hooks
from memoriter.mcp_server._server import server_of
from memoriter.mcp_server._shared import SharedMemory
from memoriter.mcp_server._transports import CLOSING_SECONDS, PATH, security_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path
    from types import FrameType

    from starlette.types import ASGIApp

    from memoriter.memory import Memory


def serve_app(
    memory: Memory, *, token: Callable[[], str], secret: str, tickets: Path, hosts: Sequence[str] = ()
) -> ASGIApp:
    """Return an ASGI application with `/mcp`, `/hook/{event}` and `/health`, for those who show the token.

    Args:
        memory: closed when the application ends.
        token: gives what a client has to send with every request.
        secret: that of the announcement, by which this server and hooks recognise each other.
        tickets: the folder in which commands leave the tickets of their work.
        hosts: further names that requests may give for this machine.
    """
    shared, security = SharedMemory(memory), security_of(hosts)
    routes = Hooks(shared, security, tickets).routes
    server = server_of(memory, connector=True, shared=shared)
    shared.warm()
    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=security, custom_starlette_routes=routes
    )
    return Authentication(app, Keeper(token, HookProof(secret, os.getpid())))


def serve(app: ASGIApp, listening: socket.socket, *, ready: Callable[[], None]) -> None:
    """Serve on a socket of `listen` until SIGINT or SIGTERM; `ready` is called once requests are answered."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        ws="none",
        proxy_headers=False,  # a client must not choose the address that its connection is known by
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
    server = _Server(config, ready)
    with _ended_by_signals(server):
        server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """Says when it has started."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Generator[None]:
    """A signal ends the server well, also before it has started; uvicorn sends it on to us when it is done."""

    def hear(number: int, frame: FrameType | None) -> None:
        del number, frame
        server.should_exit = True

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
