"""What the operations on long-term memories do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.api_json import reason_json
from memoriter.errors import UsageError

if TYPE_CHECKING:
    from memoriter.longterm import InboxFile, LongTermMemories
    from memoriter.web._requests import (
        ApproveRequest,
        CandidatesRequest,
        EditCandidateRequest,
        ForgetMemoryRequest,
        ListMemoriesRequest,
        RebuildRequest,
        Request,
        SearchMemoriesRequest,
        StoreMemoryRequest,
    )
    from memoriter.web._work import Work

# LanceDB takes long to import, so the package is imported when it is needed.


def _memories(work: Work[Any]) -> LongTermMemories:
    """Return the long-term memories of the server. Raises MissingPackage and ConfigError."""
    from memoriter.extras import require

    require("longterm", "Long-term memories")
    return work.memory.long_term


def _inbox(work: Work[Any]) -> InboxFile:
    from memoriter.longterm import inbox_of

    return inbox_of(_memories(work))


def list_memories(work: Work[ListMemoriesRequest]) -> list[dict[str, Any]]:
    """List long-term memories, the newest last."""
    from memoriter.longterm import memory_json

    request = work.request
    found = [each for each in _memories(work).memories() if request.category in {None, each.category}]
    return [memory_json(each) for each in found[-request.limit :]]


def search_memories(work: Work[SearchMemoriesRequest]) -> dict[str, Any]:
    """Search long-term memories. Raises IndexUnavailable and UsageError."""
    from memoriter.longterm import hit_json

    request = work.request
    answer = _memories(work).search(request.query, limit=request.limit, floor=request.min_score)
    reasons = {"reasons": [reason_json(each) for each in answer.reasons]} if answer.reasons else {}
    return {"memories": [hit_json(hit) for hit in answer.hits], **reasons}


def store_memory(work: Work[StoreMemoryRequest]) -> dict[str, Any]:
    """Store a statement: of the owner, or of an agent if the caller is not the owner. Raises UsageError, WriteError."""
    from memoriter.longterm import stored_json

    request = work.request
    stored = _memories(work).store(
        request.text,
        origin="owner" if work.caller.is_owner else "agent",
        importance=request.importance,
        category=request.category,
        supersedes=request.supersedes or "",
    )
    return stored_json(stored)


def forget_memory(work: Work[ForgetMemoryRequest]) -> dict[str, Any]:
    """Delete a long-term memory, or return which may be meant. Raises UsageError, EmbeddingError and WriteError."""
    from memoriter.longterm import forgotten_memories_json

    request, memories = work.request, _memories(work)
    if request.id is not None and request.query is None:
        return forgotten_memories_json(memories.forget_id(request.id))
    if request.query is not None and request.id is None:
        return forgotten_memories_json(memories.forget(request.query))
    raise UsageError("Give either `id` or `query`.", remedy="Send exactly one of them.")


def stats(work: Work[Request]) -> dict[str, Any]:
    """Return the state of the long-term memories."""
    from memoriter.longterm import stats, stats_json

    return stats_json(stats(_memories(work)))


def rebuild(work: Work[RebuildRequest]) -> dict[str, Any]:
    """Make the database hold what the note says. Raises WriteError, EmbeddingError and IndexUnavailable."""
    from memoriter.longterm import rebuild, rebuilt_json

    return rebuilt_json(rebuild(_memories(work), everything=work.request.all))


def approve(work: Work[ApproveRequest]) -> dict[str, Any]:
    """Let a memory that the owner did not write be recalled automatically. Raises UsageError and WriteError."""
    from memoriter.longterm import memory_json

    return memory_json(_memories(work).approve(work.request.id))


def inbox(work: Work[Request]) -> list[dict[str, Any]]:
    """List the statements that wait for a decision, the oldest first."""
    from memoriter.longterm import candidate_json

    return [candidate_json(each) for each in _inbox(work).read().candidates]


def accept(work: Work[CandidatesRequest]) -> list[dict[str, Any]]:
    """Store statements of the inbox. Raises UsageError and WriteError."""
    from memoriter.longterm import candidate_json, stored_json

    done = _inbox(work).accept(work.request.ids, _memories(work))
    return [{"candidate": candidate_json(each.candidate), **stored_json(each.stored)} for each in done.accepted]


def reject(work: Work[CandidatesRequest]) -> list[dict[str, Any]]:
    """Drop statements of the inbox. Raises UsageError and WriteError."""
    from memoriter.longterm import candidate_json

    return [candidate_json(each) for each in _inbox(work).reject(work.request.ids)]


def edit(work: Work[EditCandidateRequest]) -> dict[str, Any]:
    """Change the words or the category of a statement of the inbox. Raises UsageError and WriteError."""
    from memoriter.longterm import candidate_json

    request = work.request
    if request.text is None and request.category is None:
        raise UsageError("There is nothing to change.", remedy="Send `text` or `category`.")
    return candidate_json(_inbox(work).edit(request.id, text=request.text, category=request.category))
