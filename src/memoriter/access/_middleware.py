"""The one rule for all routes of a server: who may call, from which pages, how often, and with which headers."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.responses import Response

from memoriter.access._browser import OPEN_PATH
from memoriter.access._caller import CALLER, STILL_KNOWN
from memoriter.access._origins import PROGRAM_PATHS, is_local, same_origin_fault
from memoriter.access._problem import problem_json, problem_response
from memoriter.access._rate import RateLimit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memoriter.access._caller import Caller
    from memoriter.access._identity import Authenticator
    from memoriter.access._origins import Origins
    from memoriter.discovery import Scope as TokenScope

NEEDED: Mapping[str, TokenScope] = {"/hook/": "write", "/command/": "admin"}
"""The scope that a route needs, by the beginning of its path. All others need `read`, and may ask for more.

Commands are for processes of the owner, which prove themselves; one of them makes links that open a session.
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
NO_TOKEN = "This server requires its bearer token."  # noqa: S105 - a message
NO_TOKEN_REMEDY = "Send the header `Authorization: Bearer TOKEN`; the token is what `memoriter token` prints."  # noqa: S105


class AccessMiddleware:
    """ASGI middleware that passes on what a known caller may request, and refuses all else before it reads the body."""

    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        origins: Origins,
        *,
        principal: str = "",
        rate: RateLimit | None = None,
    ) -> None:
        """Wrap an application. Only the log of requests may be outside this middleware.

        Args:
            app: the application.
            authenticator: identifies callers.
            origins: the hosts and origins that requests may name.
            principal: whose long-term memories the server has; empty: those of this folder of notes alone.
            rate: the limit on the requests of each caller; None: the usual one.
        """
        self._app, self._authenticator, self._origins = app, authenticator, origins
        self._principal = principal
        self._rate = rate or RateLimit(time.monotonic)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, answer a challenge, or refuse the request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        send = with_safe_headers(send)
        caller = self._authenticator.identify(scope)
        if caller is None and (proof := self._authenticator.answer_challenge(scope)) is not None:
            await Response(proof, 200, media_type="text/plain")(scope, receive, send)
            return
        refusal = self._refusal(scope, caller)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        scope[CALLER] = caller
        scope[STILL_KNOWN] = lambda: self._authenticator.identify(scope) is not None
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope, caller: Caller | None) -> Response | None:
        """Return the response that refuses a request, or None if it may be passed on."""
        if caller is None and not self._opens_session(scope):
            return unauthorized(scope)
        if fault := self._origins.host_fault(scope):
            remedy = "Use the address that the server printed, or start it with --allow-host NAME."
            return problem_response(421, "host", fault, remedy)
        if fault := self._origins.origin_fault(scope):
            return problem_response(403, "origin", fault, "Send requests from a page of this server.")
        if caller is None:
            return None
        if caller.kind == "browser" and (fault := same_origin_fault(scope)):
            return problem_response(403, "origin", fault, "Send requests from a page of this server.")
        if caller.principal and caller.principal != self._principal:
            message = f"The token {caller.name!r} is for the memories of {caller.principal!r}, and not for this server."
            remedy = "Connect to a server whose plugins.entries.memory-lancedb.config.principal is the same."
            return problem_response(403, "principal", message, remedy)
        needed: TokenScope = "read"
        for path, scope_of_path in NEEDED.items():
            needed = scope_of_path if scope["path"].startswith(path) else needed
        if not caller.allows(needed):
            return out_of_scope(caller, needed)
        if caller.kind != "command" and (seconds := self._rate.take(f"{caller.kind} {caller.name}")):
            wait = str(math.ceil(seconds))
            message = f"The caller {caller.name!r} sends too many requests."
            return problem_response(429, "rate", message, "Wait a moment.", headers={"Retry-After": wait})
        return None

    def _opens_session(self, scope: Scope) -> bool:
        """Return whether the request opens a one-time link, which needs nothing but its code."""
        opens = (scope["method"], scope["path"]) == ("GET", OPEN_PATH)
        return opens and self._authenticator.sessions is not None and is_local(scope)


def out_of_scope(caller: Caller, needed: TokenScope) -> Response:
    """Return the refusal of a request that needs more than its caller has."""
    message = f"This needs the scope {needed!r}, and the token {caller.name!r} has {caller.scope!r}."
    remedy = f"Use a token with that scope: `memoriter token create NAME --scope {needed}`."
    return problem_response(403, "scope", message, remedy, needed=needed)


def unauthorized(scope: Scope) -> Response:
    """Return the refusal of a request whose caller is not known."""
    headers = {"WWW-Authenticate": "Bearer", "Cache-Control": "no-store", "Connection": "close"}
    message, remedy = NO_TOKEN, NO_TOKEN_REMEDY
    problem = problem_json(401, "token", message, remedy)
    # Clients of earlier versions read the member `error`.
    body = {**problem, "error": {"code": "token", "message": message, "remedy": remedy}}
    accepted = next((value for name, value in scope["headers"] if name.lower() == b"accept"), b"")
    if b"text/html" in accepted and not scope["path"].startswith(PROGRAM_PATHS):
        text = "This page needs a session. Run `memoriter serve --link`, and open the link that it prints.\n"
        return Response(text, 401, headers, "text/plain; charset=utf-8")
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
