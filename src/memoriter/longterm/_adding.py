"""Add many memories at once: to the note, to the database, and to the copy of the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.longterm._vector_file import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.longterm._memories import LongTermMemories
    from memoriter.longterm._records import LongTermMemory


def add_all(memories: LongTermMemories, fresh: Sequence[LongTermMemory]) -> None:
    """Add memories with their origins as they are: all of them, or none.

    Raises:
        EmbeddingError: there are no vectors; nothing was added.
        WriteError: the note could not be written; nothing was added.
        IndexUnavailable: the database cannot be written; the note has the memories.
    """
    if not fresh:
        return
    vectors = memories.embed([memory.text for memory in fresh])
    memories.add(fresh)
    memories.opened().store(fresh, vectors)
    memories.keep_vectors({row.id: (key_of(row.text), vector) for row, vector in zip(fresh, vectors, strict=True)})
