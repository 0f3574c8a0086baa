"""The HTTP operations on long-term memories: their parameters, and what they do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from memoriter.answers import objects_of, schemas_of
from memoriter.api_json import reason_json
from memoriter.errors import MemoriterError, UsageError
from memoriter.extensions.longterm._json import (
    TABLES,
    candidate_json,
    forgotten_memories_json,
    hit_json,
    memory_json,
    rebuilt_json,
    stats_json,
    stored_json,
)
from memoriter.extensions.longterm._records import Category, Origin
from memoriter.extras import require
from memoriter.types import Diagnostic
from memoriter.web import OperationSet, Question, Request, operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.extensions.longterm.api import InboxFile, LongTermMemories
    from memoriter.memory import Memory
    from memoriter.web import Work

AsOfDay = Annotated[
    str, Field(max_length=40, description="As the memories were at the end of this day (UTC): 2026-02-10 or 7d.")
]
MemoryId = Annotated[str, Field(min_length=1, max_length=64, description="The id of a long-term memory.")]
Statement = Annotated[str, Field(min_length=1, max_length=10_000, description="One statement, as a sentence.")]

# LanceDB takes long to import, so `api` is imported when it is needed.

_operation = partial(operation, problems=(409,))
"""Settings that have no long-term memories are a conflict."""


class ListMemoriesRequest(Request):
    """Long-term memories, as `memoriter ltm list --json`."""

    category: Category | None = None
    origin: Origin | None = None
    status: Literal["active", "superseded"] | None = None
    text: Annotated[str, Field(max_length=1_000, description="Only memories with these words, in any case.")] | None = (
        None
    )
    as_of: AsOfDay | None = None
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most so many, the newest.")] = 1_000


class SearchMemoriesRequest(Request):
    """A search of long-term memories, as `memoriter ltm search --json`."""

    query: Question
    limit: Annotated[int, Field(ge=1, le=1_000)] = 5
    min_score: Annotated[float, Field(ge=0, le=1)] = 0.3
    as_of: AsOfDay | None = None


class StoreMemoryRequest(Request):
    """A statement to store, as `memoriter ltm store --json`."""

    text: Statement
    category: Category = "other"
    importance: Annotated[float, Field(ge=0, le=1)] = 0.7
    supersedes: MemoryId | None = None


class ForgetMemoryRequest(Request):
    """A long-term memory to delete, as `memoriter ltm forget --json`. Give exactly one member."""

    id: MemoryId | None = None
    query: Question | None = None


class ApproveRequest(Request):
    """A long-term memory that may be put before a turn from now on."""

    id: MemoryId


class CandidatesRequest(Request):
    """Statements of the inbox: the beginnings of their ids, or `all` alone."""

    ids: Annotated[tuple[MemoryId, ...], Field(min_length=1, max_length=1_000)]


class EditCandidateRequest(Request):
    """New words or another category for a statement of the inbox."""

    id: MemoryId
    text: Statement | None = None
    category: Category | None = None


class RestoreCandidateRequest(Request):
    """A statement as it was before it was accepted, rejected or edited, with the members that `GET /ltm/inbox` has."""

    id: MemoryId
    text: Statement
    category: Category
    score: Annotated[float, Field(ge=0, le=1)]
    created_at: Annotated[str, Field(max_length=40)]
    origin: Origin
    expires_at: Annotated[str, Field(max_length=40, description="Not read.")] | None = None
    supersedes: MemoryId | None = None
    session: Annotated[str, Field(max_length=1_000)] | None = None
    span: dict[str, str | int] | None = None
    memory: MemoryId | None = Field(
        None,
        description="The id of the memory that accepting has stored, which is forgotten. An older one that it had"
        " replaced is current again.",
    )


class RebuildRequest(Request):
    """A rebuild of the database of long-term memories, as `memoriter ltm rebuild --json`."""

    all: bool = False


def _memories(memory: Memory) -> LongTermMemories:
    """Return the long-term memories of the server. Raises MissingPackage and ConfigError."""
    require("longterm", "Long-term memories")
    return memory.long_term


def _inbox(memory: Memory) -> InboxFile:
    from memoriter.extensions.longterm.api import inbox_of

    return inbox_of(_memories(memory))


def of_day(memory: Memory, is_of_day: Callable[[float], bool]) -> dict[str, Any]:
    """Return the long-term memories and candidates of a day, or why there are none."""
    try:
        memories = _memories(memory)
        inbox = _inbox(memory)
        candidates = [each for each in inbox.read().candidates if is_of_day(each.created_at)]
        return {
            "memories": [memory_json(each) for each in memories.memories() if is_of_day(each.created_at)],
            "candidates": [candidate_json(each, inbox.days) for each in candidates],
        }
    except MemoriterError as error:
        reason = reason_json(Diagnostic.of(error))
        return {"memories": [], "candidates": [], "longTerm": reason}


@_operation("GET", "/ltm/list", "list of Memory", ListMemoriesRequest)
def list_memories(work: Work[ListMemoriesRequest]) -> list[dict[str, Any]]:
    """List long-term memories, the newest last."""
    request = work.request
    memories = _memories(work.memory)
    words = (request.text or "").casefold()
    found = [
        each
        for each in memories.memories(as_of=request.as_of)
        if request.category in {None, each.category}
        and request.origin in {None, each.origin}
        and request.status in {None, each.status}
        and words in each.text.casefold()
    ]
    replaced = memories.replaced(as_of=request.as_of)
    return [memory_json(each, replaced) for each in found[-request.limit :]]


@_operation("POST", "/ltm/search", "FoundMemories", SearchMemoriesRequest)
def search_memories(work: Work[SearchMemoriesRequest]) -> dict[str, Any]:
    """Search long-term memories. Raises IndexUnavailable and UsageError."""
    request = work.request
    answer = _memories(work.memory).search(
        request.query, limit=request.limit, floor=request.min_score, as_of=request.as_of
    )
    reasons = {"reasons": [reason_json(each) for each in answer.reasons]} if answer.reasons else {}
    found, nearest = ([hit_json(hit, answer.replaced) for hit in hits] for hits in (answer.hits, answer.nearest))
    return {"memories": found, **({"nearest": nearest} if nearest else {}), **reasons}


@_operation("POST", "/ltm/store", "StoredMemory", StoreMemoryRequest, scope="write")
def store_memory(work: Work[StoreMemoryRequest]) -> dict[str, Any]:
    """Store one statement as a long-term memory. Raises UsageError and WriteError.

    It is the owner's, or a token's if the caller is not the owner.
    """
    request = work.request
    stored = _memories(work.memory).store(
        request.text,
        origin="owner" if work.caller.is_owner else "token",
        importance=request.importance,
        category=request.category,
        supersedes=request.supersedes or "",
    )
    return stored_json(stored)


@_operation("POST", "/ltm/forget", "ForgottenMemories", ForgetMemoryRequest, scope="write")
def forget_memory(work: Work[ForgetMemoryRequest]) -> dict[str, Any]:
    """Delete a long-term memory permanently. Raises UsageError, EmbeddingError and WriteError."""
    request = work.request
    memories = _memories(work.memory)
    if request.id is not None and request.query is None:
        return forgotten_memories_json(memories.forget_id(request.id))
    if request.query is not None and request.id is None:
        return forgotten_memories_json(memories.forget(request.query))
    raise UsageError("Give either `id` or `query`.", remedy="Send exactly one of them.")


@_operation("GET", "/ltm/stats", "MemoryStats")
def memory_stats(work: Work[Request]) -> dict[str, Any]:
    """Show the state of the long-term memories."""
    from memoriter.extensions.longterm.api import stats

    return stats_json(stats(_memories(work.memory)))


@_operation("POST", "/ltm/rebuild", "Rebuilt", RebuildRequest, scope="admin")
def rebuild_memories(work: Work[RebuildRequest]) -> dict[str, Any]:
    """Make the database hold what the note says. Raises WriteError, EmbeddingError and IndexUnavailable."""
    from memoriter.extensions.longterm.api import rebuild

    return rebuilt_json(rebuild(_memories(work.memory), everything=work.request.all))


@_operation("POST", "/ltm/approve", "Memory", ApproveRequest, scope="admin")
def approve_memory(work: Work[ApproveRequest]) -> dict[str, Any]:
    """Let a memory of somebody else be recalled. Raises UsageError and WriteError."""
    return memory_json(_memories(work.memory).approve(work.request.id))


@_operation("POST", "/ltm/withdraw", "Memory", ApproveRequest, scope="admin")
def withdraw_approval(work: Work[ApproveRequest]) -> dict[str, Any]:
    """Withhold a memory of somebody else again. Raises UsageError and WriteError."""
    from memoriter.extensions.longterm import api

    return memory_json(api.withdraw_approval(_memories(work.memory), work.request.id))


@_operation("GET", "/ltm/withheld", "list of Memory")
def withheld_memories(work: Work[Request]) -> list[dict[str, Any]]:
    """List the memories that are not put before a turn, because of who wrote them."""
    from memoriter.extensions.longterm import api

    return [memory_json(each) for each in api.withheld_memories(_memories(work.memory))]


@_operation("POST", "/ltm/restore", "RestoredCandidate", RestoreCandidateRequest, scope="admin")
def restore_candidate(work: Work[RestoreCandidateRequest]) -> dict[str, Any]:
    """Take back that a statement of the inbox was accepted, rejected or changed. Raises UsageError and WriteError."""
    from memoriter.extensions.longterm.api import candidate_of_json, put_back

    request = work.request
    memories = _memories(work.memory)
    inbox = _inbox(work.memory)
    candidate = candidate_of_json(request.model_dump(by_alias=True), memories)
    receipt = put_back(inbox, candidate, memories, stored=request.memory or "")
    forgotten = {} if receipt is None else {"forgotten": forgotten_memories_json(receipt)}
    return {"candidate": candidate_json(candidate, inbox.days), **forgotten}


@_operation("GET", "/ltm/inbox", "list of Candidate")
def inbox(work: Work[Request]) -> list[dict[str, Any]]:
    """List the statements that wait for a decision."""
    file = _inbox(work.memory)
    return [candidate_json(each, file.days) for each in file.read().candidates]


@_operation("POST", "/ltm/accept", "list of Accepted", CandidatesRequest, scope="admin")
def accept_candidates(work: Work[CandidatesRequest]) -> list[dict[str, Any]]:
    """Store statements of the inbox. Raises UsageError and WriteError."""
    inbox = _inbox(work.memory)
    done = inbox.accept(work.request.ids, _memories(work.memory))
    return [
        {"candidate": candidate_json(each.candidate, inbox.days), **stored_json(each.stored)} for each in done.accepted
    ]


@_operation("POST", "/ltm/reject", "list of Candidate", CandidatesRequest, scope="admin")
def reject_candidates(work: Work[CandidatesRequest]) -> list[dict[str, Any]]:
    """Drop statements of the inbox for good. Raises UsageError and WriteError."""
    inbox = _inbox(work.memory)
    return [candidate_json(each, inbox.days) for each in inbox.reject(work.request.ids)]


@_operation("POST", "/ltm/edit", "Candidate", EditCandidateRequest, scope="admin")
def edit_candidate(work: Work[EditCandidateRequest]) -> dict[str, Any]:
    """Change a statement of the inbox. Raises UsageError and WriteError."""
    request = work.request
    if request.text is None and request.category is None:
        raise UsageError("There is nothing to change.", remedy="Send `text` or `category`.")
    inbox = _inbox(work.memory)
    return candidate_json(inbox.edit(request.id, text=request.text, category=request.category), inbox.days)


SCHEMAS = schemas_of(objects_of(TABLES))
OPERATIONS = OperationSet(
    operations=(
        list_memories,
        search_memories,
        store_memory,
        forget_memory,
        memory_stats,
        rebuild_memories,
        approve_memory,
        withdraw_approval,
        withheld_memories,
        inbox,
        accept_candidates,
        reject_candidates,
        edit_candidate,
        restore_candidate,
    ),
    schemas=SCHEMAS,
    of_day=of_day,
    day_schema=SCHEMAS["Day"],
)
