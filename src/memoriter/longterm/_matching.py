"""Which memories match a message, decided by a measured limit: those that are recalled before a turn."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable
from memoriter.ids import fingerprint
from memoriter.longterm._scoring import answering, best, is_current
from memoriter.longterm._vector_file import key_of
from memoriter.masking import mask
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.environment import Deadline
    from memoriter.longterm._memories import LongTermMemories
    from memoriter.longterm._records import LongTermMemory
    from memoriter.longterm._results import LongTermHit
    from memoriter.longterm._store import Vector
    from memoriter.search import EmbeddedTexts
    from memoriter.types import ModelSpec

FLOOR = 0.2
"""Lowest similarity of a match (0 is unrelated) if a limit is measured; in OpenClaw, 0.3 alone decides.

`just eval-longterm` prints what the measured limit gains."""
FLOOR_ALONE = 0.35
"""Lowest similarity if no limit is measured for the model."""


@dataclass(frozen=True, slots=True, eq=False)
class _Compared:
    """Memories that were compared with a message."""

    hits: tuple[LongTermHit, ...]
    """The nearest ones, the nearest first."""
    vectors: Mapping[str, Vector]
    """Their vectors, by their ids."""
    sample: EmbeddedTexts
    """Of all of them."""
    count: int


def matching_memories(
    memories: LongTermMemories, message: str, *, limit: int, deadline: Deadline
) -> tuple[LongTermHit, ...]:
    """Return the current memories that the owner wrote or approved and that match a message, the nearest first.

    Raises:
        EmbeddingError: there is no vector of the message.
        IndexUnavailable: the database cannot be read, or has none of these memories.
    """
    from memoriter.search import EmbeddedTexts, message_margin

    compare = _compare_shared if memories.parts.shared else _compare_own
    vector = memories.parts.embedding.query_vector(mask(message), deadline)
    spec = memories.spec()
    found = compare(memories, vector, spec)
    near = best(found.hits, limit, FLOOR)
    if not near:
        return ()
    foreign = memories.parts.foreign.load(spec)
    if foreign is None:
        return best(near, limit, FLOOR_ALONE)
    margin = message_margin(
        EmbeddedTexts([message], vector[None]),
        _texts([hit.memory for hit in found.hits], found.vectors),
        found.sample,
        foreign,
        count=found.count,
        figures=spec.background,
        rate=memories.parts.false_match_rate,
    )
    return near if margin > 0 else ()


def _compare_own(memories: LongTermMemories, vector: Vector, spec: ModelSpec) -> _Compared:
    """Compare all memories of the note with a message, by the copy of their vectors; the database is not opened."""
    current = [entry.memory for entry in memories.entries() if entry.complete and is_current(entry.memory)]
    kept = memories.parts.vectors.read(fingerprint(spec)) if current else {}
    if any(memory.id not in kept for memory in current):
        kept = _vectors_of_database(memories)
        if not kept and (missing := memories.missing()):
            raise IndexUnavailable(missing[0].message, remedy=missing[0].remedy)
    known = [memory for memory in current if kept.get(memory.id, ("",))[0] == key_of(memory.text)]
    vectors = {memory.id: kept[memory.id][1] for memory in known}
    hits = [answering(memory, float(vectors[memory.id] @ vector), "", spec.background) for memory in known]
    return _Compared(_nearest(hits), vectors, _sample(known, vectors), len(known))


def _compare_shared(memories: LongTermMemories, vector: Vector, spec: ModelSpec) -> _Compared:
    """Search the database that other folders of notes share. The sample is from this folder and the nearest ones."""
    from memoriter.search import NEAREST

    near = memories.found(vector, "", limit=NEAREST, trusted=True)
    hits = _nearest([answering(each.memory, each.similarity, "", spec.background) for each in near])
    store, principal = memories.opened(), memories.parts.principal
    kept = memories.parts.vectors.read(fingerprint(spec))
    noted = [entry.memory for entry in memories.entries()]
    own = {memory.id: memory for memory in noted if memory.id in kept and is_current(memory)}
    sampled = {**own, **{hit.memory.id: hit.memory for hit in hits}}
    found = store.vectors([hit.memory.id for hit in hits], principal=principal)
    vectors = {key: kept[key][1] for key in own} | found
    hits = tuple(hit for hit in hits if hit.memory.id in vectors)
    sample = _sample([memory for key, memory in sampled.items() if key in vectors], vectors)
    return _Compared(hits, vectors, sample, store.count(principal=principal, trusted=True))


def _nearest(hits: Sequence[LongTermHit]) -> tuple[LongTermHit, ...]:
    from memoriter.search import NEAREST

    return tuple(sorted(hits, key=lambda hit: -hit.cosine)[:NEAREST])


def _sample(memories: Sequence[LongTermMemory], vectors: Mapping[str, Vector]) -> EmbeddedTexts:
    """Return memories at equal distances, `MOST_TEXTS` at most."""
    from memoriter.search import MOST_TEXTS

    step = -(-len(memories) // MOST_TEXTS) or 1
    return _texts(memories[::step], vectors)


def _texts(memories: Sequence[LongTermMemory], vectors: Mapping[str, Vector]) -> EmbeddedTexts:
    import numpy as np

    from memoriter.search import EmbeddedTexts

    return EmbeddedTexts([memory.text for memory in memories], np.array([vectors[memory.id] for memory in memories]))


def _vectors_of_database(memories: LongTermMemories) -> dict[str, tuple[str, Vector]]:
    """Return all vectors of this folder of notes, and renew their copy."""
    store, parts = memories.opened(), memories.parts
    texts = {row.id: row.text for row in store.memories(principal=parts.principal) if row.note == parts.note}
    vectors = store.vectors(list(texts), principal=parts.principal)
    rows = {key: (key_of(texts[key]), vector) for key, vector in vectors.items()}
    with suppress(OSError):
        parts.vectors.write(store.model, rows)
    return rows
