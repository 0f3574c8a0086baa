"""The JSON form of long-term memories; keys are camelCase."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.api_json import iso_time, reason_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.extensions.longterm._results import (
        LongTermForgotten,
        LongTermHit,
        LongTermStats,
        OpenClawState,
        Rebuilt,
        Stored,
    )


def memory_json(memory: LongTermMemory, replaced: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a memory. What says nothing is absent: an empty session, no span, no older memory.

    Args:
        memory: the memory.
        replaced: the ids of what replaced superseded memories, by the ids of these.
    """
    newer = (replaced or {}).get(memory.id) if memory.status == "superseded" else None
    span = memory.span
    return {
        "id": memory.id,
        "text": memory.text,
        "category": memory.category,
        "importance": memory.importance,
        "createdAt": iso_time(memory.created_at),
        "origin": memory.origin,
        "trusted": memory.trusted,
        "status": memory.status,
        **({"supersededBy": newer} if newer else {}),
        **({"supersedes": memory.supersedes} if memory.supersedes else {}),
        **({"session": memory.session} if memory.session else {}),
        **(
            {"span": {"speaker": span.speaker, "message": span.message, "start": span.start, "end": span.end}}
            if span
            else {}
        ),
    }


def hit_json(hit: LongTermHit, replaced: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a memory that a search found, with its score."""
    return {**memory_json(hit.memory, replaced), "score": round(hit.score, 4)}


def stored_json(stored: Stored) -> dict[str, Any]:
    """Return the result of storing a memory."""
    existing = {"similarity": round(stored.similarity, 4)} if stored.existing else {}
    return {
        "stored": not stored.existing,
        "memory": memory_json(stored.memory),
        **existing,
        **({"masked": True} if stored.masked else {}),
        **_reasons(stored.reasons),
    }


def forgotten_memories_json(receipt: LongTermForgotten) -> dict[str, Any]:
    """Return the receipt of forgetting, or the candidates."""
    return {
        "forgotten": [memory_json(memory) for memory in receipt.forgotten],
        "lines": receipt.lines,
        "rows": receipt.rows,
        **({"restored": [memory_json(memory) for memory in receipt.restored]} if receipt.restored else {}),
        **({"candidates": [hit_json(hit) for hit in receipt.candidates]} if receipt.candidates else {}),
        **({"left": [reason_json(reason) for reason in receipt.left]} if receipt.left else {}),
    }


def rebuilt_json(rebuilt: Rebuilt) -> dict[str, Any]:
    """Return what a rebuild did."""
    return {name: getattr(rebuilt, name) for name in ("memories", "added", "changed", "removed", "numbered")}


def stats_json(stats: LongTermStats) -> dict[str, Any]:
    """Return the state of the long-term memories."""
    state = stats.state
    return {
        "memories": stats.memories,
        "byCategory": stats.by_category,
        "byOrigin": stats.by_origin,
        "superseded": stats.superseded,
        "withheld": stats.withheld,
        "stored": stats.stored,
        "database": stats.database,
        "model": stats.model,
        "principal": stats.principal,
        **({"openclaw": openclaw_json(stats.openclaw)} if stats.openclaw else {}),
        **({"fragments": state.fragments, "versions": state.versions, "bytes": state.bytes} if state else {}),
        **({"indexed": state.indexed, "usesIndex": stats.uses_index} if state else {}),
        **({"otherModels": stats.other_models} if stats.other_models else {}),
        **_reasons(stats.reasons),
    }


def openclaw_json(state: OpenClawState) -> dict[str, Any]:
    """Return the condition of OpenClaw's table."""
    return {"folder": state.folder, "memories": state.memories, "missing": state.missing}


def _reasons(reasons: tuple[Any, ...]) -> dict[str, Any]:
    return {"reasons": [reason_json(reason) for reason in reasons]} if reasons else {}
