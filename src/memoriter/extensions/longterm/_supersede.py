"""Find the older memory that a new statement replaces: the same category, a similar text, and another value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError
from memoriter.extensions.longterm._diagnostics import not_compared
from memoriter.extensions.longterm.rules import replaces, switches
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.extensions.longterm._memories import LongTermMemories
    from memoriter.extensions.longterm._records import Category, LongTermMemory
    from memoriter.types import Diagnostic

NEIGHBOURS = 5
"""Memories that are compared with a new statement."""
SIMILAR = 0.2
"""Lowest similarity above that of unrelated texts, 0..1, of a memory that is replaced."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A current memory near a statement."""

    memory: LongTermMemory
    similarity: float
    """0..1; 0 is unrelated, 1 the same text."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The current memories that are most similar to a statement, the most similar first."""

    near: tuple[Neighbour, ...] = ()
    reasons: tuple[Diagnostic, ...] = ()
    """Why memories were not compared with the statement."""


def neighbours(memories: LongTermMemories, text: str) -> Neighbours:
    """Return the current memories near a statement. Without vectors, only a memory with the same text is near."""
    known = {entry.memory.id: entry.memory for entry in memories.entries() if entry.memory.status == "active"}
    same = tuple(Neighbour(memory, 1.0) for memory in known.values() if memory.text == text)
    if same or not known:
        return Neighbours(same)
    try:
        vector = memories.embed([text])[0]
        found = memories.opened().search(vector, principal=memories.parts.principal, limit=4 * NEIGHBOURS)
        mean = memories.spec().background[0]
    except MemoriterError as error:
        return Neighbours(reasons=(not_compared(error),))
    near = (
        Neighbour(known[each.memory.id], min(max((each.similarity - mean) / (1 - mean), 0.0), 1.0))
        for each in found
        if each.memory.id in known
    )
    return Neighbours(tuple(near)[:NEIGHBOURS])


def replaced_by(near: Neighbours, text: str, category: Category) -> LongTermMemory | None:
    """Return the memory near a statement that the statement replaces, or None."""
    for each in near.near:
        older = each.memory.text
        if each.similarity >= SIMILAR and (
            switches(older, text) or (each.memory.category == category and replaces(older, text))
        ):
            return each.memory
    return None
