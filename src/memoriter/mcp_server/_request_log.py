"""A log of HTTP requests, without anything that a client chose: no query string, header, body or unknown path."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
log = logging.getLogger(__name__)


class RequestLog:
    """ASGI middleware that logs each request with its status and duration."""

    def __init__(self, app: ASGIApp, paths: Collection[str]) -> None:
        """Wrap an application that serves these paths; only they are logged by name."""
        self._app = app
        self._paths = frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and log it when it has been answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = anyio.current_time(), 0

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            method = scope["method"] if scope["method"] in METHODS else "another method"
            path = scope["path"] if scope["path"] in self._paths else "another path"
            milliseconds = (anyio.current_time() - started) * 1000
            log.info("%s %s: status %d, %.1f ms", method, path, status, milliseconds)
