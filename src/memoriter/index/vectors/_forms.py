"""The forms in which vectors are stored: those of chunks in full precision, those of items alone as 11-bit integers.

The short form takes a third of the bytes and changes a cosine by less than 0.001. It has no scale, because all vectors
have length 1.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from zlib import crc32

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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


def encode(keys: Sequence[bytes], rows: NDArray[np.float32], short: Collection[bytes]) -> tuple[list[bytes], list[int]]:
    """Return vectors as they are stored, those with a key in `short` in the short form, and their checksums."""
    import numpy as np

    full = np.ascontiguousarray(rows, dtype="<f4").view(np.uint8)
    blobs, sums = list(map(bytes, full)), vector_sums(keys, full)
    if places := [place for place, key in enumerate(keys) if key in short]:
        shortened = shorten(rows[places])
        for place, blob, total in zip(
            places, shortened, vector_sums([keys[place] for place in places], shortened), strict=True
        ):
            blobs[place], sums[place] = bytes(blob), total
    return blobs, sums


@dataclass(frozen=True, slots=True)
class Decoded:
    """Stored vectors as they are compared."""

    rows: NDArray[np.float32]
    """(n, dims)."""
    sums: list[int]
    """The checksum of each vector and its key."""


def decode(keys: Sequence[bytes], blobs: Sequence[bytes], dimensions: int) -> Decoded:
    """Return stored vectors and their checksums. Each has the length of one of the two forms."""
    import numpy as np

    sizes = list(map(len, blobs))
    if len(different := set(sizes)) == 1:
        return _decode_equal(keys, blobs, sizes[0], dimensions)
    rows, sums = np.empty((len(blobs), dimensions), dtype=np.float32), [0] * len(blobs)
    for size in different:
        places = [place for place, each in enumerate(sizes) if each == size]
        part = _decode_equal([keys[place] for place in places], [blobs[place] for place in places], size, dimensions)
        rows[places] = part.rows
        for place, total in zip(places, part.sums, strict=True):
            sums[place] = total
    return Decoded(rows, sums)


def _decode_equal(keys: Sequence[bytes], blobs: Sequence[bytes], size: int, dimensions: int) -> Decoded:
    """Return stored vectors of one form and their checksums."""
    import numpy as np

    stored = np.frombuffer(b"".join(blobs), dtype=np.uint8).reshape(len(blobs), size)
    rows = stored.view("<f4") if size == full_bytes(dimensions) else _lengthen(stored, dimensions)
    return Decoded(rows, vector_sums(keys, stored))


def known_sizes(dimensions: int) -> set[int]:
    """Return the bytes that a sound vector has in either form."""
    return {full_bytes(dimensions), short_bytes(dimensions)}


def vector_sums(keys: Sequence[bytes], blobs: NDArray[np.uint8]) -> list[int]:
    """Return a checksum for each vector and its key; a change of any single bit changes it.

    Args:
        keys: n keys under which the vectors are stored.
        blobs: the stored bytes, (n, bytes), a multiple of four for each.
    """
    import numpy as np

    words = blobs.view("<u4")
    sums = (words * _weights(words.shape[1])).sum(axis=1, dtype=np.uint32)
    mixed = sums ^ np.fromiter(map(crc32, keys), dtype=np.uint32, count=len(keys))
    return mixed.tolist()


@cache
def _weights(words: int) -> NDArray[np.uint32]:
    """Return odd numbers, so that no bit of a word is lost in the product."""
    import numpy as np

    places = np.arange(1, words + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (places >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
