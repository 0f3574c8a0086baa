"""Sessions of browsers, which a one-time link opens; they end with the server."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

OPEN_PATH = "/open"
"""The path of a one-time link; its query is the code."""
LINK_SECONDS = 10 * 60.0
"""Seconds after which a link that nobody has opened is no longer valid."""
SESSION_SECONDS = 12 * 60 * 60.0
"""Seconds without a request after which a session ends."""
MOST_LINKS = 8
MOST_SESSIONS = 32
"""Maximum number of open links and of sessions; the oldest one makes room."""


@dataclass(slots=True)
class _Session:
    last_used: float


class BrowserSessions:
    """The one-time links and the sessions of a server. Only hashes of codes and cookies are kept."""

    def __init__(self, clock: Callable[[], float], port: int) -> None:
        """Start without sessions.

        Args:
            clock: returns monotonic seconds.
            port: the port of the server. It is part of the cookie's name, because browsers send a cookie to all ports.
        """
        self._clock = clock
        self.cookie = f"memoriter-{port}"
        """The name of the cookie."""
        self._links: dict[str, float] = {}
        self._sessions: dict[str, _Session] = {}

    def new_link(self) -> str:
        """Return path and query of a link that opens one session within `LINK_SECONDS`."""
        code = secrets.token_urlsafe(32)
        while len(self._links) >= MOST_LINKS:
            self._links.pop(next(iter(self._links)))
        self._links[_digest(code)] = self._clock() + LINK_SECONDS
        return f"{OPEN_PATH}?code={code}"

    def open(self, code: str) -> str | None:
        """Return the value of the cookie of a new session, or None if the code is wrong, used or too old."""
        ends = self._links.pop(_digest(code), None)
        if ends is None or self._clock() >= ends:
            return None
        value = secrets.token_urlsafe(32)
        while len(self._sessions) >= MOST_SESSIONS:
            self._sessions.pop(min(self._sessions, key=lambda name: self._sessions[name].last_used))
        self._sessions[_digest(value)] = _Session(self._clock())
        return value

    def is_open(self, value: str) -> bool:
        """Return whether the value of a cookie belongs to a session, which then counts as used.

        Looking up a hash takes no time that depends on how similar the value is to a real one.
        """
        name = _digest(value)
        session = self._sessions.get(name)
        if session is None:
            return False
        if self._clock() - session.last_used >= SESSION_SECONDS:
            del self._sessions[name]
            return False
        session.last_used = self._clock()
        return True

    def close(self, value: str) -> None:
        """End the session of a cookie."""
        self._sessions.pop(_digest(value), None)


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
