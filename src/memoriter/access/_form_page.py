"""Small pages with a form, such as the one that takes a token."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.responses import Response

from memoriter.access._browser import SIGN_IN_PATH
from memoriter.access._small_page import STYLE_SOURCE, small_page
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_FIELDS = 1_000
"""Fields of a form at most."""
FORM_POLICY = (
    f"default-src 'none'; style-src {STYLE_SOURCE}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FORM_HEADERS = {
    "Content-Security-Policy": FORM_POLICY,
    # With `no-referrer`, a browser would hide the origin of a form, which proves that a page of this server sent it.
    "Referrer-Policy": "same-origin",
}


class FormTooLong(UsageError):
    """A form that is longer than its page accepts."""


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


async def read_form(request: Request, longest: int) -> dict[str, str]:
    """Return the fields of a form that was sent; of a repeated field, the last one.

    Args:
        request: the request.
        longest: the most bytes of the form.

    Raises:
        FormTooLong: It has more bytes, or more fields than `MOST_FIELDS`.
    """
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > longest:
            raise FormTooLong(f"The form is longer than {longest:,} bytes.", remedy="Send less at once.")
    try:
        pairs = parse_qsl(received.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError as error:
        message = f"The form has more than {MOST_FIELDS:,} fields."
        raise FormTooLong(message, remedy="Send less at once.") from error
    return dict(pairs)
