"""Sessions of browsers, which a token or a one-time link opens; they end with the server."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

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

        Args:
            token: the hash of the token whose rights the session has; empty: those of the owner, on this machine only.
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
