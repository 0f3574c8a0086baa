"""The routes of the HTTP API, for the server that has the memory open."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from memoriter.access import caller_of, is_still_known, problem_response
from memoriter.web._link import OneTimeLink
from memoriter.web._openapi import BASE, openapi_document
from memoriter.web._operations import OPERATIONS
from memoriter.web._problems import response_for
from memoriter.web._requests import read_body, read_query
from memoriter.web._runner import OperationRunner
from memoriter.web._work import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from memoriter.access import BrowserSessions
    from memoriter.web._events import Events
    from memoriter.web._operations import Operation
    from memoriter.web._runner import Run

LONGEST_BODY = 4 * 1024 * 1024
"""Bytes of a request's body at most, as for MCP."""
LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer at most."""
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def api_routes(
    run: Run, events: Events, sessions: BrowserSessions | None = None
) -> tuple[Sequence[Route], Sequence[str]]:
    """Return the routes of the API and of the one-time link, and their paths.

    Args:
        run: runs a function with the memory in a worker thread.
        events: the events of the server.
        sessions: the sessions of browsers; None: there are none.
    """
    runner = OperationRunner(run, events)
    routes = [Route(f"{BASE}{each.path}", _Endpoint(each, runner)) for each in OPERATIONS]
    document = json.dumps(openapi_document())

    async def openapi(_: Request) -> Response:
        return Response(document, media_type="application/json")

    async def follow(request: Request) -> Response:
        if events.full:
            return problem_response(503, "busy", "Too many clients follow the events.", "Try again later.")
        last_id = request.headers.get("last-event-id", "")
        stream = events.stream(lambda: is_still_known(request.scope), last_id=last_id)
        # Without this header, nginx collects events before it passes them on.
        return StreamingResponse(stream, headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream")

    routes += [Route(f"{BASE}/openapi.json", openapi), Route(f"{BASE}/events", follow, methods=["GET"])]
    if sessions is not None:
        link = OneTimeLink(sessions)
        routes += [Route(link.path, link.open, methods=["GET"])]
    paths = [route.path for route in routes]
    return [*routes, Route("/api/{rest:path}", _unknown, methods=METHODS)], paths


async def _unknown(_: Request) -> Response:
    message = "The API has no operation with this path."
    return problem_response(404, "not_found", message, f"See {BASE}/openapi.json for all operations.")


class _Endpoint:
    """Answers the requests of one operation."""

    def __init__(self, operation: Operation, runner: OperationRunner) -> None:
        self._operation, self._runner = operation, runner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, as an ASGI application."""
        from starlette.requests import Request

        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        operation, caller = self._operation, caller_of(request.scope)
        allowed = ["GET", "HEAD"] if operation.method == "GET" else ["POST"]
        if request.method not in allowed:
            headers = {"Allow": ", ".join(allowed)}
            message = f"The operation {operation.name} is a {operation.method} request."
            return problem_response(405, "method", message, f"Send {operation.method}.", headers=headers)
        try:
            require(caller, operation.scope)
            if operation.method == "GET":
                given = read_query(operation.request, request.query_params.multi_items())
            else:
                body = await _read_json(request)
                if isinstance(body, Response):
                    return body
                given = read_body(operation.request, body)
            answer = await self._runner.run(operation, caller, given)
        except Exception as error:  # noqa: BLE001 - each error becomes a problem
            return response_for(error, f"The operation {operation.name}")
        return _json(answer)


async def _read_json(request: Request) -> bytes | Response:
    """Return the body, or the response that refuses it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        remedy = "Send the header `Content-Type: application/json`."
        return problem_response(415, "media_type", "The body is not `application/json`.", remedy)
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > LONGEST_BODY:
            message = f"The body is longer than {LONGEST_BODY:,} bytes."
            return problem_response(413, "too_large", message, "Send less.", headers={"Connection": "close"})
    return bytes(received)


def _json(answer: Any) -> Response:
    """Return an answer as JSON in ASCII, which holds every text, lone surrogates of file names included."""
    body = json.dumps(answer, allow_nan=False).encode("ascii")
    if len(body) > LONGEST_ANSWER:
        message = f"The answer is longer than {LONGEST_ANSWER:,} bytes."
        return problem_response(413, "too_large", message, "Ask for fewer results or lines.")
    return Response(body, media_type="application/json")
