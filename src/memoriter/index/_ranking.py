"""Cosines and their order, the same for every engine, so that all engines return the same results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import BadVector

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

SLACK = 1e-5
"""Far above the rounding error of a float32 dot product of unit vectors: no top result is lost before the exact scores
are known."""


def unit_query(query: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """Return the query scaled to length 1. Raises BadVector if its dimensions do not fit this set."""
    import numpy as np

    flat = np.asarray(query, dtype=np.float32).reshape(-1)
    if flat.size != dimensions:
        raise BadVector(f"The query vector has {flat.size} dimensions, the vectors in the index have {dimensions}.")
    return unit_rows(flat.reshape(1, -1), dimensions)[0]


def unit_rows(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """Return rows scaled to length 1, (n, dims) float32.

    Raises:
        BadVector: a row is not finite, zero or of another length.
    """
    import numpy as np

    rows = np.ascontiguousarray(vectors, dtype="<f4")
    if rows.ndim != 2 or rows.shape[1] != dimensions:
        raise BadVector(f"Vectors of shape {rows.shape} do not fit a set of {dimensions} dimensions.")
    # Use float64, in which the square of a float32 neither overflows nor underflows.
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise BadVector("A vector is zero or not finite.")
    if np.all(np.abs(lengths - 1) < 1e-6):
        return rows
    return (rows / lengths[:, None]).astype("<f4")


def cosines(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return exact cosines of unit rows. Unlike a BLAS product, equal rows give equal results wherever they lie."""
    import numpy as np

    return np.multiply(rows, query, dtype=np.float64).sum(axis=1)


def best(ids: NDArray[np.int64], scores: NDArray[np.float64], limit: int) -> NDArray[np.intp]:
    """Return the positions of the highest scores, highest first; ties by id."""
    import numpy as np

    return np.lexsort((ids, -scores))[:limit]


def near_top(scores: NDArray[np.float32], limit: int, *, slack: float) -> NDArray[np.intp]:
    """Return the positions of all that may belong to the best `limit`, in no order; `slack` is their rounding error."""
    import numpy as np

    if scores.size <= limit:
        return np.arange(scores.size)
    last = np.partition(scores, scores.size - limit)[scores.size - limit]
    return np.flatnonzero(scores >= last - slack)


def top(scores: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` highest scores, in no order."""
    import numpy as np

    return np.arange(scores.size) if scores.size <= count else np.argpartition(-scores, count - 1)[:count]


def random_ids(ids: NDArray[np.int64], count: int, seed: int) -> Sequence[int]:
    """Return up to `count` random ids, each at most once, ascending; the same seed gives the same ids."""
    import numpy as np

    chosen = np.random.default_rng(seed).choice(ids.size, size=min(count, ids.size), replace=False)
    return list(map(int, ids[np.sort(chosen)]))
