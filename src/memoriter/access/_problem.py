"""Refusals as problem details of RFC 9457, with the code and the remedy that all of memoriter's errors have."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

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
