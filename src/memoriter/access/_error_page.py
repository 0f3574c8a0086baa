"""Refusals as a small page, for a person whose browser asked for one. Programs keep the problem as JSON."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers, MutableHeaders

from memoriter.access._browser import SIGN_IN_PATH
from memoriter.access._origins import PROGRAM_PATHS
from memoriter.access._problem import PROBLEM_TYPE
from memoriter.access._small_page import PAGE_POLICY, small_page

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

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
