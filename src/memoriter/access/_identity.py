"""Identify the caller of a request: by a bearer token, a session of a browser, or the socket of commands."""

from __future__ import annotations

import hmac
from dataclasses import replace
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, cast

from memoriter.access._caller import OWNER, Caller
from memoriter.access._origins import header_of, is_local
from memoriter.discovery import WORK_PATHS, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Scope

    from memoriter.access._browser import BrowserSessions
    from memoriter.discovery import LiveTokens

AUTHENTICATOR = "memoriter.authenticator"
"""The key of the rules of the server in the scope of a request."""


class Authenticator:
    """Authentication rules, which need only the headers of a request."""

    def __init__(
        self,
        token: Callable[[], str],
        *,
        tokens: LiveTokens | None = None,
        sessions: BrowserSessions | None = None,
    ) -> None:
        """Accept requests with the owner's token, with one of the further tokens, or from the session of a browser."""
        self._token = token
        self._tokens = tokens
        self.sessions = sessions

    def identify(self, scope: Scope) -> Caller | None:
        """Return the caller of a request, or None if it does not say who it is, or is not known.

        What comes over the socket of commands is from a process of the owner. A request with an `Authorization` header
        is never identified by its cookie.
        """
        if is_command(scope):
            return Caller("command", "admin", "command")
        if any(name.lower() == b"authorization" for name, _ in scope["headers"]):
            return self._by_authorization(scope)
        value = self.cookie_of(scope)
        token = None if value is None or self.sessions is None else self.sessions.token_of(value)
        if token is None:
            return None
        if not token:
            return Caller(OWNER, "admin", "browser") if is_local(scope) else None
        caller = self._by_digest(token)
        return None if caller is None else replace(caller, kind="browser")

    def sign_in(self, token: str) -> str | None:
        """Return the cookie of a new session with the rights of a token, or None if nobody has this token."""
        if self.sessions is None or self._by_digest(digest_of(token)) is None:
            return None
        return self.sessions.start(digest_of(token))

    def link_for_device(self, scope: Scope) -> str | None:
        """Return path and query of a link that gives another device the rights of a browser's caller.

        None: the request does not come from a browser with a session.
        """
        caller = self.identify(scope)
        if self.sessions is None or caller is None or caller.kind != "browser":
            return None
        return self.sessions.new_link(caller.digest or digest_of(self._token()))

    def accepts(self, scope: Scope) -> bool:
        """Return whether the caller of a request is known."""
        return self.identify(scope) is not None

    def cookie_of(self, scope: Scope) -> str | None:
        """Return the value of the session's cookie, or None if it is missing or repeated."""
        text = header_of(scope, "cookie")
        if text is None or self.sessions is None or text.count(f"{self.sessions.cookie}=") != 1:
            return None
        try:
            morsel = SimpleCookie(text).get(self.sessions.cookie)
        except CookieError:
            return None
        return None if morsel is None else morsel.value

    def _by_authorization(self, scope: Scope) -> Caller | None:
        scheme, _, credentials = (header_of(scope, "authorization") or "").partition(" ")
        if scheme.lower() == "bearer":
            return self._by_token(credentials.strip(" "))
        return None

    def _by_token(self, value: str) -> Caller | None:
        return self._by_digest(digest_of(value))

    def _by_digest(self, digest: str) -> Caller | None:
        """Return the caller whose token has a hash. Tokens are random, so only their hashes are compared."""
        if hmac.compare_digest(digest, digest_of(self._token())):
            return Caller(OWNER, "admin")
        found = self._tokens.with_digest(digest) if self._tokens is not None else None
        if found is None:
            return None
        return Caller(
            found.name,
            found.scope,
            principal=found.principal,
            workspaces=found.workspaces,
            limits=found.limits,
            digest=found.digest,
        )


def is_command(scope: Scope) -> bool:
    """Return whether a request has come over the socket that only processes of this user reach, for work of a command.

    The address of a socket in a folder has no port; that of every other one has.
    """
    server = scope.get("server")
    return server is not None and server[1] is None and scope["path"].startswith(WORK_PATHS)


def authenticator_of(scope: Scope) -> Authenticator:
    """Return the rules of the server that a request has reached."""
    return cast("Authenticator", scope[AUTHENTICATOR])
