"""Vectors of length 1 in the two forms in which stores keep them: in full precision, and as 11-bit integers.

The short form takes a third of the bytes and changes a cosine by less than 0.001. It has no scale, because all vectors
have length 1. Stores keep vectors that only items use in the short form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LOW_BITS = 3
"""Bits of each integer that are stored apart from the upper eight, which are one signed byte."""
_LARGEST = 1023
"""The largest of the integers, -1023..1023."""
_WORD_BYTES = 4


def full_bytes(dimensions: int) -> int:
    """Return the bytes of a vector in full precision: float32, little endian."""
    return 4 * dimensions


def short_bytes(dimensions: int) -> int:
    """Return the bytes of a vector in the short form, or of one in full precision if that is not longer.

    The short form has a byte with the upper eight bits of each integer, three rows with one bit of each, and padding to
    whole words.
    """
    used = dimensions + _LOW_BITS * _bit_row(dimensions)
    return min(-(-used // _WORD_BYTES) * _WORD_BYTES, full_bytes(dimensions))


def _bit_row(dimensions: int) -> int:
    """Return the bytes that hold one bit of each dimension."""
    return -(-dimensions // 8)


def shorten(rows: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return vectors of shape (n, dims) in the short form, (n, bytes)."""
    import numpy as np

    count, dimensions = rows.shape
    size = short_bytes(dimensions)
    if size == full_bytes(dimensions):
        return np.ascontiguousarray(rows, dtype="<f4").view(np.uint8)
    integers = np.rint(rows * (_LARGEST / np.abs(rows).max(axis=1, keepdims=True))).astype(np.int16)
    bits = (integers[:, None, :] >> np.arange(_LOW_BITS - 1, -1, -1)[None, :, None]) & 1
    blobs = np.zeros((count, size), dtype=np.uint8)
    blobs[:, :dimensions] = (integers >> _LOW_BITS).astype(np.int8).view(np.uint8)
    packed = np.packbits(bits.astype(np.uint8), axis=2).reshape(count, -1)
    blobs[:, dimensions : dimensions + packed.shape[1]] = packed
    return blobs


def read_stored(stored: NDArray[np.uint8], dimensions: int) -> NDArray[np.float32]:
    """Return vectors in either form, (n, bytes), as rows of length 1, (n, dims)."""
    return stored.view("<f4") if stored.shape[1] == full_bytes(dimensions) else _lengthen(stored, dimensions)


def _lengthen(blobs: NDArray[np.uint8], dimensions: int) -> NDArray[np.float32]:
    """Return vectors in the short form, (n, bytes), as rows of length 1, (n, dims)."""
    import numpy as np

    end = dimensions + _LOW_BITS * _bit_row(dimensions)
    planes = np.unpackbits(blobs[:, dimensions:end].reshape(len(blobs), _LOW_BITS, -1), axis=2, count=dimensions)
    low = planes[:, 0]
    for place in range(1, _LOW_BITS):
        low = low + low + planes[:, place]
    rows = blobs[:, :dimensions].view(np.int8).astype(np.float32)
    rows *= 1 << _LOW_BITS
    rows += low
    with np.errstate(invalid="ignore"):  # damaged bytes may all be 0; their checksum tells
        rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return rows
