"""One process that has a memory open for everybody on this machine: over MCP, and for hooks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoriter.mcp_server._auth import Authentication, HookProof, Keeper
from memoriter.mcp_server._ending import Ending
from memoriter.mcp_server._hooks import Hooks
from memoriter.mcp_server._running import Server
from memoriter.mcp_server._server import server_of
from memoriter.mcp_server._sessions import IDLE_SECONDS, SessionLimits
from memoriter.mcp_server._shared import SharedMemory
from memoriter.mcp_server._transports import PATH, security_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from pathlib import Path

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
    routes = Hooks(shared, security, tickets, sessions=lambda: limited.open).routes
    server = server_of(memory, connector=True, shared=shared)
    shared.warm()
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=None,
        transport_security=security,
        custom_starlette_routes=routes,
    )
    limited = SessionLimits(app, PATH)
    return Authentication(limited, Keeper(token, HookProof(secret, os.getpid())))


def serve(
    app: ASGIApp,
    listening: socket.socket,
    *,
    ready: Callable[[], None],
    ending: Callable[[], None],
    last: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGINT or SIGTERM, and end within five seconds whatever an embedding service does.

    Args:
        app: answers the requests.
        listening: a socket of `listen`.
        ready: is called once requests are answered.
        ending: asks everything that works to stop, and returns at once.
        last: must be done before the process ends, even where a thread hangs; it may be called twice.
    """

    def begin() -> None:
        last()
        ending()

    Server(app, ready, Ending(begin, last)).run_until_signal(listening)
