"""The table of all operations: what each needs, takes, does and answers. Routes and the OpenAPI document follow it."""

from __future__ import annotations

from functools import cache

from memoriter.web import _acts as acts
from memoriter.web import _days as days
from memoriter.web import _requests as requests
from memoriter.web import _state as state
from memoriter.web._operation import Operation, operation_sets

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "search",
        "POST",
        "/search",
        "read",
        "Find the passages that answer a question.",
        requests.SearchRequest,
        "SearchResult",
        acts.search,
        problems=(409,),
    ),
    Operation(
        "explain",
        "POST",
        "/explain",
        "read",
        "Search, with how each score was computed and how long each stage took.",
        requests.ExplainRequest,
        "SearchResult",
        acts.explain,
        problems=(409,),
    ),
    Operation(
        "whyNot",
        "POST",
        "/why-not",
        "read",
        "Tell which stage of a search loses a passage, and what brings it back.",
        requests.WhyNotRequest,
        "WhyNot",
        acts.why_not,
        problems=(409,),
    ),
    Operation(
        "files",
        "GET",
        "/files",
        "read",
        "List the files that are memory.",
        requests.FilesRequest,
        "Files",
        acts.files,
        quick=True,
    ),
    Operation(
        "get",
        "GET",
        "/get",
        "read",
        "Read a note, or some lines of it.",
        requests.GetRequest,
        "Excerpt",
        acts.get,
        quick=True,
    ),
    Operation(
        "append",
        "POST",
        "/append",
        "write",
        "Add an entry to today's note or to MEMORY.md.",
        requests.AppendRequest,
        "Appended",
        acts.append,
        quick=True,
    ),
    Operation(
        "replace",
        "POST",
        "/replace",
        "write",
        "Replace a note that has not changed since you read it.",
        requests.ReplaceRequest,
        "Replaced",
        acts.replace,
        quick=True,
        problems=(409,),
    ),
    Operation(
        "status",
        "GET",
        "/status",
        "read",
        "Show the state of the memory and its health.",
        requests.StatusRequest,
        "Status",
        acts.status,
    ),
    Operation(
        "parts",
        "GET",
        "/parts",
        "read",
        "Try each part that the settings name, as when the server starts.",
        requests.Request,
        "list of Part",
        state.parts,
    ),
    Operation(
        "cost",
        "GET",
        "/cost",
        "read",
        "Return what services cost, by day and model.",
        requests.CostRequest,
        "Cost",
        state.cost,
        quick=True,
    ),
    Operation(
        "map",
        "GET",
        "/map",
        "read",
        "Return the passages in two dimensions, in groups and with near duplicates.",
        requests.MapRequest,
        "Map",
        state.draw_map,
    ),
    Operation(
        "index",
        "POST",
        "/index",
        "write",
        "Bring the index up to date.",
        requests.IndexRequest,
        "IndexReport or Estimate",
        acts.index,
    ),
    Operation(
        "days",
        "GET",
        "/days",
        "read",
        "List the days of a year that have notes, with how much was written.",
        requests.DaysRequest,
        "Days",
        days.days,
        quick=True,
    ),
    Operation(
        "day",
        "GET",
        "/day",
        "read",
        "Show what was written, captured and recalled on a day.",
        requests.DayRequest,
        "Day",
        days.day,
    ),
    Operation(
        "captures",
        "GET",
        "/captures",
        "read",
        "List the records of conversations in the notes.",
        requests.Request,
        "Captures",
        acts.captures,
    ),
    Operation(
        "undoCapture",
        "POST",
        "/captures/undo",
        "write",
        "Remove a record of a conversation from its note and the index.",
        requests.CaptureRequest,
        "UndoneCaptures",
        acts.undo_capture,
    ),
)
"""The operations of memoriter itself, except `events`, which is a stream."""


@cache
def all_operations() -> dict[str, Operation]:
    """Return all operations by their names, except `events`; a package cannot take the name of another operation."""
    found = {operation.name: operation for operation in OPERATIONS}
    for operation in (operation for added in operation_sets() for operation in added.operations):
        found.setdefault(operation.name, operation)
    return found
