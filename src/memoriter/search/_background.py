"""The corpus' own background: how alike two unrelated chunks look to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SAMPLE = 1_000
"""Chunks drawn to measure the background."""
PRIOR_PAIRS = 200.0
"""The model's own background counts as so many pairs, so that a handful of notes does not decide."""
NEAR_DUPLICATES = 0.005
"""Share of the most similar pairs that is left out."""


def measure(vectors: NDArray[np.float32], prior: tuple[float, float], *, seed: int = 0) -> tuple[float, float]:
    """Mean and standard deviation of the cosine of random pairs of rows, shrunk towards the model's own.

    Args:
        vectors: (n, dims), rows of unit length, of distinct chunks.
        prior: mean and deviation to start from.
        seed: of the draw, so that the same vectors give the same background.
    """
    import numpy as np

    n = len(vectors)
    if n < 2:
        return prior
    draw = np.random.default_rng(seed)
    left = draw.integers(0, n, 4 * SAMPLE)
    right = (left + draw.integers(1, n, 4 * SAMPLE)) % n
    cosines = np.einsum("ij,ij->i", vectors[left], vectors[right]).astype(np.float64)
    cosines = cosines[cosines <= np.quantile(cosines, 1 - NEAR_DUPLICATES)]
    pairs = min(float(n * (n - 1) / 2), float(len(cosines)))
    share = pairs / (pairs + PRIOR_PAIRS)
    mean = share * float(cosines.mean()) + (1 - share) * prior[0]
    variance = share * float(cosines.var()) + (1 - share) * (prior[1] ** 2)
    return mean, variance**0.5
