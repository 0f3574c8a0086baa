"""Which memories match a message: those that are recalled before a turn."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable
from memoriter.ids import fingerprint
from memoriter.longterm._scoring import answering, best, is_current
from memoriter.longterm._vector_file import key_of
from memoriter.masking import mask

if TYPE_CHECKING:
    from memoriter.environment import Deadline
    from memoriter.longterm._memories import LongTermMemories
    from memoriter.longterm._results import LongTermHit
    from memoriter.longterm._store import Vector
    from memoriter.types import ModelSpec

LEAST_SIMILARITY = 0.32
"""Lowest similarity of a match (0 is unrelated); in OpenClaw, 0.3. `just eval-longterm` prints what it finds."""


def matching_memories(
    memories: LongTermMemories, message: str, *, limit: int, deadline: Deadline
) -> tuple[LongTermHit, ...]:
    """Return the current memories that the owner wrote or approved and that match a message, the nearest first.

    Raises:
        EmbeddingError: there is no vector of the message.
        IndexUnavailable: the database cannot be read, or has none of these memories.
    """
    vector = memories.parts.embedding.query_vector(mask(message), deadline)
    spec = memories.spec()
    if memories.parts.shared:
        near = memories.found(vector, "", limit=limit, trusted=True)
        hits = [answering(each.memory, each.similarity, "", spec.background) for each in near]
    else:
        hits = _compare_own(memories, vector, spec)
    return best(hits, limit, LEAST_SIMILARITY)


def _compare_own(memories: LongTermMemories, vector: Vector, spec: ModelSpec) -> list[LongTermHit]:
    """Compare all memories of the note with a message, by the copy of their vectors; the database is not opened."""
    current = [entry.memory for entry in memories.entries() if entry.complete and is_current(entry.memory)]
    kept = memories.parts.vectors.read(fingerprint(spec)) if current else {}
    if any(memory.id not in kept for memory in current):
        kept = _vectors_of_database(memories)
        if not kept and (missing := memories.missing()):
            raise IndexUnavailable(missing[0].message, remedy=missing[0].remedy)
    known = [memory for memory in current if kept.get(memory.id, ("",))[0] == key_of(memory.text)]
    return [answering(memory, float(kept[memory.id][1] @ vector), "", spec.background) for memory in known]


def _vectors_of_database(memories: LongTermMemories) -> dict[str, tuple[str, Vector]]:
    """Return all vectors of this folder of notes, and renew their copy."""
    store = memories.opened()
    parts = memories.parts
    texts = {row.id: row.text for row in store.memories(principal=parts.principal) if row.note == parts.note}
    vectors = store.vectors(list(texts), principal=parts.principal)
    rows = {key: (key_of(texts[key]), vector) for key, vector in vectors.items()}
    with suppress(OSError):
        parts.vectors.write(store.model, rows)
    return rows
