"""The transports of the server: stdio and HTTP."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import anyio

from memoriter.errors import UsageError, sentence
from memoriter.mcp_server._server import server_of
from memoriter.mcp_server._shared import SharedMemory

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.types import ASGIApp

    from memoriter.memory import Memory

PATH = "/mcp"
LOCAL = ("127.0.0.1", "localhost", "[::1]")


def serve_stdio(memory: Memory) -> None:
    """Serve the client that started this process until it closes stdin; nothing else may write to stdout."""
    from mcp.server.stdio import stdio_server

    from memoriter.mcp_server._ending import Shutdown

    shutdown = Shutdown(lambda: None, lambda: None)
    server = server_of(memory, shared=SharedMemory(memory, closing=shutdown.begin))

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    # A thread that waits for input cannot be interrupted, and nothing is lost if the process exits at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(serve)


def http_app(memory: Memory, *, token: Callable[[], str], hosts: Sequence[str] = ()) -> ASGIApp:
    """Return an ASGI application that serves `/mcp`, for requests that carry the token and name this machine.

    Args:
        memory: the memory, which is closed when the application ends.
        token: returns the token that a client must send with every request.
        hosts: further host names of this machine that requests may use, with or without a port. This check refuses
            requests that a page of another site makes in a browser.
    """
    from memoriter.mcp_server._auth import AuthenticationMiddleware, Authenticator
    from memoriter.mcp_server._request_log import RequestLog
    from memoriter.mcp_server._sessions import IDLE_SECONDS, SessionLimits

    app = server_of(memory, connector=True).streamable_http_app(
        streamable_http_path=PATH,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=None,
        transport_security=security_settings(hosts),
    )
    return RequestLog(AuthenticationMiddleware(SessionLimits(app, PATH), Authenticator(token)), [PATH])


def security_settings(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return the host names and origins that requests may use: only those of this machine and `hosts`."""
    from mcp.server.transport_security import TransportSecuritySettings

    names = [*LOCAL, *hosts]
    allowed = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{form}" for form in allowed for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=origins)


def serve_http(
    memory: Memory,
    listening: socket.socket,
    *,
    token: Callable[[], str],
    hosts: Sequence[str],
    ready: Callable[[], None],
) -> None:
    """Serve `/mcp` on a socket of `listen` until SIGINT or SIGTERM; `ready` is called once requests are answered."""
    from memoriter.mcp_server._ending import Shutdown
    from memoriter.mcp_server._running import Server

    shutdown = Shutdown(memory.stop, lambda: None)
    Server(http_app(memory, token=token, hosts=hosts), ready, shutdown).run_until_signal(listening)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Args:
        host: an address or host name of this machine.
        port: the port; 0: any free port.

    Raises:
        UsageError: the address is not of this machine, or another program listens there.
    """
    import socket

    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"Cannot listen on {host}:{port}: {sentence(why)}",
            remedy="Give another --port, or the --host of this machine.",
        ) from error
