"""The transports of the server over HTTP, alone or with hooks and commands."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NotRequired, TypedDict

from memoriter.errors import UsageError, sentence
from memoriter.mcp_server._server import Shutdown, server_of
from memoriter.mcp_server._shared import SharedMemory

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.routing import Route
    from starlette.types import ASGIApp

    from memoriter.access import BrowserSessions, RequestRecord, Run, ServedMemory
    from memoriter.discovery import LiveTokens
    from memoriter.mcp_server._delegated import CommandWork
    from memoriter.mcp_server._http import RequestLog
    from memoriter.mcp_server._oauth import OAuth
    from memoriter.mcp_server._workspaces import ServedWorkspace
    from memoriter.memory import Memory

PATH = "/mcp"
DRAIN_SECONDS = 1.5
"""Seconds that requests which run may still take after a signal, unless `serve` is given others."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")


def http_app(
    memory: Memory, *, token: Callable[[], str], tokens: LiveTokens | None = None, hosts: Sequence[str] = ()
) -> RequestLog:
    """Return an ASGI application that serves `/mcp`, for requests that carry a token and name this machine.

    Args:
        memory: the memory, which is closed when the application ends.
        token: returns the owner's token.
        tokens: further tokens, each with its scope; None: there are none.
        hosts: further host names of this machine that requests may use, with or without a port. This check refuses
            requests that a page of another site makes in a browser.
    """
    from memoriter.access import AccessMiddleware, Authenticator, Origins
    from memoriter.mcp_server._http import RequestLog
    from memoriter.mcp_server._sessions import IDLE_SECONDS, SessionLimits

    app = server_of(memory, connector=True).streamable_http_app(
        streamable_http_path=PATH,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=None,
        transport_security=security_settings(hosts),
    )
    limited = SessionLimits(app, PATH)
    authenticator = Authenticator(token, tokens=tokens)
    return RequestLog(AccessMiddleware(limited, authenticator, Origins(hosts), served=served_by(memory)), [PATH])


def served_by(memory: Memory) -> ServedMemory:
    """Return a memory as tokens name it."""
    from memoriter.access import ServedMemory

    return ServedMemory(memory.configuration.principal, os.path.realpath(memory.place.workspace))


