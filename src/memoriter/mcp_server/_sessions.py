"""A limit on the open MCP sessions of a server: the session idle for longest makes room for a new one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.datastructures import Headers

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_SESSIONS = 256
"""Maximum number of sessions; one client address may have half of them."""
IDLE_SECONDS = 30 * 60.0
"""Seconds after which a session without a request or an open stream ends."""
OPENING = 2
"""Requests that every client makes to open a session; a session with no more was never used."""


@dataclass(slots=True)
class _Session:
    """The activity of a session, which decides which session is ended first."""

    address: str
    last_used: float
    requests: int = 1
    open: int = 0
    """Number of requests and streams that are being answered."""

    @property
    def eviction_key(self) -> tuple[bool, bool, float]:
        return self.open > 0, self.requests > OPENING, self.last_used


class SessionLimits:
    """ASGI middleware around `/mcp` that limits the number of sessions.

    A session that makes room is ended as if its client had deleted it. The client gets a 404 for its next request and
    opens a new session, as the protocol requires.
    """

    def __init__(
        self, app: ASGIApp, path: str, *, most: int = MOST_SESSIONS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Wrap an application.

        Args:
            app: the application that answers the requests.
            path: the path of the protocol; requests to other paths are passed on unchanged.
            most: maximum number of sessions.
            clock: returns monotonic seconds.
        """
        self._app = app
        self._path = path
        self._most = most
        self._clock = clock
        self._sessions: dict[str, _Session] = {}

    @property
    def open(self) -> int:
        """Number of sessions."""
        return len(self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        name = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        if name is None:
            await self._open_session(scope, receive, send)
            return
        session = self._sessions.get(name)
        if session is None:
            await self._app(scope, receive, send)
            return
        session.open += 1
        session.requests += 1
        try:
            await self._app(scope, receive, self._dropping_ended(name, scope["method"], send))
        finally:
            session.open -= 1
            session.last_used = self._clock()

    def _dropping_ended(self, name: str, method: str, send: Send) -> Send:
        """Wrap `send` to drop a session that its client ended or that was idle for too long."""

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and (message["status"] == 404 or method == "DELETE"):
                self._sessions.pop(name, None)
            await send(message)

        return watch

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = str((scope.get("client") or ("",))[0])
        opened: list[_Session] = []

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                name = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if name is not None:
                    opened.append(self._sessions.setdefault(name, _Session(address, self._clock(), open=1)))
                    await self._make_room(scope, name, address)
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            for session in opened:
                session.open -= 1

    async def _make_room(self, scope: Scope, new: str, address: str) -> None:
        self._drop_expired()
        others = {name: session for name, session in self._sessions.items() if name != new}
        same_address = {name: session for name, session in others.items() if session.address == address}
        if len(same_address) >= self._most // 2:
            others = same_address
        elif len(others) < self._most:
            return
        name = min(others, key=lambda each: others[each].eviction_key)
        del self._sessions[name]
        await self._end(scope, name)

    def _drop_expired(self) -> None:
        """Drop idle sessions that the server has ended; it reports none, but ends them after `IDLE_SECONDS`."""
        limit = self._clock() - IDLE_SECONDS
        for name in [name for name, each in self._sessions.items() if not each.open and each.last_used < limit]:
            del self._sessions[name]

    async def _end(self, scope: Scope, name: str) -> None:
        """End a session with the request that its client would send."""
        forwarded = {b"host", b"origin", b"authorization"}
        headers = [(key, value) for key, value in scope["headers"] if key in forwarded]
        request: dict[str, Any] = {
            **scope,
            "method": "DELETE",
            "headers": [*headers, (MCP_SESSION_ID_HEADER.encode("ascii"), name.encode("ascii"))],
        }

        async def empty_body() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def discard(_: Message) -> None:
            return

        await self._app(request, empty_body, discard)
