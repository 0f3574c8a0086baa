"""Diversity of the hits: fewer repetitions, and a share for each kind of source.

Repetitions are reduced by maximal marginal relevance (Carbonell and Goldstein 1998), which is off by default.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from collections.abc import Set as AbstractSet

_ASCII_WORD = re.compile(r"[a-z0-9_]+")


def jaccard(left: AbstractSet[Hashable], right: AbstractSet[Hashable]) -> float:
    """Return shared members over all members, 0..1; two empty sets give 1."""
    if not left and not right:
        return 1.0
    return len(left & right) / len(left | right)


def mmr_score(relevance: float, similarity: float, lambda_: float) -> float:
    """Return λ·relevance − (1 − λ)·similarity."""
    return lambda_ * relevance - (1 - lambda_) * similarity


def mmr_order(scores: Sequence[float], contents: Sequence[AbstractSet[Hashable]], *, lambda_: float) -> list[int]:
    """Return positions in the order of greedy MMR.

    Args:
        scores: relevance of each item; they are scaled to 0..1.
        contents: members of each item, compared by `jaccard`.
        lambda_: clamped to 0..1; 1 orders by score.
    """
    lambda_ = min(max(lambda_, 0.0), 1.0)
    remaining = sorted(range(len(scores)), key=lambda i: -scores[i]) if lambda_ == 1 else list(range(len(scores)))
    if lambda_ == 1 or len(remaining) <= 1:
        return remaining
    relevance = _normalize(scores)
    similarity = [0.0] * len(scores)
    order: list[int] = []
    while remaining:
        best = max(remaining, key=lambda i: (mmr_score(relevance[i], similarity[i], lambda_), scores[i]))
        remaining.remove(best)
        order.append(best)
        for i in remaining:
            similarity[i] = max(similarity[i], jaccard(contents[i], contents[best]))
    return order


def classic_tokens(text: str) -> frozenset[str]:
    """Return the words that OpenClaw compares: runs of ASCII letters, digits and underscores, in lower case."""
    return frozenset(_ASCII_WORD.findall(text.lower()))


def _normalize(scores: Sequence[float]) -> list[float]:
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]


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
