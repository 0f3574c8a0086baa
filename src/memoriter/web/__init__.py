"""The HTTP API: operations as one table, their OpenAPI document, events, and the link that opens a session."""

from memoriter.web._app import BASE, all_schemas, api_routes, openapi_document
from memoriter.web._events import Events, IndexChanges
from memoriter.web._operation import Operation, OperationSet, Work, operation
from memoriter.web._operations import NoteConflict, all_operations
from memoriter.web._requests import Question, Request
from memoriter.web._runner import OperationRunner, RequestProblem, problem_of

__all__ = [
    "BASE",
    "Events",
    "IndexChanges",
    "NoteConflict",
    "Operation",
    "OperationRunner",
    "OperationSet",
    "Question",
    "Request",
    "RequestProblem",
    "Work",
    "all_operations",
    "all_schemas",
    "api_routes",
    "openapi_document",
    "operation",
    "problem_of",
]
