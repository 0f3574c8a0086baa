"""Small pages with a form, such as the one that takes a token."""

from __future__ import annotations

from html import escape

from starlette.responses import Response

from memoriter.access._browser import SIGN_IN_PATH
from memoriter.access._small_page import STYLE_SOURCE, small_page

FORM_POLICY = (
    f"default-src 'none'; style-src {STYLE_SOURCE}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FORM_HEADERS = {
    "Content-Security-Policy": FORM_POLICY,
    # With `no-referrer`, a browser would hide the origin of a form, which proves that a page of this server sent it.
    "Referrer-Policy": "same-origin",
}


def sign_in_page(problem: str = "", status: int = 200, *, after: str = "") -> Response:
    """Return the page that takes a token, with what was wrong with the last one, or why it is asked for.

    Args:
        problem: a sentence.
        status: the status of the response.
        after: the address to which signing in leads; empty: the first page.
    """
    body = (
        f'<form method="post" action="{SIGN_IN_PATH}">'
        f'<input type="hidden" name="after" value="{escape(after)}">'
        '<p><label for="token">Token</label><br><input id="token" name="token" type="password" size="48" '
        'required maxlength="600" autocomplete="current-password" autofocus></p><p><button>Sign in</button></p></form>'
    )
    how = "The owner of these notes gives you one: `memoriter token create NAME --scope write`."
    alert = f'<p role="alert"><strong>{escape(problem)}</strong></p>' if problem else ""
    return form_page("Sign in", how, body=alert + body, status=status, link=None)


def form_page(
    title: str,
    *paragraphs: str,
    body: str = "",
    status: int = 200,
    link: tuple[str, str, str] | None = ("", "/", "Back to the notes"),
    refresh: bool = False,
) -> Response:
    """Return a small page that may send a form to this server; the arguments are those of `small_page`."""
    page = small_page(title, *paragraphs, link=link, body=body, refresh=refresh)
    return Response(page, status, FORM_HEADERS, "text/html")
