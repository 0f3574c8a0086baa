"""Bring the database in line with the note, and describe the state of both."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from memoriter.errors import IndexUnavailable, MemoriterError
from memoriter.extensions.longterm._note import PATH
from memoriter.extensions.longterm._openclaw import openclaw_state
from memoriter.extensions.longterm._results import LongTermStats, Rebuilt
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from memoriter.extensions.longterm._memories import LongTermMemories
    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.extensions.longterm._results import LongTermStore


def rebuild(memories: LongTermMemories, *, everything: bool = False) -> Rebuilt:
    """Make the database hold what the note says: new and edited items are added, deleted ones are removed.

    With `everything`, all vectors are computed again.

    Raises:
        WriteError: the note could not be written.
        EmbeddingError: there are no vectors; the database is unchanged.
        IndexUnavailable: the database could not be read or written.
    """
    numbered = {entry.memory.id: entry.memory for entry in memories.entries() if not entry.complete}
    unmarked = {entry.memory.id: entry.memory for entry in memories.entries() if not entry.marked}
    if numbered or unmarked:
        memories.file.change({**unmarked, **numbered})
    note = memories.parts.note
    principal = memories.parts.principal
    current = memories.noted()
    store = memories.opened()
    stored = {row.id: row for row in store.memories(principal=principal) if row.note == note}
    fresh = [row for row in current.values() if everything or row.id not in stored or stored[row.id].text != row.text]
    vectors = memories.embed([memory.text for memory in fresh])
    gone = [key for key in stored if key not in current]
    removed = store.delete(gone, principal=principal) if gone else 0
    store.store(fresh, vectors)
    others = [row for row in current.values() if row not in fresh and stored[row.id] != row]
    for memory in others:
        store.change(memory)
    store.maintain(erase=bool(gone))
    memories.parts.vectors.remove(gone)
    memories.keep_vectors(fresh, vectors)
    added = sum(memory.id not in stored for memory in fresh)
    changed = len(fresh) - added + len(others)
    return Rebuilt(len(current), added, changed, removed, len(numbered))


def withheld_memories(memories: LongTermMemories) -> list[LongTermMemory]:
    """Return the current memories of the note that automatic recall leaves out, the oldest first.

    Their authors are neither the owner nor trusted, and the owner has not approved them. Those of other folders are
    decided about in their folders.
    """
    left_out = [each for each in memories.noted().values() if each.status == "active" and not each.trusted]
    return sorted(left_out, key=lambda memory: (memory.created_at, memory.id))


def stats(memories: LongTermMemories) -> LongTermStats:
    """Return the state of the long-term memories. A database that cannot be read is a diagnostic."""
    known = [*memories.noted().values()]
    parts = memories.parts
    reasons = list[Diagnostic]()
    stored = None
    model = ""
    state = None
    others = dict[str, int]()
    try:
        spec = memories.spec()
        model = f"{spec.provider}, {spec.model}, {spec.dimensions} dimensions"
        store = memories.opened()
        state = store.state()
        stored = store.count(principal=parts.principal)
        others = store.other_models(principal=parts.principal)
        reasons += _differences(memories, store, known, others)
    except MemoriterError as error:
        reasons.append(Diagnostic.of(error))
    current = [memory for memory in known if memory.status == "active"]
    openclaw = None
    try:
        openclaw = openclaw_state(memories)
    except IndexUnavailable as error:
        reasons.append(Diagnostic.of(error))
    return LongTermStats(
        memories=len(known),
        by_category=dict(Counter(memory.category for memory in known)),
        by_origin=dict(Counter(memory.origin for memory in known)),
        superseded=len(known) - len(current),
        withheld=len(withheld_memories(memories)),
        stored=stored,
        database=parts.database,
        model=model,
        state=state,
        other_models=others,
        principal=parts.principal,
        openclaw=openclaw,
        reasons=tuple(reasons),
    )


def _differences(
    memories: LongTermMemories, store: LongTermStore, known: list[LongTermMemory], others: dict[str, int]
) -> list[Diagnostic]:
    """Return a diagnostic if a rebuild would change the database: in the words of a memory or in anything else."""
    parts = memories.parts
    rows = {row.id: row for row in store.memories(principal=parts.principal) if row.note == parts.note}
    missing = sum(rows.get(memory.id) != memory for memory in known)
    deleted = len(rows.keys() - {memory.id for memory in known})
    if not missing and not deleted:
        return []
    cause = ", because its vectors are those of another model" if others and not rows else ""
    message = f"The database differs from {PATH}{cause}: {missing} to add or change, {deleted} to remove."
    return [Diagnostic("stale", message, "Run `memoriter ltm rebuild`.")]
