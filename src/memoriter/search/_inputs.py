"""The settings of a ranking, and the lines of a typed query with their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from memoriter.search._cosine_baseline import CosineBaseline
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import QueryLine, SourceKind


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedLine:
    """One line of a typed query, with its vector."""

    line: QueryLine
    vector: NDArray[np.float32] | None
    """(dims,), unit length; None for `lex`, and if vectors are not available: then the line is not searched."""


@dataclass(frozen=True, slots=True, eq=False)
class TypedQuery:
    """The lines of a typed query, as they are searched."""

    lines: Sequence[EmbeddedLine]
    intent: str = ""


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
    max_per_note: int | None = None
    """Most hits of one note if other notes have any; `None`: no limit. Classic scoring has none."""
    kinds: tuple[SourceKind, ...] = ()
    """Kinds of sources that share the hits, if there are several."""

    @property
    def fixed_weight(self) -> float | None:
        """Weight of the vector score in the calibrated score, 0..1; None if it depends on the query."""
        vector = self.vector_weight
        text = self.text_weight
        if not self.hybrid:
            return 1.0
        if vector is None and text is None:
            return None
        vector = 1 - (text or 0.0) if vector is None else vector
        text = 1 - vector if text is None else text
        return vector / (vector + text) if vector + text > 0 else None

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
