"""Refusals for programs, as problem details of RFC 9457, and small pages of HTML for people.

A page loads nothing and needs no session. Some take a form, and some are the refusals that a person's browser shows.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from memoriter.access._callers import SIGN_IN_PATH
from memoriter.access._origins import PROGRAM_PATHS
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.types import Message, Scope, Send

PROBLEM_TYPE = "application/problem+json"


def problem_json(status: int, code: str, message: str, remedy: str, **more: Any) -> dict[str, Any]:
    """Return a problem: `type`, `title`, `status` and `detail` of RFC 9457, `code`, `remedy`, and further members."""
    return {
        "type": f"urn:memoriter:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": message,
        "code": code,
        "remedy": remedy,
        **more,
    }


def problem_response(
    status: int, code: str, message: str, remedy: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Return a response with a problem, which no cache keeps."""
    body = json.dumps(problem_json(status, code, message, remedy, **more))
    return Response(body, status, {"Cache-Control": "no-store", **(headers or {})}, PROBLEM_TYPE)


STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:0;font:1rem/1.55 system-ui,sans-serif;background:#f5f6f8;color:#1c2128}"
    "main{max-width:34rem;margin:12vh auto 0;padding:2rem;background:#fff;border:1px solid #dde1e6;border-radius:12px}"
    "h1{margin:0 0 1rem;font-size:1.5rem;line-height:1.25}"
    "code{padding:.1rem .3rem;background:#f5f6f8;border-radius:4px}"
    "a,button,input{display:inline-block;margin-top:.5rem;padding:.4rem .9rem;border:1px solid #868f9a;"
    "border-radius:8px;"
    "color:inherit;font:inherit;background:none;text-decoration:none;max-width:100%;box-sizing:border-box}"
    "svg{max-width:100%;height:auto}table{border-collapse:collapse}td,th{text-align:start;padding:.2rem .8rem .2rem 0}"
    "@media(max-width:40rem){main{margin:1rem}}"
    "@media(prefers-color-scheme:dark){body{background:#14181d;color:#e3e7ec}"
    "main{background:#1c2127;border-color:#313942}code{background:#14181d}}"
)
"""How the page looks. It stands in the page, because files of the server need a session."""
STYLE_SOURCE = f"'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""What allows this style alone in a Content-Security-Policy."""
PAGE_POLICY = (
    f"default-src 'none'; style-src {STYLE_SOURCE}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the page."""


def small_page(
    title: str, *paragraphs: str, link: tuple[str, str, str] | None, body: str = "", refresh: bool = False
) -> bytes:
    """Return a page with a title, paragraphs and a link.

    In the paragraphs, parts between backticks are code; empty ones are left out. The link is the text before it, its
    address on this server, and its text; if `refresh`, the browser opens it by itself. `body` is HTML.
    """
    before, address, text = map(escape, link or ("", "", ""))
    moves = f'<meta http-equiv="refresh" content="0; url={address}">\n' if refresh else ""
    leads = f'<p>{before}<a href="{address}">{text}</a></p>' if link else ""
    shown = "".join(f"<p>{_with_code(each)}</p>\n" for each in paragraphs if each)
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{escape(title)} · memoriter</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{moves}<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{shown}{body}{leads}
</main>
</body>
</html>
"""
    return page.encode("utf-8", "replace")


def _with_code(text: str) -> str:
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(f"<code>{escape(part)}</code>" if at % 2 else escape(part) for at, part in enumerate(parts))


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

    `problem` is a sentence, and `after` the address to which signing in leads; empty: the first page.
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
    """Return the fields of a form that was sent, with at most so many bytes; of a repeated field, the last one.

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


FIRST_PAGE = "/"
TITLES = {
    401: "This browser has no session",
    403: "This was refused",
    404: "There is no such page",
    405: "This address cannot be opened",
    429: "Too many requests",
}
"""The title by the status; of other ones, the phrase of HTTP."""
PLAIN = {
    404: ("This server has no page with this address.", "Check the address, or choose a page."),
    405: ("This address only takes what a form of a page sends.", "Go to the page with the form."),
}
"""What happened and what to do, by the status, if the response says neither."""


def prefers_html(scope: Scope) -> bool:
    """Return whether a person's browser asks, which wants HTML rather than JSON."""
    if scope["path"].startswith(PROGRAM_PATHS):
        return False
    wanted = _weights(Headers(scope=scope).get("accept", ""))
    return wanted.get("text/html", 0.0) > wanted.get("application/json", 0.0)


def _weights(accept: str) -> dict[str, float]:
    """Return the weight of each media type of the header `Accept`; one without a weight has 1."""
    weights: dict[str, float] = {}
    for each in accept.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        given = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        try:
            weights[name] = float(given)
        except ValueError:
            weights[name] = 0.0
    return weights


def with_error_page(send: Send) -> Send:
    """Wrap `send` so that a refusal in JSON or plain text becomes a page. Its status and headers stay."""
    start: Message | None = None
    body = bytearray()

    async def turn(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and _is_refusal(message):
            start = message
            return
        if start is None or message["type"] != "http.response.body":
            await send(message)
            return
        body.extend(message.get("body", b""))
        if message.get("more_body", False):
            return
        page = _page_of(start["status"], bytes(body))
        headers = MutableHeaders(scope=start)
        headers["content-type"] = "text/html; charset=utf-8"
        headers["content-length"] = str(len(page))
        headers["content-security-policy"] = PAGE_POLICY
        await send(start)
        await send({"type": "http.response.body", "body": page})

    return turn


def _is_refusal(start: Message) -> bool:
    kind = Headers(raw=start["headers"]).get("content-type", "").partition(";")[0]
    return start["status"] >= 400 and kind in {PROBLEM_TYPE, "text/plain"}


def _page_of(status: int, body: bytes) -> bytes:
    message, remedy = PLAIN.get(status, (HTTPStatus(status).phrase + ".", ""))
    try:
        problem: Any = json.loads(body)
        message = str(problem["detail"])
        remedy = str(problem["remedy"])
    except (ValueError, TypeError, KeyError):
        pass
    title = TITLES.get(status, HTTPStatus(status).phrase)
    if status != 401:
        return small_page(title, message, remedy, link=("", FIRST_PAGE, "Open the first page"))
    sign_in = f'<p><a href="{SIGN_IN_PATH}">Sign in with a token</a></p>\n'
    # After a click on a link of another web page, a browser leaves the cookie of a session out.
    link = ("If you are signed in, and came from another web page: ", FIRST_PAGE, "Open the first page")
    return small_page(title, message, remedy, body=sign_in, link=link)
