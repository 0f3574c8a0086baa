"""What the operations on long-term memories return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memoriter.extensions.longterm._note import PATH
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.longterm._records import LongTermMemory

    Vector = NDArray[np.float32]
    from memoriter.errors import MemoriterError


EXACT_BELOW = 50_000
"""Number of memories below which a search compares all vectors, because an index would not be faster."""


@dataclass(frozen=True, slots=True)
class LongTermHit:
    """A memory that a search found."""

    memory: LongTermMemory
    score: float
    """0..1; 0 is unrelated."""
    similarity: float | None
    """The part of the vectors in the score, 0..1; None without vectors."""
    cosine: float = 0.0
    """Cosine of the vectors; 0 without vectors."""


@dataclass(frozen=True, slots=True)
class LongTermAnswer:
    """The result of a search, best first."""

    hits: tuple[LongTermHit, ...] = ()
    nearest: tuple[LongTermHit, ...] = ()
    """If there are no hits: the best memories below the lowest score that was asked for, `NEAREST` at most."""
    reasons: tuple[Diagnostic, ...] = ()
    """Why the search could not compare vectors."""
    replaced: Mapping[str, str] = field(default_factory=dict[str, str])
    """The id of what replaced a superseded memory, by the id of the older one."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of storing a memory."""

    memory: LongTermMemory
    """The new memory, or the one that says the same."""
    existing: bool = False
    """True if nothing was stored, because it is there already."""
    similarity: float = 0.0
    """Of the existing memory, 0..1."""
    masked: bool = False
    """Whether a secret in the text was replaced by `***`."""
    reasons: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class LongTermForgotten:
    """The receipt of forgetting, or the memories among which a person has to choose."""

    forgotten: tuple[LongTermMemory, ...] = ()
    candidates: tuple[LongTermHit, ...] = ()
    """Several memories fit, or one that is not certainly meant; nothing was deleted."""
    lines: int = 0
    """Lines that were removed from the note."""
    rows: int = 0
    """Memories that were removed from the database."""
    restored: tuple[LongTermMemory, ...] = ()
    """What a forgotten memory had replaced, and what is current again."""
    left: tuple[Diagnostic, ...] = ()
    """What could not be removed."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild did to the database."""

    memories: int
    added: int
    changed: int
    removed: int
    numbered: int
    """Items of the note that got an id, because they were written by hand."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What was copied from a table of OpenClaw."""

    added: int
    present: int
    """Memories that were there already."""
    skipped: int
    """Rows without a text."""


@dataclass(frozen=True, slots=True)
class OpenClawState:
    """The table of OpenClaw's plugin, which is only read."""

    folder: str
    memories: int
    """Its rows with a text."""
    missing: int
    """Those of them that were not copied into the note."""


@dataclass(frozen=True, slots=True)
class LongTermStats:
    """The state of the long-term memories."""

    memories: int
    """In the note."""
    by_category: dict[str, int]
    by_origin: dict[str, int]
    superseded: int
    withheld: int
    """Current memories of the note that automatic recall leaves out: those of `withheld_memories`."""
    stored: int | None
    """Memories in the database with vectors of the current model; None: the database could not be read."""
    database: str
    model: str
    state: StoreState | None
    other_models: dict[str, int]
    principal: str
    openclaw: OpenClawState | None = None
    """The table of OpenClaw that the settings name; None: they name none, or it cannot be read."""
    reasons: tuple[Diagnostic, ...] = ()

    @property
    def uses_index(self) -> bool:
        """Whether searches use an index of the vectors, and do not compare all of them."""
        return bool(self.state and self.state.indexed) and (self.stored or 0) >= EXACT_BELOW


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


def not_searchable(error: MemoriterError) -> Diagnostic:
    """Return the diagnostic for a memory that is in the note, and not in the database."""
    message = f"The memory is in {PATH}, and searches by meaning do not find it yet: {error.message}"
    return Diagnostic(error.code, message, f"{error.remedy} Then run `memoriter ltm rebuild`.".strip())


def not_compared(error: MemoriterError) -> Diagnostic:
    """Return the diagnostic for a captured statement that was not compared with the memories."""
    message = (
        "What was captured was not compared with the long-term memories, so it may repeat or contradict one: "
        f"{error.message}"
    )
    return Diagnostic(error.code, message, error.remedy)


def not_in_database(missing: int, noted: int) -> Diagnostic:
    """Return the diagnostic for memories that the note has, and the database does not."""
    message = f"The database lacks {missing} of {noted} memories of {PATH}, which no search finds until it has them."
    return Diagnostic("stale", message, "Run `memoriter ltm rebuild`.")


def words_only(error: MemoriterError) -> Diagnostic:
    """Return the diagnostic for a search without vectors."""
    return Diagnostic(
        error.code, f"Long-term memories were compared by their words only: {error.message}", error.remedy
    )
