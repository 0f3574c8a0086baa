"""1-bit codes of vectors: on which side of the corpus' mean each dimension lies, and what that tells of a cosine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

WORD = 64
"""Dimensions in one column of codes."""
_BLOCK = 32 * 1024
"""Codes compared at a time: what is computed of them stays in the processor's cache."""
_FAR = 1 << 15
"""More than any two codes can differ."""


def columns(dimensions: int) -> int:
    """How many 64-bit words a code has."""
    return -(-dimensions // WORD)


def encode(rows: NDArray[np.float32], means: NDArray[np.float32]) -> tuple[NDArray[np.uint64], NDArray[np.float16]]:
    """Codes by column, (words, n), and two numbers for each row, (2, n), from which `estimates` tells cosines.

    With m the means, r = row - m and s the signs of r, r is estimated as f·s, f = |r|²/Σ|r_i|, which is right on
    average (RaBitQ, Gao and Long, 2024); the numbers are f and m·r, known from |row| = 1.
    """
    import numpy as np

    rests = rows - means
    squares = np.einsum("ij,ij->i", rests, rests)
    sums = np.abs(rests).sum(axis=1)
    scales = np.divide(squares, sums, out=np.zeros_like(squares), where=sums > 0)
    along = (1 - float(means @ means) - squares) / 2
    return _packed(rests), np.stack([scales, along]).astype("<f2")


def _packed(rests: NDArray[np.float32]) -> NDArray[np.uint64]:
    import numpy as np

    count, dimensions = rests.shape
    padded = np.zeros((count, columns(dimensions) * WORD // 8), dtype=np.uint8)
    packed = np.packbits(rests > 0, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view("<u8").T)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Codes of several groups, in each of which the same distance means something else."""

    numbers: NDArray[np.uint8]
    """The group of each code, (n,)."""
    ranks: NDArray[np.uint16]
    """(groups, dims + 1): what a distance counts for in a group, below 32,768."""

    def ranked(self, start: int, distances: NDArray[np.uint16]) -> NDArray[np.uint16]:
        """What the distances of the codes from `start` on count for."""
        rows, width = self.numbers[start : start + distances.size], self.ranks.shape[1]
        flat: NDArray[np.uint16] = self.ranks.ravel()
        return flat[rows.astype("<u4") * width + distances]


def nearest(
    codes: NDArray[np.uint64],
    excluded: NDArray[np.bool_] | None,
    rest: NDArray[np.float32],
    count: int,
    groups: Groups | None = None,
) -> NDArray[np.intp]:
    """Positions of the `count` codes that differ least from that of a centred query, ascending; the first of equals."""
    import numpy as np

    query, ones = _packed(rest.reshape(1, -1))[:, 0], _counter()
    total, bound = codes.shape[1], _FAR
    places, distances = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.uint16)
    for start in range(0, total, _BLOCK):
        stop = min(start + _BLOCK, total)
        block = _distances(codes[:, start:stop], query, ones)
        if groups is not None:
            block = groups.ranked(start, block)
        if excluded is not None:
            block[excluded[start:stop]] = _FAR
        found = np.flatnonzero(block < bound)
        places, distances = np.append(places, found + start), np.append(distances, block[found])
        if places.size > count:
            last = np.partition(distances, count - 1)[count - 1]
            chosen = _first(distances, last, count)
            # What comes later and is only as near as the last one would come after it.
            places, distances, bound = places[chosen], distances[chosen], int(last)
    return places


def _first(distances: NDArray[np.uint16], last: int, count: int) -> NDArray[np.intp]:
    """Positions of the `count` smallest, the largest of which is `last`, ascending."""
    import numpy as np

    nearer, equal = np.flatnonzero(distances < last), np.flatnonzero(distances == last)
    return np.sort(np.append(nearer, equal[: count - nearer.size]))


def _distances(
    codes: NDArray[np.uint64], query: NDArray[np.uint64], ones: Callable[[NDArray[np.uint64]], NDArray[np.uint8]]
) -> NDArray[np.uint16]:
    import numpy as np

    sums = np.zeros(codes.shape[1], dtype=np.uint16)
    # Three words differ in 192 bits at most: their sum fits into a byte, which is the fastest to add.
    for first in range(0, len(codes), 3):
        part = ones(codes[first] ^ query[first])
        for word in range(first + 1, min(first + 3, len(codes))):
            part += ones(codes[word] ^ query[word])
        sums += part
    return sums


def _counter() -> Callable[[NDArray[np.uint64]], NDArray[np.uint8]]:
    """Counts the bits that are set in each word."""
    import numpy as np

    known: Callable[[NDArray[np.uint64]], NDArray[np.uint8]] | None = getattr(np, "bitwise_count", None)
    return known or _looked_up


def _looked_up(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The same where NumPy is older than 2."""
    import numpy as np

    table = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
    return table[np.ascontiguousarray(words).view(np.uint8)].reshape(-1, 8).sum(axis=1, dtype=np.uint8)


def estimates(
    codes: NDArray[np.uint64], factors: NDArray[np.float16], rest: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Cosines with the query whose centred vector is `rest`, (n,), up to a constant and a small error."""
    import numpy as np

    padded = np.zeros(codes.shape[0] * WORD, dtype=np.float32)
    padded[: rest.size] = rest
    # What each value of each byte of a code adds: eight times fewer look-ups than there are bits.
    sums = padded.reshape(-1, 8) @ _byte_bits().T
    sides = np.zeros(codes.shape[1], dtype=np.float32)
    for column, values in enumerate(np.ascontiguousarray(codes)):
        parts = values.view(np.uint8).reshape(-1, 8)
        for place in range(8):
            sides += sums[8 * column + place].take(parts[:, place])
    scales, along = factors.astype(np.float32)
    return along + scales * (2 * sides - rest.sum())


@cache
def _byte_bits() -> NDArray[np.float32]:
    """The bits of every byte, the lowest first, (256, 8)."""
    import numpy as np

    return np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float32)


def mean_factors(factors: NDArray[np.float16], numbers: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The means over the codes of each group of the two numbers that `encode` gives, (2, groups)."""
    import numpy as np

    counts = np.maximum(np.bincount(numbers), 1)
    return np.stack([np.bincount(numbers, weights=each) / counts for each in factors])


def expected(means: NDArray[np.float64], rest: NDArray[np.float32]) -> NDArray[np.float64]:
    """What `estimates` gives on average at each distance in each group, (groups, dims + 1), from `mean_factors`."""
    import numpy as np

    scales, along = means[:, :, None]
    agreeing = 1 - 2 * np.arange(rest.size + 1) / rest.size
    return along + scales * float(np.abs(rest).sum()) * agreeing


def ranks(scores: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Scores as distances: 0 for the highest, evenly from there, below `_FAR`."""
    import numpy as np

    highest = scores.max(initial=-np.inf)
    span = max(float(highest - scores.min(initial=np.inf)), 1e-9)
    return ((highest - scores) * ((_FAR - 1) / span)).astype(np.uint16)
