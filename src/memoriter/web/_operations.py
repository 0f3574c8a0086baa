"""The table of all operations: what each needs, takes, does and answers. Routes and the OpenAPI document follow it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from memoriter.web import _acts as acts
from memoriter.web import _days as days
from memoriter.web import _long_term as long_term
from memoriter.web import _requests as requests
from memoriter.web import _state as state

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.discovery import Scope
    from memoriter.web._work import Work


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the API."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    """Below `/api/v1`."""
    scope: Scope
    summary: str
    request: type[requests.Request]
    """In the query of the URL for GET, and as a JSON body for POST."""
    answer: str
    """The name of its schema."""
    act: Callable[[Work[Any]], Any]
    quick: bool = False
    """Whether it only reads or writes notes, and never waits for a search."""
    problems: tuple[int, ...] = ()
    """Statuses of its own, besides those of every operation."""


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
        "Parts",
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
        "index", "POST", "/index", "write", "Bring the index up to date.", requests.IndexRequest, "Indexed", acts.index
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
    Operation(
        "listMemories",
        "GET",
        "/ltm/list",
        "read",
        "List long-term memories, the newest last.",
        requests.ListMemoriesRequest,
        "Memories",
        long_term.list_memories,
        problems=(409,),
    ),
    Operation(
        "searchMemories",
        "POST",
        "/ltm/search",
        "read",
        "Search long-term memories.",
        requests.SearchMemoriesRequest,
        "FoundMemories",
        long_term.search_memories,
        problems=(409,),
    ),
    Operation(
        "storeMemory",
        "POST",
        "/ltm/store",
        "write",
        "Store one statement as a long-term memory.",
        requests.StoreMemoryRequest,
        "StoredMemory",
        long_term.store_memory,
        problems=(409,),
    ),
    Operation(
        "forgetMemory",
        "POST",
        "/ltm/forget",
        "write",
        "Delete a long-term memory permanently.",
        requests.ForgetMemoryRequest,
        "ForgottenMemories",
        long_term.forget_memory,
        problems=(409,),
    ),
    Operation(
        "memoryStats",
        "GET",
        "/ltm/stats",
        "read",
        "Show the state of the long-term memories.",
        requests.Request,
        "MemoryStats",
        long_term.stats,
        problems=(409,),
    ),
    Operation(
        "rebuildMemories",
        "POST",
        "/ltm/rebuild",
        "admin",
        "Make the database hold what the note says.",
        requests.RebuildRequest,
        "Rebuilt",
        long_term.rebuild,
        problems=(409,),
    ),
    Operation(
        "approveMemory",
        "POST",
        "/ltm/approve",
        "admin",
        "Let a memory of somebody else be recalled.",
        requests.ApproveRequest,
        "Memory",
        long_term.approve,
        problems=(409,),
    ),
    Operation(
        "withdrawApproval",
        "POST",
        "/ltm/withdraw",
        "admin",
        "Withhold a memory of somebody else again.",
        requests.ApproveRequest,
        "Memory",
        long_term.withdraw,
        problems=(409,),
    ),
    Operation(
        "withheldMemories",
        "GET",
        "/ltm/withheld",
        "read",
        "List the memories that are not put before a turn, because of who wrote them.",
        requests.Request,
        "Memories",
        long_term.withheld,
        problems=(409,),
    ),
    Operation(
        "inbox",
        "GET",
        "/ltm/inbox",
        "read",
        "List the statements that wait for a decision.",
        requests.Request,
        "Candidates",
        long_term.inbox,
        problems=(409,),
    ),
    Operation(
        "acceptCandidates",
        "POST",
        "/ltm/accept",
        "admin",
        "Store statements of the inbox.",
        requests.CandidatesRequest,
        "Accepted",
        long_term.accept,
        problems=(409,),
    ),
    Operation(
        "rejectCandidates",
        "POST",
        "/ltm/reject",
        "admin",
        "Drop statements of the inbox for good.",
        requests.CandidatesRequest,
        "Candidates",
        long_term.reject,
        problems=(409,),
    ),
    Operation(
        "editCandidate",
        "POST",
        "/ltm/edit",
        "admin",
        "Change a statement of the inbox.",
        requests.EditCandidateRequest,
        "Candidate",
        long_term.edit,
        problems=(409,),
    ),
    Operation(
        "restoreCandidate",
        "POST",
        "/ltm/restore",
        "admin",
        "Take back that a statement of the inbox was accepted, rejected or changed.",
        requests.RestoreCandidateRequest,
        "RestoredCandidate",
        long_term.restore,
        problems=(409,),
    ),
)
"""All operations, except `events`, which is a stream."""
