"""Packed term counts of a chunk, from which it is scored without reading its text again.

Layout: n little-endian uint32 hashes in ascending order, then n bytes of counts (255 means 255 or more).
"""

from __future__ import annotations

import sys
import zlib
from array import array
from bisect import bisect_right
from collections import Counter
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@lru_cache(maxsize=65_536)
def term_hash(term: str) -> int:
    """Return the CRC-32 of the term. With a few hundred terms in a chunk, one in ten million lookups is wrong."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def pack(terms: Iterable[str]) -> bytes:
    """Return the packed counts of a text's terms."""
    counts: Counter[int] = Counter(map(term_hash, terms))
    hashes = array("I", sorted(counts))
    tail = bytes(min(counts[key], 255) for key in hashes)
    if sys.byteorder == "big":
        hashes.byteswap()
    return hashes.tobytes() + tail


def needle(term: str) -> bytes:
    """Return the term's hash in the byte order of packed counts."""
    return term_hash(term).to_bytes(4, "little")


def occurrences(term_counts: Sequence[bytes], needles: Sequence[bytes]) -> dict[int, dict[int, int]]:
    """Count the terms in each chunk. All chunks are searched as one string, because a query reads hundreds of them.

    Args:
        term_counts: packed term counts of each chunk.
        needles: the terms, each from `needle`.

    Returns:
        For each chunk that contains a term, by the chunk's position: the counts of the terms that it contains, at most
        255, by the term's position in ascending order.
    """
    sizes = [len(chunk_counts) // 5 * 4 for chunk_counts in term_counts]
    starts = list(accumulate(sizes, initial=0))
    hashes = b"".join([chunk_counts[:size] for chunk_counts, size in zip(term_counts, sizes, strict=True)])
    counts_by_chunk: dict[int, dict[int, int]] = {}
    for term, hash_bytes in enumerate(needles):
        offset = hashes.find(hash_bytes)
        while offset >= 0:
            if offset & 3 == 0:  # Parts of two adjacent hashes may equal a third.
                chunk = bisect_right(starts, offset) - 1
                count = term_counts[chunk][sizes[chunk] + (offset - starts[chunk]) // 4]
                counts_by_chunk.setdefault(chunk, {})[term] = count
            offset = hashes.find(hash_bytes, offset + 1)
    return counts_by_chunk


def members(term_counts: bytes) -> frozenset[int]:
    """Return the hashes of the terms in packed counts."""
    keys = array("I", term_counts[: len(term_counts) // 5 * 4])
    if sys.byteorder == "big":
        keys.byteswap()
    return frozenset(keys)