def security_settings(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return the host names and origins that requests may use: only those of this machine and `hosts`."""
    from mcp.server.transport_security import TransportSecuritySettings

    names = [*LOCAL, *hosts]
    allowed = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{form}" for form in allowed for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=origins)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; with port 0, at any free port.

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


def serve_app(memory: Memory, **options: Unpack[AppOptions]) -> RequestLog:
    """Return an ASGI application with `/mcp`, `/hook/{event}`, `/command/{name}`, `/health` and further routes.

    All of them require a token or, in a browser on this machine, a session. Hooks and commands may come over the socket
    of commands instead. The memory is closed when the application ends.
    """
    from memoriter.mcp_server._http import RequestLog

    app, paths = _app_of(memory, options)
    return RequestLog(app, paths, observers=options.get("observers", ()))


def serve_workspaces(
    workspaces: Sequence[ServedWorkspace], memories: Sequence[Memory], options: Sequence[AppOptions]
) -> RequestLog:
    """Return an ASGI application of several workspaces, each with what `serve_app` returns for it.

    Only the first one is that of hooks and commands.
    """
    from memoriter.access import Authenticator
    from memoriter.mcp_server._http import RequestLog
    from memoriter.mcp_server._workspaces import Workspaces

    first = options[0]
    made = [_app_of(memory, each) for memory, each in zip(memories, options, strict=True)]
    sessions = first.get("sessions")
    app = Workspaces(
        workspaces,
        [app for app, _ in made],
        Authenticator(first["token"], tokens=first.get("tokens"), sessions=sessions),
        cookie=f"{sessions.cookie}-workspace" if sessions else "memoriter-workspace",
    )
    paths = {path for _, paths in made for path in paths}
    return RequestLog(app, paths, observers=first.get("observers", ()))


class AppOptions(TypedDict):
    """What the application of a memory needs."""

    token: Callable[[], str]
    """Returns the owner's token."""
    tickets: Path
    """The folder in which commands put the tickets of their work."""
    hosts: NotRequired[Sequence[str]]
    """Further host names of this machine that requests may use."""
    commands: NotRequired[Mapping[str, CommandWork]]
    """The work that is done for commands of other processes, by the name of the command."""
    tokens: NotRequired[LiveTokens | None]
    """Further tokens, each with its scope; None: there are none."""
    sessions: NotRequired[BrowserSessions | None]
    """The sessions of browsers; None: there are none."""
    more: NotRequired[Callable[[Run], tuple[Sequence[Route], Sequence[str]]] | None]
    """Returns further routes and the paths to log by name, for a function that runs work with the memory."""
    probes: NotRequired[Collection[str]]
    """The paths of routes that anybody may read."""
    oauth: NotRequired[OAuth | None]
    """Gives tokens to programs that a person allows; None: programs get theirs from the owner only."""
    observers: NotRequired[Collection[Callable[[RequestRecord], None]]]
    """Called with the record of each request when it has been answered."""
    only_named: NotRequired[bool]
    """Whether tokens have to name the workspace, because it is a further one of the server."""


def _app_of(memory: Memory, options: AppOptions) -> tuple[ASGIApp, Sequence[str]]:
    """Return the application of a memory without the log of requests, and the paths to log by name."""
    from memoriter.access import AccessMiddleware, Authenticator, Origins
    from memoriter.mcp_server._delegated import Delegated
    from memoriter.mcp_server._sessions import IDLE_SECONDS, SessionLimits

    hosts = options.get("hosts", ())
    more = options.get("more")
    oauth = options.get("oauth")
    shared = SharedMemory(memory)
    security = security_settings(hosts)
    delegated = Delegated(
        shared, security, options["tickets"], options.get("commands", {}), sessions=lambda: limited.open
    )
    routes, paths = more(shared.run_for_api) if more else ((), ())
    if oauth is not None:
        routes = [*routes, *oauth.routes]
        paths = [*paths, *{path for _, path in oauth.open_requests}]
    server = server_of(memory, connector=True, shared=shared)
    shared.warm()
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=None,
        transport_security=security,
        custom_starlette_routes=[*delegated.routes, *routes],
    )
    limited = SessionLimits(app, PATH)
    guarded = AccessMiddleware(
        limited,
        Authenticator(options["token"], tokens=options.get("tokens"), sessions=options.get("sessions")),
        Origins(hosts),
        served=replace(served_by(memory), only_named=options.get("only_named", False)),
        probes=options.get("probes", ()),
        open_requests=oauth.open_requests if oauth else (),
        challenge=oauth.challenge if oauth else "Bearer",
    )
    return guarded, [PATH, *delegated.paths, *paths]


def serve(
    app: RequestLog,
    listening: socket.socket,
    *,
    commands: socket.socket | None = None,
    ready: Callable[[], None],
    ending: Callable[[], None],
    draining: Callable[[], None] = lambda: None,
    last: Callable[[], None] = lambda: None,
    drain: float = DRAIN_SECONDS,
    proxies: Sequence[str] = (),
) -> None:
    """Serve until SIGINT or SIGTERM, then drain, and exit `END_SECONDS` later at most, even if a service hangs.

    Args:
        app: the application that answers the requests.
        listening: a socket of `listen`.
        commands: a socket of `open_socket` for commands of this user; None: there is none.
        ready: called once requests are answered.
        ending: asks all running work to stop, and returns at once.
        draining: ends streams when the server begins to drain, and returns at once.
        last: cleanup that must run before the process exits, even if a thread hangs; it may be called twice.
        drain: seconds that running requests may still take after a signal.
        proxies: addresses and networks of proxies, whose headers name the address of a client.
    """
    from memoriter.mcp_server._http import Server

    def stop_accepting() -> None:
        last()
        draining()

    def stop_all() -> None:
        last()
        ending()

    shutdown = Shutdown(stop_all, last)
    server = Server(app, ready, shutdown, commands=commands, draining=stop_accepting, drain=drain, proxies=proxies)
    server.run_until_signal(listening)
