"""The routes of the HTTP API, for the server that has the memory open, and their OpenAPI 3.1 document."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from memoriter.access import (
    PROBLEM_TYPE,
    LimitReached,
    Shares,
    caller_of,
    is_still_known,
    limit_reached,
    problem_response,
)
from memoriter.answers import TABLES, objects_of, schema_of, schemas_of
from memoriter.web._events import RETRY_MILLISECONDS
from memoriter.web._operation import operation_sets, require
from memoriter.web._operations import all_operations
from memoriter.web._requests import read_body, read_query
from memoriter.web._runner import OperationRunner, response_for
from memoriter.web._sign_in import SignIn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from memoriter.access import BrowserSessions, Permit, Run
    from memoriter.answers import Schema
    from memoriter.web._events import Events
    from memoriter.web._operation import Operation
    from memoriter.web._requests import Request as Parameters

BASE = "/api/v1"
OBJECT_NAME = re.compile(r"[A-Z]\w+")
"""The name of an object in an answer of an operation."""
REFERENCE = re.compile(r"#/components/schemas/(\w+)")
COMMON = (400, 401, 403, 405, 413, 415, 429, 500, 503)
"""Statuses of refusals that every operation may return."""
DESCRIPTIONS = {
    400: "The parameters are not valid.",
    401: "The token is missing or wrong.",
    403: "The scope of the token, the path or the origin does not allow this.",
    405: "The operation has another method.",
    409: "The note has changed, or the settings of the server do not allow this.",
    413: "The body or the answer is too long.",
    415: "The body is not `application/json`.",
    429: "The caller sends too many requests.",
    500: "Something failed that the request did not cause.",
    503: "The memory is busy, ending, or waits for a service.",
}


def openapi_document() -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, Any] = {
        each.path: {each.method.lower(): _operation_json(each)} for each in all_operations().values()
    }
    paths["/events"] = {"get": _events_json()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "memoriter",
            "version": version("memoriter"),
            "description": "Search, read and change the notes of one memory. The answers are those of `--json`.",
        },
        "servers": [{"url": BASE}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": all_schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def all_schemas() -> dict[str, Schema]:
    """Return the schemas of all answers, and of the objects in them, by their names."""
    schemas = schemas_of(objects_of(TABLES))
    day = schemas["Day"]
    for added in operation_sets():
        schemas = {**added.schemas, **schemas}
        day["properties"] |= added.day_schema["properties"]
        day["required"] += added.day_schema["required"]
    needed: dict[str, Schema] = {}
    names = ["Problem", *(name for each in all_operations().values() for name in OBJECT_NAME.findall(each.answer))]
    while names:
        name = names.pop()
        if name not in needed:
            needed[name] = schemas[name]
            names += REFERENCE.findall(str(schemas[name]))
    return {name: needed[name] for name in schemas if name in needed}


def _operation_json(operation: Operation) -> dict[str, Any]:
    schema = operation.request.model_json_schema(by_alias=True, mode="validation")
    answer = {
        "description": operation.summary,
        "content": {"application/json": {"schema": schema_of(OBJECT_NAME.sub(r"[\g<0>]", operation.answer))}},
    }
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "x-scope": operation.scope,
        "responses": {"200": answer, **_problems_json(operation.problems)},
    }
    if operation.method == "GET":
        described["parameters"] = _parameters(schema)
    else:
        described["requestBody"] = {
            "required": bool(schema.get("required")),
            "content": {"application/json": {"schema": schema}},
        }
    return described


def _parameters(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    properties = cast("Mapping[str, dict[str, Any]]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(each)}
        for name, each in properties.items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter in a URL, where nothing stands for null."""
    forms = [form for form in cast("list[dict[str, Any]]", schema.get("anyOf", [])) if form.get("type") != "null"]
    return forms[0] if len(forms) == 1 else {name: value for name, value in schema.items() if name != "default"}


