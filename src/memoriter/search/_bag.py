"""A chunk's terms, packed: how often each occurs, to score it without reading its text again.

Layout: n little-endian uint32 hashes in rising order, then n bytes of counts (255 means 255 or more).
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@lru_cache(maxsize=65_536)
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


def needle(term: str) -> bytes:
    """The term's hash as it lies in a bag."""
    return term_hash(term).to_bytes(4, "little")


def count(bag: bytes, needles: Sequence[bytes]) -> list[int]:
    """How often each term occurs in the bag, at most 255."""
    end = len(bag) // 5 * 4
    found: list[int] = []
    for wanted in needles:
        at = bag.find(wanted, 0, end)
        while at & 3 and at > 0:  # The bytes of two hashes side by side may look like a third.
            at = bag.find(wanted, at + 1, end)
        found.append(bag[end + at // 4] if at >= 0 else 0)
    return found


def members(bag: bytes) -> frozenset[int]:
    """The hashes of the bag's terms."""
    keys = array("I", bag[: len(bag) // 5 * 4])
    if sys.byteorder == "big":
        keys.byteswap()
    return frozenset(keys)
