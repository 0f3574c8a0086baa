"""Stored vectors with their checksums: those of chunks in full precision, those of items alone in the short form."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from zlib import crc32

from memoriter.short_vectors import full_bytes, read_stored, short_bytes, shorten
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray


def encode(keys: Sequence[bytes], rows: NDArray[np.float32], short: Collection[bytes]) -> tuple[list[bytes], list[int]]:
    """Return vectors as they are stored, those with a key in `short` in the short form, and their checksums."""
    import numpy as np

    full = np.ascontiguousarray(rows, dtype="<f4").view(np.uint8)
    blobs = list(map(bytes, full))
    sums = vector_sums(keys, full)
    if places := [place for place, key in enumerate(keys) if key in short]:
        shortened = shorten(rows[places])
        shortened_sums = vector_sums([keys[place] for place in places], shortened)
        for place, blob, total in zip(places, shortened, shortened_sums, strict=True):
            blobs[place] = bytes(blob)
            sums[place] = total
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
    different = set(sizes)
    if len(different) == 1:
        return _decode_equal(keys, blobs, sizes[0], dimensions)
    rows = np.empty((len(blobs), dimensions), dtype=np.float32)
    sums = [0] * len(blobs)
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
    return Decoded(read_stored(stored, dimensions), vector_sums(keys, stored))


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
