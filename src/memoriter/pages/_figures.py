"""The numbers of a search with their names and meanings, so that every number on a page explains itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of an explanation."""

    key: str
    """Its member in the JSON form."""
    name: str
    meaning: str
    retriever: str = ""
    """The retriever that found it; empty: a stage after retrieval."""


SCORE = Figure("score", "Score", "From 0 to 1: how much the passage is about the question, whatever else was found.")
FIGURES = (
    Figure("cosine", "Cosine", "The similarity of the two vectors, as the model computes it.", "vector"),
    Figure("vector", "Meaning", "How far the cosine exceeds that of unrelated passages; 1 is the maximum.", "vector"),
    Figure("coverage", "Coverage", "The share of the question's words in it; rare words count more.", "keyword"),
    Figure("saturation", "Saturation", "How often the words occur, for the length of the passage.", "keyword"),
    Figure("neighbours", "Neighbours", "What the passages before and after it add.", "keyword"),
    Figure("keyword", "Words", "Coverage, saturation and neighbours together.", "keyword"),
    Figure("raw", "Blend", "The weighted sum of meaning and words."),
    Figure("calibrated", "Calibrated", "The blend, mapped to a score that means the same for every question."),
    Figure("decay", "Decay", "The share that is left because of the note's age; 1 if age does not count."),
    Figure("relevance", "Relevance", "The score of the reranker, on a scale of its own."),
)
"""The numbers in the order in which a search computes them."""
STAGES = {
    "changes": "look for changes",
    "index": "index",
    "embed": "embed the question",
    "keyword": "find by words",
    "vector": "find by meaning",
    "rank": "rank",
    "rerank": "rerank",
    "verify": "verify",
    "total": "total",
}
"""The stages of a search by their keys in `timings`."""


def figures_of(explanation: Mapping[str, Any]) -> Iterator[tuple[Figure, float | None]]:
    """Yield the numbers of a hit; None if its retriever did not find it. Others that are missing are left out."""
    for each in FIGURES:
        value: float | None = explanation.get(each.key)
        if value is not None or (each.retriever and each.key in explanation):
            yield each, value
