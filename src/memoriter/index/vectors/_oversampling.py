"""The number of vectors to read for each wanted one, measured on the corpus itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from memoriter.index.vectors import _cache
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index.store._connection import Database
    from memoriter.index.vectors._cache import VectorSet

QUERIES = 96
"""The number of chunks that are used as queries."""
DEPTH = 10
RECALL = 0.99
"""The share of the nearest `DEPTH` that must be found."""
SAMPLE_RECALL = 0.995
"""The share that must be found with chunks in place of questions, because questions may lie further off."""
STEPS = (2, 4, 8, 16, 32, 64, 128, 256)
_BATCH = 4096
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Measurement:
    """An oversampling, and the share of the true nearest that it found."""

    oversampling: int
    recall: float


def breadth(oversampling: int, limit: int) -> int:
    """Return how many chunks must be compared exactly for the best `limit`.

    The measurement holds for the best `DEPTH`. With more, each needs fewer, so the breadth grows with the root of the
    limit.
    """
    return max(2 * limit, round(oversampling * math.sqrt(max(limit, DEPTH) * DEPTH)))


def is_due(measured: int, vectors: int) -> bool:
    """Return whether a corpus that had `measured` vectors has grown by half, or was never measured."""
    return vectors * 2 >= measured * 3


def sample_queries(rows: NDArray[np.float32], means: NDArray[np.float32], *, seed: int) -> NDArray[np.float32]:
    """Return unit queries of two kinds, (n, dims), from rows of vectors.

    Every other row is used as it is. The rest get noise as large as the deviation of rows from the mean; these are
    harder, and harder than real questions: so it was with three public sets of questions.
    """
    import numpy as np

    residuals = rows[1::2] - means
    spread = float(np.sqrt(np.einsum("ij,ij->i", residuals, residuals).mean() / means.size)) if len(residuals) else 0.0
    queries = rows.astype(np.float64)
    queries[1::2] += np.random.default_rng(seed).standard_normal(residuals.shape) * spread
    return (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)


def measure(
    connection: Database,
    vector_set: VectorSet,
    queries: NDArray[np.float32],
    search: Callable[[NDArray[np.float32], int], NDArray[np.float64]],
) -> Measurement:
    """Return the smallest oversampling with which both kinds of queries find enough, or the largest.

    Args:
        connection: the database.
        vector_set: the set that is searched.
        queries: (n, dims); the two kinds alternate.
        search: returns the cosines of as many chunks as a search of that breadth would compare exactly.
    """
    import numpy as np

    floors = _last_true_cosines(connection, vector_set, queries)
    measurement = Measurement(STEPS[-1], 0.0)
    for oversampling in STEPS:
        hits = [
            min(np.count_nonzero(search(query, DEPTH * oversampling) >= floor - _TOLERANCE), DEPTH) / DEPTH
            for query, floor in zip(queries, floors.tolist(), strict=True)
        ]
        measurement = Measurement(oversampling, float(min(np.mean(hits[::2]), np.mean(hits[1::2]))))
        if measurement.recall >= SAMPLE_RECALL:
            break
    return measurement


def _last_true_cosines(
    connection: Database, vector_set: VectorSet, queries: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of the last of the true nearest for each query, from all vectors, a batch at a time."""
    import numpy as np

    best = np.full((DEPTH, len(queries)), -1, dtype=np.float32)
    for _, rows in _cache.read_batches(connection, vector_set, _cache.ALL_IN_ORDER, (vector_set.id,), batch=_BATCH):
        scores = np.concatenate([best, rows @ queries.T])
        best = np.partition(scores, -DEPTH, axis=0)[-DEPTH:]
    return best[0]
