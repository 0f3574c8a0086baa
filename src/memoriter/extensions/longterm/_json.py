"""The JSON form of long-term memories, whose fields are those of `_answers`; keys are camelCase."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from memoriter.api_json import json_of
from memoriter.extensions.longterm._answers import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.extensions.longterm._results import (
        LongTermForgotten,
        LongTermHit,
        LongTermStats,
        Rebuilt,
        Stored,
    )

_json_of = partial(json_of, tables=TABLES)


def memory_json(memory: LongTermMemory, replaced: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a memory."""
    answer = _json_of("Memory", memory)
    newer = (replaced or {}).get(memory.id)
    if newer and memory.status == "superseded":
        answer["supersededBy"] = newer
    return answer


def hit_json(hit: LongTermHit, replaced: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a memory that a search found, with its score."""
    return {**memory_json(hit.memory, replaced), "score": round(hit.score, 4)}


def stored_json(stored: Stored) -> dict[str, Any]:
    """Return the result of storing a memory."""
    similarity = {"similarity": round(stored.similarity, 4)} if stored.existing else {}
    answer = _json_of("StoredMemory", stored, without={"similarity"})
    return {"stored": not stored.existing, **answer, **similarity}


def forgotten_memories_json(receipt: LongTermForgotten) -> dict[str, Any]:
    """Return the receipt of forgetting, or the candidates."""
    candidates = {"candidates": [hit_json(hit) for hit in receipt.candidates]} if receipt.candidates else {}
    return {**_json_of("ForgottenMemories", receipt, without={"candidates"}), **candidates}


def rebuilt_json(rebuilt: Rebuilt) -> dict[str, Any]:
    """Return what a rebuild did."""
    return _json_of("Rebuilt", rebuilt)


def stats_json(stats: LongTermStats) -> dict[str, Any]:
    """Return the state of the long-term memories."""
    answer = _json_of("MemoryStats", stats, without={"usesIndex"})
    state = stats.state
    if state is None:
        return answer
    of_state = _json_of("MemoryStats", state, without={"memories"})
    return {**answer, **of_state, "bytes": state.bytes, "usesIndex": stats.uses_index}
