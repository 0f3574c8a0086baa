"""Who sends a request, what the caller may do, and the record of the request."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import replace
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from memoriter.access._origins import header_of, is_local
from memoriter.discovery import SCOPES, WORK_PATHS, Limits, digest_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Scope

    from memoriter.discovery import LiveTokens
    from memoriter.discovery import Scope as TokenScope
    from memoriter.memory import Memory

CALLER = "memoriter.caller"
"""The key of the caller in the scope of a request."""
STILL_KNOWN = "memoriter.still_known"
"""The key of a function in the scope of a request, which returns whether its caller is still known."""
OWNER = "owner"
"""The name of a caller who is the owner of the notes."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, once it is known who it is."""

    name: str
    """`owner`, `command`, or the name of a token."""
    scope: TokenScope
    kind: Literal["token", "browser", "command"] = "token"
    """How the caller has identified itself: by a token, by a session of a browser, or as a command of this user."""
    principal: str = ""
    """Whose long-term memories the caller may reach; empty: those of the server, whoever they belong to."""
    workspaces: tuple[str, ...] = ()
    """The only workspaces that the caller may reach; empty: that of the server, or the first one of several."""
    limits: Limits | None = None
    """What the caller may use of the server; None: as the owner."""
    digest: str = ""
    """The hash of its token; empty: it has no token of its own."""

    def allows(self, scope: TokenScope) -> bool:
        """Return whether the caller may do what needs this scope."""
        return SCOPES.index(scope) <= SCOPES.index(self.scope)

    @property
    def key(self) -> str:
        """A text for this caller alone: a new token with the name of a revoked one is somebody else's."""
        return f"{self.kind} {self.name} {self.digest}"

    @property
    def has_owner_share(self) -> bool:
        """Whether the caller uses what a server keeps free for the owner, and not what other callers share."""
        return self.limits is None

    @property
    def is_owner(self) -> bool:
        """Whether the caller speaks for the owner of the notes."""
        return self.scope == "admin"

    @property
    def author(self) -> str | None:
        """The author of what the caller writes; None: the owner."""
        return None if self.is_owner else f"{self.name} via HTTP"


def caller_of(scope: Scope) -> Caller:
    """Return the caller of a request that the middleware has let through."""
    return cast("Caller", scope[CALLER])


def known_caller(scope: Scope) -> Caller | None:
    """Return the caller of a request, or None if it was not identified, as of a probe."""
    return cast("Caller | None", scope.get(CALLER))


def is_still_known(scope: Scope) -> bool:
    """Return whether the caller of a request would still be let through, such as after a token was revoked."""
    return cast("Callable[[], bool]", scope[STILL_KNOWN])()


OPEN_PATH = "/open"
"""The path of a one-time link; its query is the code."""
SIGN_IN_PATH = "/sign-in"
"""The path of the page that takes a token."""
SIGN_OUT_PATH = "/sign-out"
CONSENT_PATH = "/consent"
"""The path of the page on which a person allows a program to use the notes."""
DEVICE_PATH = "/session"
"""The path of the page about the session, which makes links for other devices."""
LINK_SECONDS = 10 * 60.0
"""Seconds after which a link that nobody has opened is no longer valid."""
SESSION_SECONDS = 12 * 60 * 60.0
"""Seconds without a request after which a session ends."""
MOST_LINKS = 8
MOST_SESSIONS = 32
"""Maximum number of open links and of sessions; the oldest one makes room."""


@dataclass(slots=True)
class _Session:
    token: str
    """The hash of the token whose rights it has; empty: those of the owner, in browsers on this machine only."""
    last_used: float


@dataclass(frozen=True, slots=True)
class _Link:
    token: str
    """As of the session that it opens."""
    ends: float


