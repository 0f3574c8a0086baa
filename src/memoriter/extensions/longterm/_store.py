"""The Protocol of a store of long-term memories, and what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.longterm._records import LongTermMemory

    Vector = NDArray[np.float32]


EXACT_BELOW = 50_000
"""Number of memories below which a search compares all vectors, because an index would not be faster."""


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that a search returned."""

    memory: LongTermMemory
    similarity: float
    """Cosine of the angle between its vector and that of the query, -1..1."""


@dataclass(frozen=True, slots=True)
class StoreState:
    """The condition of a store, for status and benchmarks."""

    memories: int
    """Number of memories of all principals."""
    fragments: int
    """Number of data files; a search opens each of them."""
    versions: int
    """Number of earlier states on the disk."""
    bytes: int | None
    """Size on the disk; None: unknown, as in a bucket."""
    indexed: int = 0
    """Number of vectors in an index; 0: there is none, and each search compares all vectors."""


class LongTermStore(Protocol):
    """Memories with vectors of one model. Every operation is limited to one principal. Safe to share between threads.

    Vectors of several models can be in the same place, side by side: a store reads those of its own model only, and
    deletes from all of them.
    """

    @property
    def model(self) -> str:
        """The fingerprint of the model of the vectors."""
        ...

    def store(self, memories: Sequence[LongTermMemory], vectors: Sequence[Vector]) -> None:
        """Add memories, or replace those with the same ids. All of them are stored, or none.

        Args:
            memories: the memories.
            vectors: a vector (dims,) of unit length for each.

        Raises:
            IndexUnavailable: the store cannot be written.
        """
        ...

    def search(
        self, vector: Vector, *, principal: str, limit: int, floor: float = -1.0, trusted: bool = False, words: str = ""
    ) -> list[Found]:
        """Return the memories that are most similar to a vector, the most similar first.

        Args:
            vector: of unit length (dims,).
            principal: whose memories.
            limit: maximum number of memories by similarity.
            floor: lowest cosine of a memory that is found by similarity.
            trusted: whether to search only memories that the owner wrote or approved, and that no other one supersedes.
            words: text whose words are also searched for. Memories with any of them are returned below the floor, too,
                and beside those found by similarity, again `limit` at most.

        Raises:
            IndexUnavailable: the store cannot be read.
        """
        ...

    def delete(self, ids: Collection[str], *, principal: str) -> int:
        """Delete memories, with their vectors of every model, and return how many there were."""
        ...

    def count(self, *, principal: str, trusted: bool = False) -> int:
        """Return the number of memories. `trusted` counts only those that a search with `trusted` compares."""
        ...

    def get(self, ids: Collection[str], *, principal: str) -> list[LongTermMemory]:
        """Return the memories with these ids, without those that do not exist, in the order of their creation."""
        ...

    def memories(self, *, principal: str) -> list[LongTermMemory]:
        """Return all memories in the order of their creation."""
        ...

    def vectors(self, ids: Sequence[str], *, principal: str) -> dict[str, Vector]:
        """Return the vectors of memories by their ids."""
        ...

    def change(self, memory: LongTermMemory) -> None:
        """Replace a memory with the same id and text, and keep its vector."""
        ...

    def other_models(self, *, principal: str) -> dict[str, int]:
        """Return the number of memories with vectors of each other model, by its fingerprint."""
        ...

    def maintain(self, *, erase: bool = False) -> None:
        """Merge small data files and drop earlier states; `erase`: also everything that was deleted."""
        ...

    def state(self) -> StoreState:
        """Return the condition of the store."""
        ...

    def close(self) -> None:
        """Release the store. Closing twice is harmless."""
        ...
