"""The OpenAPI 3.1 document, made from the table of operations."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from memoriter.access import PROBLEM_TYPE
from memoriter.answers import TABLES, objects_of, schema_of, schemas_of
from memoriter.web._operation import operation_sets
from memoriter.web._operations import all_operations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.answers import Schema
    from memoriter.web._operation import Operation

BASE = "/api/v1"
NAME = re.compile(r"[A-Z]\w+")
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
    paths: dict[str, Any] = {each.path: {each.method.lower(): _operation(each)} for each in all_operations().values()}
    paths["/events"] = {"get": _events()}
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
    names = ["Problem", *(name for each in all_operations().values() for name in NAME.findall(each.answer))]
    while names:
        name = names.pop()
        if name not in needed:
            needed[name] = schemas[name]
            names += REFERENCE.findall(str(schemas[name]))
    return {name: needed[name] for name in schemas if name in needed}


def _operation(operation: Operation) -> dict[str, Any]:
    schema = operation.request.model_json_schema(by_alias=True, mode="validation")
    answer = {
        "description": operation.summary,
        "content": {"application/json": {"schema": schema_of(NAME.sub(r"[\g<0>]", operation.answer))}},
    }
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "x-scope": operation.scope,
        "responses": {"200": answer, **_problems(operation.problems)},
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


def _events() -> dict[str, Any]:
    stream: dict[str, Any] = {"description": "A stream of server-sent events.", "content": {"text/event-stream": {}}}
    return {
        "operationId": "events",
        "summary": "Follow the progress of indexing and the changes of the notes.",
        "x-scope": "read",
        "parameters": [{"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"}}],
        "responses": {"200": stream, **_problems(())},
    }


def _problems(more: tuple[int, ...]) -> dict[str, Any]:
    content = {PROBLEM_TYPE: {"schema": schema_of("[Problem]")}}
    return {
        str(status): {"description": DESCRIPTIONS[status], "content": content} for status in sorted({*COMMON, *more})
    }
