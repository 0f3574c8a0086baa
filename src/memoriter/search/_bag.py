"""A chunk's terms, packed: how often each occurs, to score it without reading its text again.

Layout: n little-endian uint32 hashes in rising order, then n bytes of counts (255 means 255 or more).
"""

from __future__ import annotations

import sys
import zlib
from array import array
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def term_hash(term: str) -> int:
    """CRC-32 of the term: with a few hundred terms a chunk, one in ten million lookups errs."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def pack(terms: Iterable[str]) -> bytes:
    """The bag of a text's terms."""
    counts: Counter[int] = Counter(map(term_hash, terms))
    hashes = array("I", sorted(counts))
    tail = bytes(min(counts[key], 255) for key in hashes)
    if sys.byteorder == "big":
        hashes.byteswap()
    return hashes.tobytes() + tail


def count(bag: bytes, hashes: Sequence[int]) -> list[int]:
    """How often each hash occurs in the bag."""
    size = len(bag) // 5
    keys = _keys(bag, size)
    found: list[int] = []
    for wanted in hashes:
        at = bisect_left(keys, wanted)
        found.append(bag[4 * size + at] if at < size and keys[at] == wanted else 0)
    return found


def members(bag: bytes) -> frozenset[int]:
    """The hashes of the bag's terms."""
    return frozenset(_keys(bag, len(bag) // 5))


def _keys(bag: bytes, size: int) -> Sequence[int]:
    if sys.byteorder == "little":
        return memoryview(bag)[: 4 * size].cast("I")
    keys = array("I", bag[: 4 * size])
    keys.byteswap()
    return keys
