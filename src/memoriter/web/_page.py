"""The small page that a one-time link opens: it names what the server offers, and nothing else."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from memoriter.access import OPEN_PATH, problem_response
from memoriter.web._openapi import BASE
from memoriter.web._operations import OPERATIONS

if TYPE_CHECKING:
    from starlette.requests import Request

    from memoriter.access import BrowserSessions

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem}td{padding:.1rem 1rem 0 0}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode("ascii")
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def page(request: Request) -> Response:
    """Return the page."""
    rows = "".join(
        f"<tr><td><code>{each.method} {BASE}{escape(each.path)}</code></td><td>{escape(each.summary)}</td></tr>"
        for each in OPERATIONS
    )
    document = f"{BASE}/openapi.json"
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>memoriter</title>'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<style>{STYLE}</style></head><body><main><h1>memoriter</h1>"
        f'<p>This server answers programs: <a href="{document}">OpenAPI document</a>, '
        f'<a href="{BASE}/status">state of the memory</a>, <a href="{BASE}/files">files</a>. '
        "It has no pages to search and edit yet.</p>"
        f"<table>{rows}</table></main></body></html>"
    )
    del request
    return Response(text, 200, {"Content-Security-Policy": POLICY}, "text/html; charset=utf-8")


class OneTimeLink:
    """The route that turns a one-time link into a session."""

    def __init__(self, sessions: BrowserSessions) -> None:
        self._sessions = sessions

    def open(self, request: Request) -> Response:
        """Set the session's cookie and lead to the page, or refuse a link that was opened before."""
        purpose = request.headers.get("sec-purpose", "")
        if "prefetch" in purpose:  # a browser that looks ahead must not use the link up
            return problem_response(403, "session", "The link is for a person.", "Open it in a browser.")
        value = self._sessions.open(request.query_params.get("code", ""))
        if value is None:
            current = request.cookies.get(self._sessions.cookie)
            if current is not None and self._sessions.is_open(current):
                return RedirectResponse("/", 303)
            message = "The link is wrong, was opened before, or is older than ten minutes."
            return problem_response(401, "session", message, "Run `memoriter serve --link` for a new one.")
        response = RedirectResponse("/", 303)
        response.set_cookie(self._sessions.cookie, value, httponly=True, samesite="strict", path="/")
        return response

    @property
    def path(self) -> str:
        return OPEN_PATH
