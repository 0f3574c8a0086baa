"""A chunk's terms, packed: how often each occurs, to score it without reading its text again.

Layout: n little-endian uint32 hashes in rising order, then n bytes of counts (255 means 255 or more).
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


def occurrences(bags: Sequence[bytes], needles: Sequence[bytes]) -> dict[int, dict[int, int]]:
    """For each bag that holds any of the terms, by its position: how often each term that it holds occurs, at most 255.

    Terms are named by their position too, in rising order. All bags are searched as one string, since a question looks
    at hundreds of them.
    """
    sizes = [len(bag) // 5 * 4 for bag in bags]
    starts = list(accumulate(sizes, initial=0))
    hashes = b"".join([bag[:size] for bag, size in zip(bags, sizes, strict=True)])
    found: dict[int, dict[int, int]] = {}
    for position, wanted in enumerate(needles):
        at = hashes.find(wanted)
        while at >= 0:
            if at & 3 == 0:  # The bytes of two hashes side by side may look like a third.
                place = bisect_right(starts, at) - 1
                count = bags[place][sizes[place] + (at - starts[place]) // 4]
                found.setdefault(place, {})[position] = count
            at = hashes.find(wanted, at + 1)
    return found


def members(bag: bytes) -> frozenset[int]:
    """The hashes of the bag's terms."""
    keys = array("I", bag[: len(bag) // 5 * 4])
    if sys.byteorder == "big":
        keys.byteswap()
    return frozenset(keys)
