"""1-bit codes of vectors: the side of the corpus mean on which each dimension lies, and cosine estimates from it.

Estimates only select the chunks whose vectors are compared exactly. How many that must be for each wanted chunk is
measured on the corpus itself.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from memoriter.index.vectors import _cache
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._connection import Database
    from memoriter.index.vectors._cache import VectorSet

WORD = 64
"""Dimensions in one column of codes."""
_BLOCK = 32 * 1024
"""Codes compared at a time: their intermediate results stay in the processor's cache."""
_MAX_DISTANCE = 1 << 15
"""More than any two codes can differ."""


def columns(dimensions: int) -> int:
    """Return the number of 64-bit words of a code."""
    return -(-dimensions // WORD)


def encode(rows: NDArray[np.float32], means: NDArray[np.float32]) -> tuple[NDArray[np.uint64], NDArray[np.float16]]:
    """Return codes by column, (words, n), and for each row the two numbers that `estimates` needs, (2, n).

    With m the means, r = row - m and s the signs of r, r is estimated as f·s, f = |r|²/Σ|r_i|, which is right on
    average (RaBitQ, Gao and Long, 2024). The two numbers are f and m·r; the latter follows from |row| = 1.
    """
    import numpy as np

    residuals = rows - means
    squares = np.einsum("ij,ij->i", residuals, residuals)
    sums = np.abs(residuals).sum(axis=1)
    scales = np.divide(squares, sums, out=np.zeros_like(squares), where=sums > 0)
    along = (1 - float(means @ means) - squares) / 2
    return _pack(residuals), np.stack([scales, along]).astype("<f2")


def _pack(residuals: NDArray[np.float32]) -> NDArray[np.uint64]:
    import numpy as np

    count, dimensions = residuals.shape
    padded = np.zeros((count, columns(dimensions) * WORD // 8), dtype=np.uint8)
    packed = np.packbits(residuals > 0, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view("<u8").T)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Codes in several groups; the same distance has another rank in each group."""

    numbers: NDArray[np.uint8]
    """The group of each code, (n,)."""
    ranks: NDArray[np.uint16]
    """The rank of each distance in each group, below 32,768: (groups, dims + 1)."""

    def ranks_of(self, start: int, distances: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """Return the ranks of distances; the first distance is that of the code at `start`."""
        rows = self.numbers[start : start + distances.size]
        width = self.ranks.shape[1]
        flat: NDArray[np.uint16] = self.ranks.ravel()
        return flat[rows.astype("<u4") * width + distances]


def nearest(
    codes: NDArray[np.uint64],
    excluded: NDArray[np.bool_],
    residual: NDArray[np.float32],
    count: int,
    groups: Groups | None = None,
) -> NDArray[np.intp]:
    """Return the positions of the `count` codes that differ least from a query's, ascending; the first of equals.

    `residual` is the query minus the means.
    """
    import numpy as np

    query = _pack(residual.reshape(1, -1))[:, 0]
    ones = _bit_counter()
    total = codes.shape[1]
    bound = _MAX_DISTANCE
    positions = np.empty(0, dtype=np.intp)
    distances = np.empty(0, dtype=np.uint16)
    for start in range(0, total, _BLOCK):
        stop = min(start + _BLOCK, total)
        block = _distances(codes[:, start:stop], query, ones)
        if groups is not None:
            block = groups.ranks_of(start, block)
        block[excluded[start:stop]] = _MAX_DISTANCE
        near = np.flatnonzero(block < bound)
        positions = np.append(positions, near + start)
        distances = np.append(distances, block[near])
        if positions.size > count:
            last = np.partition(distances, count - 1)[count - 1]
            chosen = _smallest(distances, last, count)
            # Later codes that are only as near as the last one would rank after it.
            positions = positions[chosen]
            distances = distances[chosen]
            bound = int(last)
    return positions


def _smallest(distances: NDArray[np.uint16], last: int, count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` smallest distances, ascending; `last` is the largest of these distances."""
    import numpy as np

    nearer = np.flatnonzero(distances < last)
    equal = np.flatnonzero(distances == last)
    return np.sort(np.append(nearer, equal[: count - nearer.size]))


def _distances(
    codes: NDArray[np.uint64], query: NDArray[np.uint64], ones: Callable[[NDArray[np.uint64]], NDArray[np.uint8]]
) -> NDArray[np.uint16]:
    import numpy as np

    sums = np.zeros(codes.shape[1], dtype=np.uint16)
    # Three words differ in at most 192 bits, so their sum fits into a byte, the fastest type to add.
    for first in range(0, len(codes), 3):
        part = ones(codes[first] ^ query[first])
        for word in range(first + 1, min(first + 3, len(codes))):
            part += ones(codes[word] ^ query[word])
        sums += part
    return sums


def _bit_counter() -> Callable[[NDArray[np.uint64]], NDArray[np.uint8]]:
    """Return a function that counts the set bits of each word."""
    import numpy as np

    bitwise_count: Callable[[NDArray[np.uint64]], NDArray[np.uint8]] | None = getattr(np, "bitwise_count", None)
    return bitwise_count or _count_by_table


def _count_by_table(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the number of set bits of each word, for NumPy older than 2."""
    import numpy as np

    table = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
    return table[np.ascontiguousarray(words).view(np.uint8)].reshape(-1, 8).sum(axis=1, dtype=np.uint8)


def estimates(
    codes: NDArray[np.uint64], factors: NDArray[np.float16], residual: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return estimated cosines with a query, (n,), up to a constant and a small error.

    `residual` is the query minus the means.
    """
    import numpy as np

    padded = np.zeros(codes.shape[0] * WORD, dtype=np.float32)
    padded[: residual.size] = residual
    # The sum that each value of each byte of a code adds: eight times fewer look-ups than one per bit.
    sums = padded.reshape(-1, 8) @ _byte_bits().T
    sides = np.zeros(codes.shape[1], dtype=np.float32)
    for column, values in enumerate(np.ascontiguousarray(codes)):
        parts = values.view(np.uint8).reshape(-1, 8)
        for place in range(8):
            sides += sums[8 * column + place].take(parts[:, place])
    scales, along = factors.astype(np.float32)
    return along + scales * (2 * sides - residual.sum())


@cache
def _byte_bits() -> NDArray[np.float32]:
    """Return the bits of every byte, the lowest first, (256, 8)."""
    import numpy as np

    return np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float32)


def mean_factors(factors: NDArray[np.float16], numbers: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the means, over the codes of each group, of the two numbers that `encode` returns: (2, groups)."""
    import numpy as np

    counts = np.maximum(np.bincount(numbers), 1)
    return np.stack([np.bincount(numbers, weights=each) / counts for each in factors])


def expected_estimates(means: NDArray[np.float64], residual: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the average of `estimates` at each distance in each group, (groups, dims + 1), from `mean_factors`."""
    import numpy as np

    scales, along = means[:, :, None]
    agreeing = 1 - 2 * np.arange(residual.size + 1) / residual.size
    return along + scales * float(np.abs(residual).sum()) * agreeing


def ranks(scores: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return scores as distances: 0 for the highest, proportional from there, below `_FAR`."""
    import numpy as np

    highest = scores.max(initial=-np.inf)
    span = max(float(highest - scores.min(initial=np.inf)), 1e-9)
    return ((highest - scores) * ((_MAX_DISTANCE - 1) / span)).astype(np.uint16)


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


def sample_queries(rows: NDArray[np.float32], means: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return unit queries of two kinds, (n, dims), from rows of vectors.

    Every other row is used as it is. The rest get noise as large as the deviation of rows from the mean; these are
    harder, and harder than real questions: so it was with three public sets of questions.
    """
    import numpy as np

    residuals = rows[1::2] - means
    spread = float(np.sqrt(np.einsum("ij,ij->i", residuals, residuals).mean() / means.size)) if len(residuals) else 0.0
    queries = rows.astype(np.float64)
    queries[1::2] += np.random.default_rng(0).standard_normal(residuals.shape) * spread
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
