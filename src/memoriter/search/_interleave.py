"""Balance of the hits between kinds of sources: neither notes nor transcripts take all places."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

SHARE = 3
"""A kind that has hits gets at least one place in this many."""
_T = TypeVar("_T")


def interleave(ranked: Sequence[_T], kinds: Sequence[Hashable], limit: int) -> list[_T]:
    """Return the first `limit` items, in order, with at least a share for each kind that has items.

    Args:
        ranked: items, best first.
        kinds: kind of each item.
        limit: number of items; 0 or less returns an empty list.
    """
    if limit <= 0:
        return []
    share = max(1, limit // SHARE)
    positions = {
        kind: [position for position, item_kind in enumerate(kinds) if item_kind == kind]
        for kind in dict.fromkeys(kinds)
    }
    reserved = (
        {0, *(position for of_kind in positions.values() for position in of_kind[:share])} if ranked else set[int]()
    )
    if len(reserved) > limit:
        reserved = set(sorted(reserved)[:limit])
    rest = (position for position in range(len(ranked)) if position not in reserved)
    chosen = sorted([*reserved, *(position for position, _ in zip(rest, range(limit - len(reserved)), strict=False))])
    return [ranked[position] for position in chosen]
