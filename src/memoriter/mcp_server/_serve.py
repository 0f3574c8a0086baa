"""A server that keeps one memory open for this machine's MCP clients and hooks."""

from __future__ import annotations

import os
from types import MappingProxyType
from typing import TYPE_CHECKING

from memoriter.mcp_server._auth import AuthenticationMiddleware, Authenticator, CommandProof
from memoriter.mcp_server._delegated import Delegated
from memoriter.mcp_server._ending import Shutdown
from memoriter.mcp_server._request_log import RequestLog
from memoriter.mcp_server._running import Server
from memoriter.mcp_server._server import server_of
from memoriter.mcp_server._sessions import IDLE_SECONDS, SessionLimits
from memoriter.mcp_server._shared import SharedMemory
from memoriter.mcp_server._transports import PATH, security_settings

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from starlette.types import ASGIApp

    from memoriter.mcp_server._delegated import CommandWork
    from memoriter.memory import Memory


def serve_app(
    memory: Memory,
    *,
    token: Callable[[], str],
    secret: str,
    tickets: Path,
    hosts: Sequence[str] = (),
    commands: Mapping[str, CommandWork] = MappingProxyType({}),
) -> ASGIApp:
    """Return an ASGI application with `/mcp`, `/hook/{event}`, `/command/{name}` and `/health`.

    All of them require the token.

    Args:
        memory: the memory, which is closed when the application ends.
        token: returns the token that a client must send with every request.
        secret: the secret of the announcement, with which this server and commands authenticate each other.
        tickets: the folder in which commands put the tickets of their work.
        hosts: further host names of this machine that requests may use.
        commands: the work that is done for commands of other processes, by the name of the command.
    """
    shared, security = SharedMemory(memory), security_settings(hosts)
    delegated = Delegated(shared, security, tickets, commands, sessions=lambda: limited.open)
    server = server_of(memory, connector=True, shared=shared)
    shared.warm()
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=None,
        transport_security=security,
        custom_starlette_routes=delegated.routes,
    )
    limited = SessionLimits(app, PATH)
    authenticated = AuthenticationMiddleware(limited, Authenticator(token, CommandProof(secret, os.getpid())))
    return RequestLog(authenticated, [PATH, *delegated.paths])


def serve(
    app: ASGIApp,
    listening: socket.socket,
    *,
    ready: Callable[[], None],
    ending: Callable[[], None],
    last: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGINT or SIGTERM, then exit within five seconds, even if an embedding service hangs.

    Args:
        app: the application that answers the requests.
        listening: a socket of `listen`.
        ready: called once requests are answered.
        ending: asks all running work to stop, and returns at once.
        last: cleanup that must run before the process exits, even if a thread hangs; it may be called twice.
    """

    def stop_all() -> None:
        last()
        ending()

    Server(app, ready, Shutdown(stop_all, last)).run_until_signal(listening)
