"""Scores of memories. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.extensions.longterm._results import LongTermAnswer, LongTermHit
from memoriter.search import analyse, query_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.extensions.longterm._results import Found
    from memoriter.types import ModelSpec

DEMOTION = 0.5
"""Factor of the score of a memory that a newer one has replaced."""
WORD_SHARE = 0.5
"""Share of the covered words in the score of a memory that contains words of the query; they never lower a score."""
FULL_DEVIATIONS = 6.0
"""Standard deviations above the mean cosine of unrelated texts that count as 1, as in the ranking of notes."""
NEAREST = 3
"""Memories that a search without a hit names."""


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
