"""Vectors in two dimensions, in groups, and in pairs that are nearly equal: pure functions of a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDS = 25
"""Rounds of k-means at most."""
MOST_GROUPS = 12
BLOCK = 512
"""Rows that are compared with all others at once."""


class Drawing(NamedTuple):
    """What a picture of vectors needs."""

    places: NDArray[np.float32]
    """(rows, 2), as in `Projection`."""
    variance: tuple[float, float]
    groups: NDArray[np.int64]
    """(rows,)"""
    centres: list[int]
    """The row that is nearest to the centre of each group."""
    duplicates: list[tuple[list[int], float]]
    """As of `near_duplicates`."""


class Projection(NamedTuple):
    """Vectors in two dimensions."""

    places: NDArray[np.float32]
    """(rows, 2), each in -1..1; the distances of both axes have the same scale."""
    variance: tuple[float, float]
    """The share of the variance that each axis shows, 0..1."""


def draw(vectors: NDArray[np.float32], similarity: float) -> Drawing:
    """Return places, groups and near duplicates of vectors (rows, dims); `similarity` is that of `near_duplicates`."""
    projection = project(vectors)
    groups, centres = group(vectors)
    return Drawing(*projection, groups, centres, near_duplicates(vectors, similarity))


def project(vectors: NDArray[np.float32]) -> Projection:
    """Return the two principal components of vectors (rows, dims), the same for the same input.

    The components are eigenvectors of the covariance matrix (Jolliffe, Principal Component Analysis, 2nd edition,
    chapter 1). The smaller one of the matrices (dims, dims) and (rows, rows) is decomposed: both give the same.
    """
    rows = len(vectors)
    places = np.zeros((rows, 2), dtype=np.float32)
    if rows < 2:
        return Projection(places, (0.0, 0.0))
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    total = float(np.square(centred).sum())
    if total <= np.finfo(np.float32).eps * rows:
        return Projection(places, (0.0, 0.0))
    if centred.shape[1] <= rows:
        values, axes = np.linalg.eigh(centred.T @ centred)
        found = centred @ axes[:, ::-1][:, :2]
    else:
        values, axes = np.linalg.eigh(centred @ centred.T)
        found = axes[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    count = found.shape[1]
    # An eigenvector may point either way: its largest coordinate is made positive.
    found *= np.where(found[np.abs(found).argmax(axis=0), range(count)] < 0, -1.0, 1.0)
    places[:, :count] = found / np.abs(found).max()
    shares = [min(max(float(value) / total, 0.0), 1.0) for value in values[::-1][:2]]
    return Projection(places, (shares[0], shares[1] if count > 1 else 0.0))


def group(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int64], list[int]]:
    """Return the group of each vector (rows, dims), the largest group first, and the row nearest to each centre.

    k-means with the seeds of k-means++ (Arthur and Vassilvitskii, 2007), from a fixed random state. The number of
    groups grows with the square root of half the rows, up to `MOST_GROUPS`.
    """
    rows = len(vectors)
    if not rows:
        return np.zeros(0, dtype=np.int64), []
    centres = _first_centres(vectors, min(MOST_GROUPS, max(1, round((rows / 2) ** 0.5))))
    groups = np.full(rows, -1, dtype=np.int64)
    for _ in range(ROUNDS):
        nearest = _distances(vectors, centres).argmin(axis=1)
        if np.array_equal(nearest, groups):
            break
        groups = nearest
        for number in np.unique(groups):
            centres[number] = vectors[groups == number].mean(axis=0)
    distances = _distances(vectors, centres)
    kept, sizes = np.unique(groups, return_counts=True)
    order = kept[np.argsort(-sizes, kind="stable")]
    ranks = np.zeros(len(centres), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    middles = [int(np.where(groups == number, distances[:, number], np.inf).argmin()) for number in order]
    return ranks[groups], middles


def _first_centres(vectors: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    random = np.random.default_rng(0)
    chosen = [int(random.integers(len(vectors)))]
    left = _distances(vectors, vectors[chosen])[:, 0]
    while len(chosen) < count and left.sum() > np.finfo(np.float32).eps:
        chosen.append(int(random.choice(len(vectors), p=left / left.sum())))
        left = np.minimum(left, _distances(vectors, vectors[chosen[-1:]])[:, 0])
    return vectors[chosen].astype(np.float32)


def _distances(vectors: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return squared distances (rows, centres)."""
    squares = np.square(vectors).sum(axis=1)[:, None] + np.square(centres).sum(axis=1)[None]
    return np.maximum(squares - 2.0 * (vectors @ centres.T), 0.0).astype(np.float64)


def near_duplicates(vectors: NDArray[np.float32], similarity: float) -> list[tuple[list[int], float]]:
    """Return the rows of vectors (rows, dims) that pairs with at least this cosine connect, the largest set first.

    Each set has the lowest cosine of its pairs with at least `similarity`, which is above 0. Zero vectors are in none.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    parents = list(range(len(unit)))
    lowest = dict[int, float]()

    def root(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    for start in range(0, len(unit), BLOCK):
        cosines = unit[start : start + BLOCK] @ unit[start:].T
        for first, second in np.argwhere(np.triu(cosines >= similarity, 1)).tolist():
            one = root(start + first)
            other = root(start + second)
            found = min(float(cosines[first, second]), lowest.pop(one, 1.0), lowest.pop(other, 1.0))
            parents[max(one, other)] = min(one, other)
            lowest[min(one, other)] = found
    members = dict[int, list[int]]()
    for row in range(len(unit)):
        if (first := root(row)) in lowest:
            members.setdefault(first, []).append(row)
    sets = [(rows, lowest[first]) for first, rows in members.items()]
    return sorted(sets, key=lambda each: (-len(each[0]), each[0]))
