"""The transports of the server over HTTP, alone or with hooks and commands, for one workspace or several.

Of several behind one address, each request goes to the application of one that its caller may reach.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from dataclasses import replace
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, NotRequired, TypedDict
from urllib.parse import quote

from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import RedirectResponse

from memoriter.access import (
    AccessMiddleware,
    Authenticator,
    Origins,
    ServedMemory,
    header_of,
    problem_response,
    with_safe_headers,
)
from memoriter.errors import UsageError, sentence
from memoriter.mcp_server._delegated import Delegated
from memoriter.mcp_server._http import RequestLog, Server
from memoriter.mcp_server._server import Shutdown, server_of
from memoriter.mcp_server._sessions import IDLE_SECONDS, SessionLimits
from memoriter.mcp_server._shared import SharedMemory
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memoriter.access import BrowserSessions, Caller, RequestRecord, Run
    from memoriter.discovery import LiveTokens
    from memoriter.mcp_server._delegated import CommandWork
    from memoriter.mcp_server._oauth import OAuth
    from memoriter.memory import Memory

PREFIX = "/w/"
"""The beginning of a path that names a workspace: `/w/NAME/mcp`, or `/w/NAME/` to switch to it in a browser."""
_NOT_IN_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class ServedWorkspace:
    """One workspace of a server."""

    name: str
    """As in addresses and in the pages."""
    path: str
    """Its absolute path, with symbolic links resolved."""
    is_first: bool
    """Whether tokens that name no workspace reach it. Only the first workspace of a server is one."""

    @property
    def address(self) -> str:
        """The path that switches a browser to it."""
        return f"{PREFIX}{quote(self.name)}/"

    def is_open_to(self, caller: Caller) -> bool:
        """Return whether a caller may reach it: the owner may, and whoever has a token for it."""
        return not caller.digest or (self.path in caller.workspaces if caller.workspaces else self.is_first)


def served_workspaces(paths: Sequence[str]) -> tuple[ServedWorkspace, ...]:
    """Return workspaces, by absolute paths, with names that differ: those of their folders."""
    served: list[ServedWorkspace] = []
    for path in paths:
        plain = _NOT_IN_NAME.sub("-", path.rstrip("/").rpartition("/")[2]).strip("-.") or "notes"
        taken = {each.name for each in served}
        names = (plain, *(f"{plain}-{number}" for number in range(2, len(paths) + 1)))
        served.append(ServedWorkspace(next(each for each in names if each not in taken), path, not served))
    return tuple(served)


class Workspaces:
    """ASGI application of several workspaces. Who may reach which one, each of their applications checks itself."""

    def __init__(
        self,
        workspaces: Sequence[ServedWorkspace],
        apps: Sequence[ASGIApp],
        authenticator: Authenticator,
        *,
        cookie: str,
    ) -> None:
        """Serve workspaces.

        The first one is that of requests that name none. The cookie has the workspace that a person has chosen; it
        gives no rights.
        """
        self._workspaces = workspaces
        self._apps = dict(zip([each.name for each in workspaces], apps, strict=True))
        self._authenticator = authenticator
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        path: str = scope.get("path", "")
        caller = self._authenticator.identify(scope) if scope["type"] == "http" else None
        if not path.startswith(PREFIX):
            await self._apps[self._wanted(scope, caller).name](scope, receive, send)
            return
        name, _, rest = path.removeprefix(PREFIX).partition("/")
        named = next((each for each in self._workspaces if each.name == name), None)
        if named is None or caller is None or not named.is_open_to(caller):
            message = "There is no such workspace here, or it needs another token."
            refusal = problem_response(404, "workspace", message, "Ask the owner of the server for its name.")
            await refusal(scope, receive, with_safe_headers(send))
        elif not rest:
            response = RedirectResponse("/", 303)
            response.set_cookie(self._cookie, quote(name), path="/", httponly=True, samesite="strict")
            await response(scope, receive, with_safe_headers(send))
        else:
            scope["path"] = f"/{rest}"
            scope["raw_path"] = quote(f"/{rest}").encode("ascii")
            await self._apps[name](scope, receive, send)

    def _wanted(self, scope: Scope, caller: Caller | None) -> ServedWorkspace:
        """Return the workspace of a request that names none: the one chosen in a browser, or the caller's first."""
        first = self._workspaces[0]
        if caller is None:
            return first
        reachable = [each for each in self._workspaces if each.is_open_to(caller)]
        chosen = _cookie_of(scope, self._cookie) if caller.kind == "browser" else ""
        return next((each for each in reachable if quote(each.name) == chosen), (*reachable, first)[0])

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Start and end all applications together."""
        lives = [_Life(app, scope) for app in self._apps.values()]
        for kind in ("startup", "shutdown"):
            message = await receive()
            failed = [each for each in await asyncio.gather(*(life.pass_on(message) for life in lives)) if each]
            await send(failed[0] if failed else {"type": f"lifespan.{kind}.complete"})
            if failed:
                return


class _Life:
    """The beginning and the end of one application."""

    def __init__(self, app: ASGIApp, scope: Scope) -> None:
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self._from_app: asyncio.Queue[Message] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(app, dict(scope)))

    async def _run(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self._to_app.get, self._from_app.put)
        except Exception as error:  # noqa: BLE001 - the server reports it
            await self._from_app.put({"type": "lifespan.startup.failed", "message": str(error)})

    async def pass_on(self, message: Message) -> Message | None:
        """Return what the application answers if it fails."""
        await self._to_app.put(message)
        answer = await self._from_app.get()
        return answer if answer["type"].endswith(".failed") else None


def _cookie_of(scope: Scope, name: str) -> str:
    try:
        morsel = SimpleCookie(header_of(scope, "cookie") or "").get(name)
    except CookieError:
        return ""
    return morsel.value if morsel else ""


PATH = "/mcp"
DRAIN_SECONDS = 1.5
"""Seconds that requests which run may still take after a signal, unless `serve` is given others."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")


def http_app(
    memory: Memory, *, token: Callable[[], str], tokens: LiveTokens | None = None, hosts: Sequence[str] = ()
) -> RequestLog:
    """Return an ASGI application that serves `/mcp`, for requests that carry a token and name this machine.

    The memory is closed when the application ends. `token` returns the owner's token, and `hosts` are further host
    names of this machine that requests may use, with or without a port. Requests that a page of another site makes in a
    browser are refused.
    """
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
    return ServedMemory(memory.configuration.principal, os.path.realpath(memory.place.workspace))


def security_settings(hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return the host names and origins that requests may use: only those of this machine and `hosts`."""
    names = [*LOCAL, *hosts]
    allowed = [form for name in names for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{form}" for form in allowed for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=origins)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; with port 0, at any free port.

    Raises:
        UsageError: the address is not of this machine, or another program listens there.
    """
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
    app, paths = _app_of(memory, options)
    return RequestLog(app, paths, observers=options.get("observers", ()))


def serve_workspaces(
    workspaces: Sequence[ServedWorkspace], memories: Sequence[Memory], options: Sequence[AppOptions]
) -> RequestLog:
    """Return an ASGI application of several workspaces, each with what `serve_app` returns for it.

    Only the first one is that of hooks and commands.
    """
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

    def stop_accepting() -> None:
        last()
        draining()

    def stop_all() -> None:
        last()
        ending()

    shutdown = Shutdown(stop_all, last)
    server = Server(app, ready, shutdown, commands=commands, draining=stop_accepting, drain=drain, proxies=proxies)
    server.run_until_signal(listening)
