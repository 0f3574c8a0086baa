"""The HTTP status of each error."""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import anyio

from memoriter.access import problem_response
from memoriter.errors import (
    ConfigError,
    EmbeddingError,
    IndexUnavailable,
    MemoriterError,
    MissingPackage,
    PathRefused,
    SearchDisabled,
    TrustRemoved,
    UsageError,
    WorkspaceNotFound,
    WriteConflict,
    system_error_text,
)
from memoriter.values import dataclass
from memoriter.web._acts import NoteConflict
from memoriter.web._requests import InvalidRequest
from memoriter.web._work import OutOfScope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

log = logging.getLogger(__name__)
STATUSES: tuple[tuple[type[MemoriterError], int], ...] = (
    (OutOfScope, 403),
    (PathRefused, 403),
    (TrustRemoved, 403),
    (WriteConflict, 409),
    (ConfigError, 409),
    (SearchDisabled, 409),
    (MissingPackage, 409),
    (WorkspaceNotFound, 409),
    (UsageError, 400),
    (IndexUnavailable, 503),
    (EmbeddingError, 503),
    (MemoriterError, 500),
)
"""The status of each error; the first row that fits counts."""


@dataclass(frozen=True, slots=True)
class RequestProblem:
    """Why a request failed: the HTTP status, the code, what is wrong, what to do, and further members."""

    status: int
    code: str
    message: str
    remedy: str
    more: Mapping[str, Any] = MappingProxyType({})


def problem_of(error: Exception, name: str) -> RequestProblem:
    """Return why a request failed, and log what was not expected."""
    match error:
        case OutOfScope():
            remedy = f"Use a token with that scope: `memoriter token create NAME --scope {error.needed}`."
            return RequestProblem(403, "scope", error.message, remedy, {"needed": error.needed})
        case NoteConflict():
            present = error.present
            text = None if present.hash is None and not present.text else present.text
            found: dict[str, Any] = {"path": present.path, "text": text, "hash": present.hash}
            found |= {"truncated": True} if present.truncated else {}
            return RequestProblem(409, error.code, error.message, error.remedy, found)
        case InvalidRequest():
            return RequestProblem(400, error.code, error.message, error.remedy, {"errors": error.problems})
        case MemoriterError():
            status = next(status for kind, status in STATUSES if isinstance(error, kind))
            return RequestProblem(status, error.code, error.message, error.remedy)
        case anyio.ClosedResourceError():
            return RequestProblem(503, "closing", "The server is ending.", "Start it again: `memoriter serve`.")
        case OSError():
            return RequestProblem(500, "system", system_error_text(error), "Run `memoriter doctor`.")
        case _:
            log.warning("%s failed", name, exc_info=error)
            remedy = "See the log of the server: `memoriter serve -v`."
            return RequestProblem(500, "internal", f"{name} failed unexpectedly.", remedy)


def response_for(error: Exception, name: str) -> Response:
    """Return the response of the API that reports an error."""
    problem = problem_of(error, name)
    return problem_response(problem.status, problem.code, problem.message, problem.remedy, **problem.more)
