"""The few numbers that shape a search, resolved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from memoriter.search._cosine_baseline import CosineBaseline
from memoriter.search._score import VECTOR_WEIGHT

if TYPE_CHECKING:
    from memoriter.types import SourceKind

Scoring = Literal["calibrated", "rrf", "classic"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search; every field has the default of a fresh installation."""

    max_results: int = 6
    min_score: float = 0.35
    scoring: Scoring = "calibrated"
    hybrid: bool = True
    """False: the vector leg alone, where there is one."""
    vector_weight: float | None = None
    """0..1 with `text_weight`; `None`: as measured for the scoring."""
    text_weight: float | None = None
    candidate_multiplier: int = 4
    mmr_lambda: float | None = None
    """`None`: off."""
    half_life_days: float | None = None
    """`None`: no decay."""
    background: CosineBaseline = field(default_factory=lambda: CosineBaseline.of_model((0.0, 0.1)))
    """What unrelated chunks look like."""
    kinds: tuple[SourceKind, ...] = ()
    """The kinds of sources that share the hits, where there are several."""

    @property
    def weight(self) -> float:
        """Share of the vector leg in the calibrated score."""
        vector, text = self.vector_weight, self.text_weight
        if vector is None and text is None:
            return VECTOR_WEIGHT
        vector = 1 - (text or 0.0) if vector is None else vector
        text = 1 - vector if text is None else text
        return vector / (vector + text) if vector + text > 0 else VECTOR_WEIGHT

    @property
    def classic_weights(self) -> tuple[float, float]:
        """Vector and text weight of classic scoring, adding up to 1."""
        vector = 0.7 if self.vector_weight is None else self.vector_weight
        text = 0.3 if self.text_weight is None else self.text_weight
        total = vector + text
        return (vector / total, text / total) if total > 0 else (0.7, 0.3)

    @property
    def candidates(self) -> int:
        """How many passages each leg may propose."""
        return min(max(self.max_results * self.candidate_multiplier, 1), 200)
