"""How many of the hits each kind of source may have: transcripts never drown notes, nor vanish behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

SHARE = 3
"""A kind that has hits has at least one in so many."""
_T = TypeVar("_T")


def interleave(ranked: Sequence[_T], kinds: Sequence[Hashable], limit: int) -> list[_T]:
    """The first `limit` items, but of each kind at least its share, as far as it has any; the order stays.

    Args:
        ranked: best first.
        kinds: of each item.
        limit: how many; 0 or less: none.
    """
    if limit <= 0:
        return []
    share = max(1, limit // SHARE)
    places = {kind: [at for at, each in enumerate(kinds) if each == kind] for kind in dict.fromkeys(kinds)}
    sure = {0, *(at for held in places.values() for at in held[:share])} if ranked else set[int]()
    if len(sure) > limit:
        sure = set(sorted(sure)[:limit])
    rest = (at for at in range(len(ranked)) if at not in sure)
    chosen = sorted([*sure, *(at for at, _ in zip(rest, range(limit - len(sure)), strict=False))])
    return [ranked[at] for at in chosen]
