"""The one rule for all routes of a server: who may call, from which pages, how often, and with which headers."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.responses import Response

from memoriter.access._callers import AUTHENTICATOR, CALLER, OPEN_PATH, SIGN_IN_PATH, STILL_KNOWN, Caller
from memoriter.access._limits import CallerLimits
from memoriter.access._origins import same_origin_fault
from memoriter.access._pages import prefers_html, problem_json, problem_response, with_error_page
from memoriter.discovery import Limits
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memoriter.access._callers import Authenticator
    from memoriter.access._limits import LimitReached
    from memoriter.access._origins import Origins
    from memoriter.discovery import Scope as TokenScope

NEEDED: Mapping[str, TokenScope] = {
    "/hook/": "admin",  # the messages of a hook count as the owner's words
    "/command/": "admin",
    "/metrics": "metrics",
    "/healthz": "metrics",
    "/readyz": "metrics",
}
"""The scope that a route needs, by the beginning of its path. All others need `read`, and may ask for more.

Commands are for processes of the owner, which reach a socket of their own; one of them makes links that open a session.
"""
SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every response that does not set them itself."""
SIGN_IN = frozenset({("GET", OPEN_PATH), ("GET", SIGN_IN_PATH), ("POST", SIGN_IN_PATH)})
"""What a browser without a session may request."""
STRANGER = Caller("stranger", "metrics", limits=Limits(per_second=10.0, at_once=8, bytes_per_minute=4 << 20))
"""All browsers without a session, as far as their requests are counted."""
LIMIT_TEXTS = {
    "requests": "sends too many requests",
    "at_once": "has too many requests running at once",
    "bytes": "sends or reads too many bytes",
    "streams": "follows the events with too many streams",
}
"""Why a request is refused for now, by the limit."""


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """The memory of a server, as tokens name it."""

    principal: str = ""
    """Whose long-term memories it has; empty: those of this folder of notes alone."""
    workspace: str = ""
    """The absolute path of its folder of notes, with symbolic links resolved."""
    only_named: bool = False
    """Whether tokens have to name its workspace, because it is a further one of a server that has several."""


