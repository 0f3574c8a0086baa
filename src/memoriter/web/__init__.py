"""The HTTP API: operations as one table, their OpenAPI document, events, and the link that opens a session."""

from memoriter.web._acts import NoteConflict
from memoriter.web._app import api_routes
from memoriter.web._changes import IndexChanges
from memoriter.web._events import Events
from memoriter.web._openapi import BASE, openapi_document
from memoriter.web._operations import OPERATIONS, Operation
from memoriter.web._problems import RequestProblem, problem_of
from memoriter.web._runner import OperationRunner

__all__ = [
    "BASE",
    "OPERATIONS",
    "Events",
    "IndexChanges",
    "NoteConflict",
    "Operation",
    "OperationRunner",
    "RequestProblem",
    "api_routes",
    "openapi_document",
    "problem_of",
]
