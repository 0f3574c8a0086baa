"""How many sessions the clients of a server may have open: the one that was idle longest makes room for a new one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from starlette.datastructures import Headers

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_SESSIONS = 256
"""In all; the clients of one address may have half of them."""
IDLE_SECONDS = 30 * 60.0
"""A session without a request or an open stream ends after so long."""
OPENING = 2
"""Requests that every client makes to begin: a session with no more of them was never used."""


@dataclass(slots=True)
class _Session:
    """What decides which session goes first."""

    address: str
    last: float
    requests: int = 1
    open: int = 0
    """Requests and streams that are being answered."""

    @property
    def worth(self) -> tuple[bool, bool, float]:
        return self.open > 0, self.requests > OPENING, self.last


class SessionLimits:
    """An ASGI application around `/mcp` that keeps the number of sessions down.

    A session that makes room is ended as if its client had done so; that client is answered 404 at its next request
    and begins a new one, as the protocol wants.
    """

    def __init__(
        self, app: ASGIApp, path: str, *, most: int = MOST_SESSIONS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Wrap an application.

        Args:
            app: answers the requests.
            path: of the protocol; requests to others are passed on as they are.
            most: sessions in all.
            clock: gives monotonic seconds.
        """
        self._app = app
        self._path = path
        self._most = most
        self._clock = clock
        self._sessions: dict[str, _Session] = {}

    @property
    def open(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        name = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        if name is None:
            await self._begun(scope, receive, send)
            return
        session = self._sessions.get(name)
        if session is None:
            await self._app(scope, receive, send)
            return
        session.open += 1
        session.requests += 1
        try:
            await self._app(scope, receive, self._watched(name, scope["method"], send))
        finally:
            session.open -= 1
            session.last = self._clock()

    def _watched(self, name: str, method: str, send: Send) -> Send:
        """Hear that a session has ended: by its client, or after it was idle for too long."""

        async def hear(message: Message) -> None:
            if message["type"] == "http.response.start" and (message["status"] == 404 or method == "DELETE"):
                self._sessions.pop(name, None)
            await send(message)

        return hear

    async def _begun(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = str((scope.get("client") or ("",))[0])
        begun: list[_Session] = []

        async def hear(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                name = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if name is not None:
                    begun.append(self._sessions.setdefault(name, _Session(address, self._clock(), open=1)))
                    await self._make_room(scope, name, address)
            await send(message)

        try:
            await self._app(scope, receive, hear)
        finally:
            for session in begun:
                session.open -= 1

    async def _make_room(self, scope: Scope, new: str, address: str) -> None:
        self._forget_expired()
        others = {name: session for name, session in self._sessions.items() if name != new}
        near = {name: session for name, session in others.items() if session.address == address}
        if len(near) >= self._most // 2:
            others = near
        elif len(others) < self._most:
            return
        name = min(others, key=lambda each: others[each].worth)
        del self._sessions[name]
        await self._end(scope, name)

    def _forget_expired(self) -> None:
        """Forget what the server has ended by itself. It says so to nobody, but it does it after a known time."""
        limit = self._clock() - IDLE_SECONDS
        for name in [name for name, each in self._sessions.items() if not each.open and each.last < limit]:
            del self._sessions[name]

    async def _end(self, scope: Scope, name: str) -> None:
        """End a session as its client would."""
        kept = {b"host", b"origin", b"authorization"}
        headers = [(key, value) for key, value in scope["headers"] if key in kept]
        request: dict[str, Any] = {
            **scope,
            "method": "DELETE",
            "headers": [*headers, (MCP_SESSION_ID_HEADER.encode("ascii"), name.encode("ascii"))],
        }

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(_: Message) -> None:
            return

        await self._app(request, nothing, unheard)