class BrowserSessions:
    """The one-time links and the sessions of a server. Only hashes of codes and cookies are kept."""

    def __init__(self, clock: Callable[[], float], port: int) -> None:
        """Start without sessions. The name of the cookie has the port, because browsers send a cookie to all ports."""
        self._clock = clock
        self.cookie = f"memoriter-{port}"
        """The name of the cookie."""
        self._links: dict[str, _Link] = {}
        self._sessions: dict[str, _Session] = {}

    def new_link(self, token: str = "") -> str:
        """Return path and query of a link that opens one session within `LINK_SECONDS`.

        `token` is the hash of the token whose rights the session has; empty: those of the owner, on this machine only.
        """
        code = secrets.token_urlsafe(32)
        while len(self._links) >= MOST_LINKS:
            self._links.pop(next(iter(self._links)))
        self._links[_digest(code)] = _Link(token, self._clock() + LINK_SECONDS)
        return f"{OPEN_PATH}?code={code}"

    def open(self, code: str, *, is_local: bool = True) -> str | None:
        """Return the value of the cookie of a new session, or None if the code is wrong, used or too old."""
        link = self._links.get(_digest(code))
        if link is None or not (link.token or is_local):
            return None
        del self._links[_digest(code)]
        return self.start(link.token) if self._clock() < link.ends else None

    def start(self, token: str) -> str:
        """Return the value of the cookie of a new session with the rights of a token, given by its hash."""
        value = secrets.token_urlsafe(32)
        while len(self._sessions) >= MOST_SESSIONS:
            self._sessions.pop(min(self._sessions, key=lambda name: self._sessions[name].last_used))
        self._sessions[_digest(value)] = _Session(token, self._clock())
        return value

    def token_of(self, value: str) -> str | None:
        """Return the hash of the token whose rights the session of a cookie has, or None if there is no session.

        The session then counts as used. Looking up a hash takes no time that depends on how similar the value is to a
        real one.
        """
        name = _digest(value)
        session = self._sessions.get(name)
        if session is None:
            return None
        if self._clock() - session.last_used >= SESSION_SECONDS:
            del self._sessions[name]
            return None
        session.last_used = self._clock()
        return session.token

    def close(self, value: str) -> None:
        """End the session of a cookie."""
        self._sessions.pop(_digest(value), None)


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()


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
            scheme, _, credentials = (header_of(scope, "authorization") or "").partition(" ")
            return self._by_digest(digest_of(credentials.strip(" "))) if scheme.lower() == "bearer" else None
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


TOOL = "memoriter.tool"
"""The key, in the scope of a request, of the name of the MCP tool that it calls."""
UPLOAD = "memoriter.upload"
"""The key, in the state of a request, that lets its body take long, as long as it keeps arriving."""
FIELDS = "memoriter_fields"
"""The attribute of a log record that holds the fields for structured logs."""


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request after it was answered. It contains no text of notes or questions, and no token."""

    method: str
    path: str
    """A path that the server has, or `another path`."""
    tool: str
    """The MCP tool that was called; empty: none was."""
    caller: str
    """`owner`, `command` or the name of a token; empty: the caller was not identified."""
    address: str
    """The address that the request came from."""
    status: int
    """The HTTP status; 0: the client left before there was one."""
    seconds: float
    received: int
    """Bytes of the request's body."""
    sent: int
    """Bytes of the response's body."""

    @property
    def operation(self) -> str:
        """The path, with the tool if one was called."""
        return f"{self.path} {self.tool}" if self.tool else self.path

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a structured log."""
        return {
            "caller": self.caller,
            "address": self.address,
            "method": self.method,
            "operation": self.operation,
            "status": self.status,
            "ms": round(self.seconds * 1000, 1),
            "received": self.received,
            "sent": self.sent,
        }


def name_of_caller(scope: Scope) -> str:
    """Return the name of the caller of a request, or an empty string if it was not identified."""
    caller = known_caller(scope)
    return "" if caller is None else caller.name


class Run(Protocol):
    """Runs a function with the memory in a worker thread."""

    async def __call__(self, act: Callable[[Memory], Any], *, caller: Caller | None = None, quick: bool = False) -> Any:
        """Return the result of `act`.

        None as the caller is the server itself. An act that is `quick` only reads or writes notes, and never waits for
        a search.

        Raises:
            anyio.ClosedResourceError: the memory is being closed.
        """
        ...
