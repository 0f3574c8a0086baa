"""Resolved settings of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from memoriter.search._cosine_baseline import CosineBaseline
from memoriter.search._score import VECTOR_WEIGHT
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from memoriter.types import SourceKind

Scoring = Literal["calibrated", "rrf", "classic"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of a search. Every field has the default of a fresh installation."""

    max_results: int = 6
    min_score: float = 0.35
    scoring: Scoring = "calibrated"
    hybrid: bool = True
    """False uses the vector retriever only, if it is available."""
    vector_weight: float | None = None
    """Weight relative to `text_weight`, 0..1; `None` uses the measured weight of the scoring."""
    text_weight: float | None = None
    candidate_multiplier: int = 4
    mmr_lambda: float | None = None
    """`None` turns MMR off."""
    half_life_days: float | None = None
    """`None` turns decay off."""
    background: CosineBaseline = field(default_factory=lambda: CosineBaseline.of_model((0.0, 0.1)))
    """Similarity of unrelated chunks."""
    kinds: tuple[SourceKind, ...] = ()
    """Kinds of sources that share the hits, if there are several."""

    @property
    def weight(self) -> float:
        """Weight of the vector score in the calibrated score, 0..1."""
        vector, text = self.vector_weight, self.text_weight
        if vector is None and text is None:
            return VECTOR_WEIGHT
        vector = 1 - (text or 0.0) if vector is None else vector
        text = 1 - vector if text is None else text
        return vector / (vector + text) if vector + text > 0 else VECTOR_WEIGHT

    @property
    def classic_weights(self) -> tuple[float, float]:
        """Vector and text weight of classic scoring; their sum is 1."""
        vector = 0.7 if self.vector_weight is None else self.vector_weight
        text = 0.3 if self.text_weight is None else self.text_weight
        total = vector + text
        return (vector / total, text / total) if total > 0 else (0.7, 0.3)

    @property
    def candidates(self) -> int:
        """Number of chunks that each retriever may propose, 1..200."""
        return min(max(self.max_results * self.candidate_multiplier, 1), 200)
