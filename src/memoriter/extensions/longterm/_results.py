"""What the operations on long-term memories return, and the scores in it. `LongTermStore` is what holds the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memoriter.extensions.longterm._note import PATH
from memoriter.search import analyse, query_terms
from memoriter.types import Diagnostic
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.errors import MemoriterError
    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.types import ModelSpec

    Vector = NDArray[np.float32]

EXACT_BELOW = 50_000
"""Number of memories below which a search compares all vectors, because an index would not be faster."""
DEMOTION = 0.5
"""Factor of the score of a memory that a newer one has replaced."""
WORD_SHARE = 0.5
"""Share of the covered words in the score of a memory that contains words of the query; they never lower a score."""
FULL_DEVIATIONS = 6.0
"""Standard deviations above the mean cosine of unrelated texts that count as 1, as in the ranking of notes."""
NEAREST = 3
"""Memories that a search without a hit names."""


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

        Each has a vector (dims,) of unit length. Raises IndexUnavailable: the store cannot be written.
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


def answering(memory: LongTermMemory, cosine: float, words: str, background: tuple[float, float]) -> LongTermHit:
    """Return a memory with its score for a question: how far it stands out from unrelated texts of the model.

    The words are those of the question, if shared words raise the score. The background is the mean and the deviation
    of the cosine of unrelated texts.
    """
    mean, deviation = background
    similarity = min(max((cosine - mean) / max(deviation, 1e-6) / FULL_DEVIATIONS, 0.0), 1.0)
    score = similarity
    if words:
        score = max(score, (1 - WORD_SHARE) * similarity + WORD_SHARE * coverage(words, memory.text))
    if memory.status == "superseded":
        score *= DEMOTION
    return LongTermHit(memory, score, similarity, cosine)


def saying(found: Found, spec: ModelSpec) -> LongTermHit:
    """Return a memory with its score for a statement: 0 for unrelated texts of the model, 1 for the same text."""
    mean = spec.background[0]
    similarity = min(max((found.similarity - mean) / (1 - mean), 0.0), 1.0)
    return LongTermHit(found.memory, similarity, similarity, found.similarity)


def is_current(memory: LongTermMemory) -> bool:
    return memory.trusted and memory.status == "active"


def coverage(query: str, text: str) -> float:
    """Return the share of the words of a query that a text contains, 0..1."""
    terms = query_terms(query)
    own = set(analyse(text))
    return sum(term in own for term in terms) / len(terms) if terms else 0.0


def answer_of(hits: Sequence[LongTermHit], limit: int, floor: float) -> LongTermAnswer:
    """Return the best memories with a score of at least `floor`, or, if there are none, those nearest to it."""
    if kept := best(hits, limit, floor):
        return LongTermAnswer(kept)
    compared = [hit for hit in hits if hit.similarity is not None or hit.score > 0.0]
    return LongTermAnswer(nearest=_ranked(compared)[:NEAREST])


def best(hits: Sequence[LongTermHit], limit: int, floor: float) -> tuple[LongTermHit, ...]:
    kept = [hit for hit in hits if hit.score >= floor and hit.score > 0.0]
    return _ranked(kept)[:limit]


def _ranked(hits: Sequence[LongTermHit]) -> tuple[LongTermHit, ...]:
    return tuple(sorted(hits, key=lambda hit: (-hit.score, -hit.cosine, -hit.memory.importance)))
