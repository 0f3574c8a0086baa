"""Runs operations for a caller, whether a program or a page asks, and tells the HTTP status of each error."""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

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
from memoriter.web._operation import OutOfScope, Work, require
from memoriter.web._operations import NoteConflict, all_operations
from memoriter.web._requests import InvalidRequest, checked_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.responses import Response

    from memoriter.access import Caller, Run
    from memoriter.discovery import Scope
    from memoriter.memory import Memory
    from memoriter.web._events import Events
    from memoriter.web._operation import Operation
    from memoriter.web._requests import Request

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


_Answer = TypeVar("_Answer")


class OperationRunner:
    """Runs the operations of one server."""

    def __init__(self, run: Run, events: Events) -> None:
        """Run operations with the memory of a server."""
        self._run = run
        self._events = events

    async def run(
        self,
        operation: Operation,
        caller: Caller,
        read: Callable[[], Request],
        answered: Callable[[Any], _Answer],
    ) -> _Answer:
        """Return the answer of an operation.

        `read` returns the parameters, and `answered` makes the answer of the JSON values that the operation returns.
        Like all work that depends on their size, both run in the thread, where a caller has a share, and not in the
        event loop, which answers all callers.

        Raises:
            OutOfScope: the caller may not run the operation.
            MemoriterError: as `read`, the operation and `answered`.
        """
        require(caller, operation.scope)

        def act(memory: Memory) -> _Answer:
            return answered(operation.act(Work(memory, read(), caller, self._events)))

        return await self._run(act, caller=caller, quick=operation.quick)

    async def compute(self, caller: Caller, work: Callable[[], _Answer]) -> _Answer:
        """Return the result of work that needs no memory, in a thread of the caller's share."""
        return await self._run(lambda _: work(), caller=caller)

    async def with_memory(
        self, caller: Caller, scope: Scope, work: Callable[[Memory], _Answer], *, quick: bool
    ) -> _Answer:
        """Return the result of work on the memory in a thread, for pages that need more than the API offers.

        Raises:
            OutOfScope: the caller may not do that.
            MemoriterError: as `work`.
        """
        require(caller, scope)
        return await self._run(work, caller=caller, quick=quick)

    async def perform(self, name: str, caller: Caller, **values: Any) -> Any:
        """Return the answer of an operation as JSON values.

        Raises:
            InvalidRequest: the operation does not take these parameters.
            MemoriterError: as the operation.
        """
        operation = all_operations()[name]
        return await self.run(operation, caller, lambda: checked_request(operation.request, values), lambda json: json)
