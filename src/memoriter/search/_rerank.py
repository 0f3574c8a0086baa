"""Reranking: the best candidates in the order of a model that reads question and passage together.

The model decides the order only. The score of a candidate stays the engine's own, because it means the same for every
question, and the scales of rerankers differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.search._inputs import Reader
    from memoriter.types import Chunk

LONGEST_PASSAGE = 4_000
"""Characters of a passage that a reranker reads, with the headings above it. Passages are seldom half as long."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What a reranker did to one candidate."""

    rank: int
    """Place in the engine's own order, from 1."""
    reranked: int
    """Place in the order of the reranker, from 1."""
    relevance: float
    """The reranker's score, on its own scale."""


class Rescorer(Protocol):
    """The reranker, for one question."""

    @property
    def candidates(self) -> int:
        """The number of candidates that it reads, at least 2."""
        ...

    def scores(self, passages: Sequence[str]) -> Sequence[float] | None:
        """Return one finite score for each passage; None if there are none (yet)."""
        ...


def rerank(
    reader: Reader, ranked: Sequence[tuple[int, float]], rescorer: Rescorer, *, min_score: float
) -> list[tuple[int, Reranked | None]]:
    """Return the positions of the candidates in their new order, each with what the reranker did to it.

    The reranker's first candidates come first; equal relevance keeps the engine's order. Without its scores, the order
    is the given one.

    Args:
        reader: the index, for the passages.
        ranked: row and score of each candidate, best first.
        rescorer: the reranker.
        min_score: candidates with lower scores become no hits, so the reranker does not read them.
    """
    best = [at for at, (_, score) in enumerate(ranked) if score >= min_score][: rescorer.candidates]
    chunks = reader.rows([ranked[at][0] for at in best])
    best = [at for at in best if ranked[at][0] in chunks]
    scores = rescorer.scores([passage(chunks[ranked[at][0]].chunk) for at in best]) if len(best) > 1 else None
    if scores is None:
        return [(at, None) for at in range(len(ranked))]
    relevance = dict(zip(best, scores, strict=True))
    order = sorted(best, key=lambda at: (-relevance[at], at))
    first = [(at, Reranked(at + 1, place, relevance[at])) for place, at in enumerate(order, 1)]
    return [*first, *((at, None) for at in range(len(ranked)) if at not in relevance)]


def passage(chunk: Chunk) -> str:
    """Return the text that a reranker reads: the heading path and the passage, at most `LONGEST_PASSAGE` characters."""
    return chunk.contextual[:LONGEST_PASSAGE]
