"""Checksums of stored vectors and codes, which detect any change since they were written."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from zlib import crc32

from memoriter.errors import IndexDamaged
from memoriter.index._errors import REBUILD

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


class BrokenVectors(IndexDamaged):
    """Some stored vectors do not match their checksums; without them the index is sound."""

    def __init__(self, ids: Sequence[int]) -> None:
        """Take the ids of the vectors in `embedding_cache`."""
        super().__init__(f"The index holds {len(ids)} damaged vectors", remedy=REBUILD)
        self.ids = tuple(ids)


class BrokenCodes(IndexDamaged):
    """Some stored codes do not match their checksums; they can be made again from the vectors."""

    def __init__(self) -> None:
        """Create the error."""
        super().__init__("The index holds damaged codes", remedy=REBUILD)


def vector_sums(keys: Sequence[bytes], rows: NDArray[np.float32]) -> list[int]:
    """Return a checksum for each vector and its key; a change of any single bit changes it.

    Args:
        keys: n keys under which the vectors are stored.
        rows: (n, dims), float32.
    """
    import numpy as np

    bits = rows.astype("<f4", copy=False).view("<u4")
    sums = (bits * _weights(rows.shape[1])).sum(axis=1, dtype=np.uint32)
    mixed = sums ^ np.fromiter(map(crc32, keys), dtype=np.uint32, count=len(keys))
    return mixed.tolist()


def blob_sum(blobs: Sequence[bytes]) -> int:
    """Return one checksum of all blobs, in order."""
    total = 0
    for blob in blobs:
        total = crc32(blob, total)
    return total


@cache
def _weights(dimensions: int) -> NDArray[np.uint32]:
    """Return odd numbers, so that no bit of a component is lost in the product."""
    import numpy as np

    places = np.arange(1, dimensions + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (places >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
