"""The routes that open, show and end the session of a browser: by a token, or by a one-time link."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from memoriter.access import (
    CONSENT_PATH,
    DEVICE_PATH,
    OPEN_PATH,
    PAGE_POLICY,
    SIGN_IN_PATH,
    SIGN_OUT_PATH,
    FormTooLong,
    authenticator_of,
    caller_of,
    form_page,
    is_local,
    problem_response,
    read_form,
    sign_in_page,
    small_page,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from memoriter.access import BrowserSessions

LONGEST_FORM = 4096
"""Bytes of the form with a token at most."""
AFTER = re.compile(rf"{CONSENT_PATH}\?request=[\w-]{{1,100}}")
"""Where signing in may lead besides the first page."""
RIGHTS = {"read": "read the notes", "write": "read and write the notes", "admin": "do all that the owner may do"}
"""What a person may do, by the scope of the token."""


class SignIn:
    """Opens and ends sessions."""

    def __init__(self, sessions: BrowserSessions, addresses: Sequence[str] = ()) -> None:
        """Use the sessions of a server."""
        self._sessions = sessions
        self._addresses = addresses

    @property
    def routes(self) -> list[Route]:
        return [
            Route(OPEN_PATH, self.open, methods=["GET"]),
            Route(SIGN_IN_PATH, self.show, methods=["GET"]),
            Route(SIGN_IN_PATH, self.sign_in, methods=["POST"]),
            Route(SIGN_OUT_PATH, self.sign_out, methods=["POST"]),
            Route(DEVICE_PATH, self.show_session, methods=["GET"]),
            Route(DEVICE_PATH, self.add_device, methods=["POST"]),
        ]

    def open(self, request: Request) -> Response:
        """Set the session's cookie and lead to the page, or refuse a link that was opened before.

        A page leads there, and no redirect does: after a click on a link of another web page, a browser would send no
        cookie of `SameSite=Strict` with the redirected request.
        """
        purpose = request.headers.get("sec-purpose", "")
        if "prefetch" in purpose:  # a browser that looks ahead must not use the link up
            return problem_response(403, "session", "The link is for a person.", "Open it in a browser.")
        value = self._sessions.open(request.query_params.get("code", ""), is_local=is_local(request.scope))
        if value is None:
            current = request.cookies.get(self._sessions.cookie)
            if current is not None and self._sessions.token_of(current) is not None:
                return _continuing()
            message = "The link is wrong, was opened before, or is older than ten minutes."
            remedy = "Run `memoriter serve --link` for a new one, or sign in with a token."
            return problem_response(401, "session", message, remedy)
        return self._with_cookie(request, _continuing(), value)

    def show(self, _: Request) -> Response:
        """Return the page that takes a token."""
        return sign_in_page()

    async def sign_in(self, request: Request) -> Response:
        """Open a session with the rights of a token that a form sent."""
        try:
            fields = await read_form(request, LONGEST_FORM)
        except FormTooLong:
            return sign_in_page("This is longer than any token.", 413)
        after = fields.get("after", "")
        after = after if AFTER.fullmatch(after) else ""
        authenticator = authenticator_of(request.scope)
        value = authenticator.sign_in(fields.get("token", "").strip())
        if value is None:
            message = "No token is like this: it was mistyped, has expired, or was revoked."
            return sign_in_page(message, 401, after=after)
        return self._with_cookie(request, RedirectResponse(after or "/", 303), value)

    def sign_out(self, request: Request) -> Response:
        """End the session of the browser."""
        self._sessions.close(request.cookies.get(self._sessions.cookie, ""))
        page = small_page("Signed out", link=("", SIGN_IN_PATH, "Sign in again"))
        response = Response(page, headers={"Content-Security-Policy": PAGE_POLICY}, media_type="text/html")
        response.delete_cookie(self._sessions.cookie, path="/", httponly=True, samesite="strict")
        return response

    def show_session(self, request: Request) -> Response:
        """Return the page with the rights of this session, and what can be done with it."""
        caller = caller_of(request.scope)
        who = "You are the owner." if caller.is_owner else f"You are signed in as {caller.name}."
        may = f"This browser may {RIGHTS.get(caller.scope, 'not read the notes')}."
        forms = _button(SIGN_OUT_PATH, "Sign out")
        if self._addresses:
            forms = _button(DEVICE_PATH, "Sign in on a phone or another computer") + forms
            how = "Another device gets the same rights by a link that works once, within ten minutes."
        else:
            how = "Other devices do not reach this server: it listens to this computer only (see `--host`)."
        return form_page("This session", who, may, how, body=forms)

    def add_device(self, request: Request) -> Response:
        """Return the page with a link for another device, as text and as a QR code."""
        link = authenticator_of(request.scope).link_for_device(request.scope)
        if link is None or not self._addresses:
            message = "A link for another device cannot be made here."
            return problem_response(409, "session", message, "Start the server with --host or --allow-host.")
        shown = "".join(_qr_code(f"{address}{link}") for address in self._addresses)
        message = "Scan the code with the camera of the other device. It works once, within ten minutes."
        warning = "Whoever opens the link has the rights of this session."
        return form_page("Sign in on another device", message, warning, body=shown)

    def _with_cookie(self, request: Request, response: Response, value: str) -> Response:
        secure = request.url.scheme == "https"
        response.set_cookie(self._sessions.cookie, value, httponly=True, secure=secure, samesite="strict", path="/")
        return response


def _button(path: str, text: str) -> str:
    return f'<form method="post" action="{path}"><p><button>{text}</button></p></form>'


def _qr_code(url: str) -> str:
    """Return a link with its picture as SVG, on white also in the dark."""
    import segno

    code: Any = segno.make(url, micro=False)
    picture: str = code.svg_inline(scale=5, border=4, light="#fff", dark="#000", svgclass=None, lineclass=None)
    return f'<p>{picture}</p><p><a href="{url}">{url}</a></p>'


def _continuing() -> Response:
    """Return the page that opens the first page by itself."""
    page = small_page("The session is open", link=("", "/", "Continue to the pages"), refresh=True)
    return Response(page, headers={"Content-Security-Policy": PAGE_POLICY}, media_type="text/html")
