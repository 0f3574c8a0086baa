"""How clients reach the server: over the standard streams of this process, or over HTTP."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import anyio

from memoriter.errors import UsageError
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
    """Speak with the client that started this process, until it closes our input; stdout carries nothing else."""
    from mcp.server.stdio import stdio_server

    from memoriter.mcp_server._ending import Ending

    ending = Ending(lambda: None, lambda: None)
    server = server_of(memory, shared=SharedMemory(memory, closing=ending.begin))

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    # A thread that waits for input cannot be interrupted, and nothing is lost when the process ends at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(serve)


def http_app(memory: Memory, *, token: Callable[[], str], hosts: Sequence[str] = ()) -> ASGIApp:
    """Return an ASGI application that serves `/mcp`, for requests that show the token and name this machine.

    Args:
        memory: closed when the application ends.
        token: gives what a client has to send with every request.
        hosts: further names that requests may give for this machine, with a port or without; a page of another site
            that makes a browser ask here gives none of them.
    """
    from memoriter.mcp_server._auth import Authentication, Keeper
    from memoriter.mcp_server._sessions import IDLE_SECONDS, SessionLimits

    app = server_of(memory, connector=True).streamable_http_app(
        streamable_http_path=PATH,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=None,
        transport_security=security_of(hosts),
    )
    return Authentication(SessionLimits(app, PATH), Keeper(token))


def security_of(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Which names a request may give for this machine, and which sites' pages may send it: our own ones alone."""
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
    """Serve `/mcp` on a socket of `listen` until the process is told to end; `ready` is called before."""
    from memoriter.mcp_server._ending import Ending
    from memoriter.mcp_server._running import Server

    ending = Ending(memory.stop, lambda: None)
    Server(http_app(memory, token=token, hosts=hosts), ready, ending).run_until_signal(listening)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Args:
        host: an address of this machine, or a name of one.
        port: 0: any that is free.

    Raises:
        UsageError: the address is not ours, or somebody else listens there.
    """
    import socket

    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"Cannot listen on {host}:{port}: {why}.", remedy="Give another --port, or the --host of this machine."
        ) from error
