"""A limit on the open MCP sessions of a server, each of which belongs to the caller that has opened it."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.types import INVALID_REQUEST
from starlette.datastructures import Headers
from starlette.responses import Response

from memoriter.access import caller_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memoriter.access import Caller

MOST_SESSIONS = 128
"""Sessions of the owner at most, and as many of all other callers."""
IDLE_SECONDS = 30 * 60.0
"""Seconds after which a session without a request or an open stream ends."""
ANY_TYPE = b"*/*"
EVENTS = b"text/event-stream"
OPENING = 2
"""Requests that every client makes to open a session; a session with no more was never used."""


@dataclass(slots=True)
class _Session:
    """The activity of a session, which decides which session is ended first."""

    caller: Caller
    last_used: float
    requests: int = 1
    open: int = 0
    """Number of requests and streams that are being answered."""

    @property
    def eviction_key(self) -> tuple[bool, bool, float]:
        return self.open > 0, self.requests > OPENING, self.last_used


class SessionLimits:
    """ASGI middleware around `/mcp` that limits the number of sessions.

    For a new session, one of the caller with the most sessions makes room, so that nobody can end those of a caller
    who has few. It is ended as if its client had deleted it. The client gets a 404 for its next request and
    opens a new session, as the protocol requires. The sessions of the owner are counted apart.
    """

    def __init__(
        self, app: ASGIApp, path: str, *, most: int = MOST_SESSIONS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Wrap an application."""
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
        if scope["type"] != "http" or scope["path"].removesuffix("/") != self._path:
            await self._app(scope, receive, send)
            return
        if _accepts_json_only(scope):
            send = _without_events(send)
        scope = self._usual(scope)
        name = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        if name is None:
            await self._open_session(scope, receive, send)
            return
        session = self._sessions.get(name)
        if session is None or session.caller.key != caller_of(scope).key:
            await _not_found()(scope, receive, send)
            return
        session.open += 1
        session.requests += 1
        try:
            await self._app(scope, receive, self._dropping_ended(name, scope["method"], send))
        finally:
            session.open -= 1
            session.last_used = self._clock()

    def _usual(self, scope: Scope) -> Scope:
        """Return a request as the SDK expects it: clients also end the path with `/` and name types differently."""
        headers = list[tuple[bytes, bytes]]()
        is_post = scope["method"] == "POST"
        for name, value in scope["headers"]:
            if name == b"content-type":
                kind, separator, rest = value.partition(b";")
                headers.append((name, kind.lower() + separator + rest))
            elif name != b"accept" or not is_post:
                headers.append((name, value))
        if is_post:  # The SDK refuses whoever names one of the two types of an answer, and each is understood.
            headers.append((b"accept", ANY_TYPE))
        # The same scope, in which the server notes the tool for the log.
        scope.update(path=self._path, raw_path=self._path.encode(), headers=headers)
        return scope

    def _dropping_ended(self, name: str, method: str, send: Send) -> Send:
        """Wrap `send` to drop a session that its client ended or that was idle for too long."""

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and (message["status"] == 404 or method == "DELETE"):
                self._sessions.pop(name, None)
            await send(message)

        return watch

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        opened: list[_Session] = []

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                name = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
                if name is not None:
                    session = _Session(caller_of(scope), self._clock(), open=1)
                    opened.append(self._sessions.setdefault(name, session))
                    await self._make_room(scope, session)
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            for session in opened:
                session.open -= 1

    async def _make_room(self, scope: Scope, new: _Session) -> None:
        self._drop_expired()
        owner = new.caller.has_owner_share
        counted = {name: each for name, each in self._sessions.items() if each.caller.has_owner_share == owner}
        if len(counted) <= self._most:
            return
        numbers = Counter(each.caller.key for each in counted.values())
        candidates = [
            name
            for name, each in counted.items()
            if each is not new and numbers[each.caller.key] == max(numbers.values())
        ]
        name = min(candidates, key=lambda each: counted[each].eviction_key)
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


def _not_found() -> Response:
    """Return the answer for a session that does not exist, or belongs to another caller: nobody learns which."""
    error = {"code": INVALID_REQUEST, "message": "Session not found"}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    return Response(body, 404, media_type="application/json")


def _accepts_json_only(scope: Scope) -> bool:
    """Return whether a client takes JSON and no stream of events."""
    accepted = b",".join(value for name, value in scope["headers"] if name == b"accept").lower()
    return scope["method"] == "POST" and b"json" in accepted and EVENTS not in accepted


def _without_events(send: Send) -> Send:
    """Wrap `send` to answer with the message of the last event, which is the response, instead of a stream."""
    start: list[Message] = []
    body = bytearray()

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.start" and EVENTS in dict(message["headers"]).get(b"content-type", b""):
            start.append(message)
            return
        if not start or message["type"] != "http.response.body":
            await send(message)
            return
        body.extend(message.get("body", b""))
        if message.get("more_body"):
            return
        data = [line.removeprefix(b"data:").strip() for line in body.splitlines() if line.startswith(b"data:")]
        content = next((each for each in reversed(data) if each), b"")
        kept = [
            (name, value) for name, value in start[0]["headers"] if name not in {b"content-type", b"content-length"}
        ]
        headers = [*kept, (b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({**start[0], "headers": headers})
        await send({"type": "http.response.body", "body": content})

    return collect
