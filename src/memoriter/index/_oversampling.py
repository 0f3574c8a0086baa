"""How many vectors must be read for each that is wanted, measured on the corpus itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.index import _cache

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._cache import VectorSet
    from memoriter.index._database import Database

QUERIES = 96
"""Chunks that serve as queries."""
DEPTH = 10
RECALL = 0.99
"""The share of the nearest `DEPTH` that must be found."""
AIM = 0.995
"""The share that must be found when chunks stand in for questions, which may lie further off."""
STEPS = (2, 4, 8, 16, 32, 64, 128, 256)
_BATCH = 4096
_TIE = 1e-6


@dataclass(frozen=True, slots=True)
class Measured:
    """An oversampling, and the share of the true nearest that it found."""

    oversampling: int
    recall: float


def breadth(oversampling: int, limit: int) -> int:
    """How many chunks must be compared exactly for the best `limit`.

    What is measured holds for the best `DEPTH`. More need fewer each, so the breadth grows with the root of the limit.
    """
    return max(2 * limit, round(oversampling * math.sqrt(max(limit, DEPTH) * DEPTH)))


def due(measured: int, vectors: int) -> bool:
    """Whether a corpus that had `measured` vectors has grown by half, or was never measured."""
    return vectors * 2 >= measured * 3


def queries(rows: NDArray[np.float32], means: NDArray[np.float32], *, seed: int) -> NDArray[np.float32]:
    """Unit queries of two kinds, (n, dims): every other row as it is, the rest off by as much as rows are off the mean.

    The second kind is the harder one, harder than real questions: so it was with three public sets of questions.
    """
    import numpy as np

    rests = rows[1::2] - means
    spread = float(np.sqrt(np.einsum("ij,ij->i", rests, rests).mean() / means.size)) if len(rests) else 0.0
    made = rows.astype(np.float64)
    made[1::2] += np.random.default_rng(seed).standard_normal(rests.shape) * spread
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def measure(
    connection: Database,
    of: VectorSet,
    asked: NDArray[np.float32],
    found: Callable[[NDArray[np.float32], int], NDArray[np.float64]],
) -> Measured:
    """The smallest oversampling with which both kinds of queries find enough, or the largest.

    `found` gives the cosines of as many chunks as a search of that breadth would compare exactly.
    """
    import numpy as np

    floors = _floors(connection, of, asked)
    measured = Measured(STEPS[-1], 0.0)
    for oversampling in STEPS:
        hits = [
            min(np.count_nonzero(found(query, DEPTH * oversampling) >= floor - _TIE), DEPTH) / DEPTH
            for query, floor in zip(asked, floors.tolist(), strict=True)
        ]
        measured = Measured(oversampling, float(min(np.mean(hits[::2]), np.mean(hits[1::2]))))
        if measured.recall >= AIM:
            break
    return measured


def _floors(connection: Database, of: VectorSet, asked: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of the last of the true nearest of each query, from all vectors, a batch at a time."""
    import numpy as np

    best = np.full((DEPTH, len(asked)), -1, dtype=np.float32)
    for _, rows in _cache.fetched(connection, of, _cache.ALL_IN_ORDER, (of.id,), batch=_BATCH):
        scores = np.concatenate([best, rows @ asked.T])
        best = np.partition(scores, -DEPTH, axis=0)[-DEPTH:]
    return best[0]
