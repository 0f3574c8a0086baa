"""Arithmetic on vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SHORTEST = 1e-10
"""Shorter vectors count as zero: they have no meaningful direction."""
_LARGE = 1e100


def normalise(vectors: NDArray[np.floating]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the rows at unit length (L2), and which rows are usable: finite and not zero. Others become zeros."""
    import numpy as np

    wide = np.array(vectors, dtype=np.float64)
    finite: NDArray[np.bool_] = np.all(np.isfinite(wide), axis=1)
    wide[~finite] = 0.0
    # Squares of very large numbers overflow, so rows with such numbers are scaled to -1..1 first.
    peaks = np.abs(wide).max(axis=1, initial=0.0)
    wide /= np.where(peaks > _LARGE, peaks, 1.0)[:, None]
    lengths = np.linalg.norm(wide, axis=1)
    usable = finite & (lengths >= _SHORTEST)
    return (wide / np.where(usable, lengths, np.inf)[:, None]).astype(np.float32), usable


def cosine(left: NDArray[np.floating], right: NDArray[np.floating]) -> float:
    """Return the cosine of the angle between two vectors of the same length, -1..1; 0 if either is zero.

    Raises:
        ValueError: the lengths differ.
    """
    import numpy as np

    left, right = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if left.shape != right.shape:
        raise ValueError(f"vectors of {left.size} and {right.size} dimensions cannot be compared")
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(left @ right) / lengths if lengths else 0.0