def _events_json() -> dict[str, Any]:
    stream: dict[str, Any] = {"description": "A stream of server-sent events.", "content": {"text/event-stream": {}}}
    return {
        "operationId": "events",
        "summary": "Follow the progress of indexing and the changes of the notes.",
        "x-scope": "read",
        "parameters": [{"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"}}],
        "responses": {"200": stream, **_problems_json(())},
    }


def _problems_json(more: tuple[int, ...]) -> dict[str, Any]:
    content = {PROBLEM_TYPE: {"schema": schema_of("[Problem]")}}
    return {
        str(status): {"description": DESCRIPTIONS[status], "content": content} for status in sorted({*COMMON, *more})
    }


LONGEST_BODY = 4 * 1024 * 1024
"""Bytes of a request's body at most, as for MCP."""
LONGEST_ANSWER = 16 * 1024 * 1024
"""Bytes of an answer at most."""
STREAMS_OF_OWNER = 32
STREAMS_OF_EACH = 8
STREAMS_OF_OTHERS = 128
"""Open streams of events at most: of the owner, of one other caller, and of all other callers."""
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def api_routes(
    run: Run, events: Events, sessions: BrowserSessions | None = None, addresses: Sequence[str] = ()
) -> tuple[Sequence[Route], Sequence[str]]:
    """Return the routes of the API and of sessions, and their paths."""
    runner = OperationRunner(run, events)
    routes = [Route(f"{BASE}{each.path}", _Endpoint(each, runner)) for each in all_operations().values()]
    document = json.dumps(openapi_document())
    streams = Shares(owner=STREAMS_OF_OWNER, each=STREAMS_OF_EACH, others=STREAMS_OF_OTHERS)

    async def openapi(_: Request) -> Response:
        return Response(document, media_type="application/json")

    async def follow(request: Request) -> Response:
        caller = caller_of(request.scope)
        if (permit := streams.acquire(caller)) is None:
            return limit_reached(caller, LimitReached("streams", RETRY_MILLISECONDS / 1000))
        last_id = request.headers.get("last-event-id", "")
        return _EventStream(events.stream(lambda: is_still_known(request.scope), last_id=last_id), permit)

    routes += [Route(f"{BASE}/openapi.json", openapi), Route(f"{BASE}/events", follow, methods=["GET"])]
    if sessions is not None:
        routes += SignIn(sessions, addresses).routes
    paths = [route.path for route in routes]
    return [*routes, Route("/api/{rest:path}", _unknown, methods=METHODS)], paths


async def _unknown(_: Request) -> Response:
    message = "The API has no operation with this path."
    return problem_response(404, "not_found", message, f"See {BASE}/openapi.json for all operations.")


class _EventStream(StreamingResponse):
    """A stream of events, which holds its permit until it ends."""

    def __init__(self, stream: AsyncGenerator[str], permit: Permit) -> None:
        # Without this header, nginx collects events before it passes them on.
        super().__init__(stream, headers={"X-Accel-Buffering": "no"}, media_type="text/event-stream")
        self._permit = permit

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the events until the client leaves."""
        with self._permit:
            await super().__call__(scope, receive, send)


class _Endpoint:
    """Answers the requests of one operation."""

    def __init__(self, operation: Operation, runner: OperationRunner) -> None:
        self._operation = operation
        self._runner = runner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, as an ASGI application."""
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        operation = self._operation
        caller = caller_of(request.scope)
        allowed = ["GET", "HEAD"] if operation.method == "GET" else ["POST"]
        if request.method not in allowed:
            headers = {"Allow": ", ".join(allowed)}
            message = f"The operation {operation.name} is a {operation.method} request."
            return problem_response(405, "method", message, f"Send {operation.method}.", headers=headers)
        try:
            require(caller, operation.scope)
            body = b"" if operation.method == "GET" else await _read_json(request)
            if isinstance(body, Response):
                return body

            def read() -> Parameters:
                if operation.method == "GET":
                    return read_query(operation.request, request.query_params.multi_items())
                return read_body(operation.request, body)

            return await self._runner.run(operation, caller, read, _json)
        except Exception as error:  # noqa: BLE001 - each error becomes a problem
            return response_for(error, f"The operation {operation.name}")


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
