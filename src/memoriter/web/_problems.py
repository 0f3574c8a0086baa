"""The HTTP status of each error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
)
from memoriter.web._acts import NoteConflict
from memoriter.web._requests import InvalidRequest
from memoriter.web._work import OutOfScope

if TYPE_CHECKING:
    from starlette.responses import Response

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


def response_for(error: MemoriterError) -> Response:
    """Return the response that reports an error."""
    match error:
        case OutOfScope():
            remedy = f"Use a token with that scope: `memoriter token create NAME --scope {error.needed}`."
            return problem_response(403, "scope", error.message, remedy, needed=error.needed)
        case NoteConflict():
            present = error.present
            text = None if present.hash is None and not present.text else present.text
            found: dict[str, Any] = {"path": present.path, "text": text, "hash": present.hash}
            found |= {"truncated": True} if present.truncated else {}
            return problem_response(409, error.code, error.message, error.remedy, **found)
        case InvalidRequest():
            return problem_response(400, error.code, error.message, error.remedy, errors=error.problems)
        case _:
            status = next(status for kind, status in STATUSES if isinstance(error, kind))
            return problem_response(status, error.code, error.message, error.remedy)