class AccessMiddleware:
    """ASGI middleware that passes on what a known caller may request, and refuses all else before it reads the body."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        origins: Origins,
        *,
        served: ServedMemory | None = None,
        limits: CallerLimits | None = None,
        probes: Collection[str] = (),
        open_requests: Collection[tuple[str, str]] = (),
        challenge: str = "Bearer",
    ) -> None:
        """Wrap an application. Only the log of requests may be outside this middleware.

        Anybody may read the `probes` by any name of a host, because a supervisor has no token and may connect by
        address. Their answers must not tell such a caller anything but whether the server works. `open_requests` are
        further methods and paths of requests that need no token, such as those of OAuth, and `challenge` is what
        `WWW-Authenticate` tells a client that has none.
        """
        self._app = app
        self._authenticator = authenticator
        self._origins = origins
        self._served = served or ServedMemory()
        self._limits = limits or CallerLimits(time.monotonic)
        self._probes = frozenset(probes)
        self._open = SIGN_IN | frozenset(open_requests)
        self._challenge = challenge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        send = with_safe_headers(send)
        if scope["method"] != "HEAD" and prefers_html(scope):
            send = with_error_page(send)
        caller = self._authenticator.identify(scope)
        scope[CALLER] = caller
        scope[AUTHENTICATOR] = self._authenticator
        scope[STILL_KNOWN] = lambda: self._authenticator.identify(scope) is not None
        if caller is None and self._is_probe(scope):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope, caller)
        if refusal is not None:
            await refusal(scope, receive, send)
        elif caller is None:
            await self._answer_within_limits(STRANGER, scope, receive, send)
        elif caller.kind == "command":
            await self._app(scope, receive, send)
        else:
            await self._answer_within_limits(caller, scope, receive, send)

    async def _answer_within_limits(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on unless its caller is over a limit, and count its bytes."""
        name = caller.key
        if (reached := self._limits.begin(name, caller.limits)) is not None:
            await limit_reached(caller, reached)(scope, receive, send)
            return

        async def counted_receive() -> Message:
            message = await receive()
            self._limits.count_bytes(name, len(message.get("body", b"")))
            return message

        async def counted_send(message: Message) -> None:
            self._limits.count_bytes(name, len(message.get("body", b"")))
            await send(message)

        try:
            await self._app(scope, counted_receive, counted_send)
        finally:
            self._limits.end(name)

    def _refusal(self, scope: Scope, caller: Caller | None) -> Response | None:
        """Return the response that refuses a request, or None if it may be passed on."""
        if caller is None and not self._opens_session(scope):
            return unauthorized(scope, self._challenge)
        if fault := self._origins.host_fault(scope):
            remedy = "Use the address that the server printed, or start it with --allow-host NAME."
            return problem_response(421, "host", fault, remedy)
        if fault := self._origins.origin_fault(scope):
            return problem_response(403, "origin", fault, "Send requests from a page of this server.")
        if caller is None:
            fault = same_origin_fault(scope) if scope["path"] == SIGN_IN_PATH else ""
            return problem_response(403, "origin", fault, "Open the page of this server.") if fault else None
        if caller.kind == "browser" and (fault := same_origin_fault(scope)):
            return problem_response(403, "origin", fault, "Send requests from a page of this server.")
        if elsewhere := self._belongs_elsewhere(caller):
            return elsewhere
        needed: TokenScope = "read"
        for path, scope_of_path in NEEDED.items():
            needed = scope_of_path if scope["path"].startswith(path) else needed
        return None if caller.allows(needed) else out_of_scope(caller, needed)

    def _belongs_elsewhere(self, caller: Caller) -> Response | None:
        """Return the refusal of a caller whose token is for another memory."""
        if caller.principal and caller.principal != self._served.principal:
            message = f"The token {caller.name!r} is for the memories of {caller.principal!r}, and not for this server."
            remedy = "Connect to a server whose plugins.entries.memory-lancedb.config.principal is the same."
            return problem_response(403, "principal", message, remedy)
        if caller.workspaces:
            is_refused = self._served.workspace not in caller.workspaces
        else:  # the owner needs no token with the names of workspaces
            is_refused = self._served.only_named and bool(caller.digest)
        if is_refused:
            # Neither workspace is named: the caller need not know where the owner keeps notes.
            message = f"The token {caller.name!r} is for another workspace, and not for that of this server."
            remedy = "Connect to the server of that workspace, or ask its owner for a token of this one."
            return problem_response(403, "workspace", message, remedy)
        return None

    def _is_probe(self, scope: Scope) -> bool:
        """Return whether a request that shows no token asks only whether the server works."""
        shown = any(name.lower() == b"authorization" for name, _ in scope["headers"])
        return not shown and scope["path"] in self._probes and scope["method"] in {"GET", "HEAD"}

    def _opens_session(self, scope: Scope) -> bool:
        """Return whether the request signs somebody in, by the code of a one-time link or by a token in a form."""
        opens = (scope["method"], scope["path"]) in self._open
        return opens and self._authenticator.sessions is not None


def out_of_scope(caller: Caller, needed: TokenScope) -> Response:
    """Return the refusal of a request that needs more than its caller has."""
    message = f"This needs the scope {needed!r}, and the token {caller.name!r} has {caller.scope!r}."
    remedy = f"Use a token with that scope: `memoriter token create NAME --scope {needed}`."
    return problem_response(403, "scope", message, remedy, needed=needed)


def limit_reached(caller: Caller, reached: LimitReached) -> Response:
    """Return the refusal of a request that is over a limit of its caller."""
    message = f"The caller {caller.name!r} {LIMIT_TEXTS[reached.limit]}."
    wait = {"Retry-After": str(max(1, math.ceil(reached.seconds)))}
    remedy = "Wait for the seconds that the header `Retry-After` names."
    return problem_response(429, "rate", message, remedy, headers=wait, limit=reached.limit)


def unauthorized(scope: Scope, challenge: str = "Bearer") -> Response:
    """Return the refusal of a request whose caller is not known."""
    headers = {"WWW-Authenticate": challenge, "Cache-Control": "no-store", "Connection": "close"}
    if prefers_html(scope):
        remedy = f"Sign in with a token on the page {SIGN_IN_PATH}, or open the link of `memoriter serve --link`."
        return problem_response(401, "session", "This page needs a session.", remedy, headers=headers)
    message = "This server requires its bearer token."
    remedy = "Send the header `Authorization: Bearer TOKEN`; the token is what `memoriter token` prints."
    problem = problem_json(401, "token", message, remedy)
    # Clients of earlier versions read the member `error`.
    body = {**problem, "error": {"code": "token", "message": message, "remedy": remedy}}
    return Response(json.dumps(body), 401, headers, "application/problem+json")


def with_safe_headers(send: Send) -> Send:
    """Wrap `send` to add `SAFE_HEADERS` to the response."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SAFE_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return add
