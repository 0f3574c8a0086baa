"""Maximal marginal relevance (Carbonell and Goldstein 1998): fewer repetitions among the hits. Off by default."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from collections.abc import Set as AbstractSet

_ASCII_WORD = re.compile(r"[a-z0-9_]+")


def jaccard(left: AbstractSet[Hashable], right: AbstractSet[Hashable]) -> float:
    """Shared members over all members, 0..1; two empty sets are equal."""
    if not left and not right:
        return 1.0
    return len(left & right) / len(left | right)


def mmr_score(relevance: float, similarity: float, lambda_: float) -> float:
    """λ·relevance − (1 − λ)·similarity."""
    return lambda_ * relevance - (1 - lambda_) * similarity


def mmr_order(scores: Sequence[float], contents: Sequence[AbstractSet[Hashable]], *, lambda_: float) -> list[int]:
    """Positions in the order of greedy MMR over scores stretched to 0..1; λ is clamped to 0..1, 1 means by score."""
    lambda_ = min(max(lambda_, 0.0), 1.0)
    left = sorted(range(len(scores)), key=lambda i: -scores[i]) if lambda_ == 1 else list(range(len(scores)))
    if lambda_ == 1 or len(left) <= 1:
        return left
    relevance = _normalize(scores)
    nearest = [0.0] * len(scores)
    order: list[int] = []
    while left:
        best = max(left, key=lambda i: (mmr_score(relevance[i], nearest[i], lambda_), scores[i]))
        left.remove(best)
        order.append(best)
        for i in left:
            nearest[i] = max(nearest[i], jaccard(contents[i], contents[best]))
    return order


def classic_tokens(text: str) -> frozenset[str]:
    """The words that OpenClaw compares: ASCII letters, digits and underscores only."""
    return frozenset(_ASCII_WORD.findall(text.lower()))


def _normalize(scores: Sequence[float]) -> list[float]:
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
