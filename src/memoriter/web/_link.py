"""The route that turns a one-time link into a session of a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from memoriter.access import OPEN_PATH, problem_response, small_page

if TYPE_CHECKING:
    from starlette.requests import Request

    from memoriter.access import BrowserSessions


class OneTimeLink:
    """The route that turns a one-time link into a session."""

    def __init__(self, sessions: BrowserSessions) -> None:
        self._sessions = sessions

    def open(self, request: Request) -> Response:
        """Set the session's cookie and lead to the page, or refuse a link that was opened before.

        A page leads there, and no redirect does: after a click on a link of another web page, a browser would send no
        cookie of `SameSite=Strict` with the redirected request.
        """
        purpose = request.headers.get("sec-purpose", "")
        if "prefetch" in purpose:  # a browser that looks ahead must not use the link up
            return problem_response(403, "session", "The link is for a person.", "Open it in a browser.")
        value = self._sessions.open(request.query_params.get("code", ""))
        if value is None:
            current = request.cookies.get(self._sessions.cookie)
            if current is not None and self._sessions.is_open(current):
                return _continuing()
            message = "The link is wrong, was opened before, or is older than ten minutes."
            return problem_response(401, "session", message, "Run `memoriter serve --link` for a new one.")
        response = _continuing()
        response.set_cookie(self._sessions.cookie, value, httponly=True, samesite="strict", path="/")
        return response

    @property
    def path(self) -> str:
        return OPEN_PATH


def _continuing() -> Response:
    """Return the page that opens the first page by itself."""
    page = small_page("The session is open", link=("", "/", "Continue to the pages"), refresh=True)
    return Response(page, media_type="text/html")
