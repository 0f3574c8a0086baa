"""Metrics of the quality of rankings, and of how well scores separate two classes: pure functions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import log2
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def ndcg(ranking: Sequence[str], relevant: Collection[str], *, at: int = 10) -> float:
    """Return the normalised discounted cumulative gain, 0..1, for binary relevance; 0 without relevant items.

    The gain of place r (from 1) is 1 / log2(r + 1), and 1 is the value of the best order: Järvelin and Kekäläinen 2002,
    "Cumulated gain-based evaluation of IR techniques", with the discount of Burges et al. 2005.
    """
    relevant_items = set(relevant)
    best = sum(1 / log2(place + 1) for place in range(1, min(at, len(relevant_items)) + 1))
    gain = sum(
        1 / log2(place + 1) for place, item in enumerate(_distinct(ranking)[:at], start=1) if item in relevant_items
    )
    return gain / best if relevant_items and at > 0 else 0.0


def recall(ranking: Sequence[str], relevant: Collection[str], *, at: int) -> float:
    """Return the share of the relevant items that are among the first `at`, 0..1; 0 without relevant items."""
    relevant_items = set(relevant)
    return len(relevant_items.intersection(_distinct(ranking)[:at])) / len(relevant_items) if relevant_items else 0.0


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """Return 1 / the place of the first relevant item, 0 without one; its mean is MRR (Voorhees 1999, TREC-8)."""
    relevant_items = set(relevant)
    places = (place for place, item in enumerate(_distinct(ranking), start=1) if item in relevant_items)
    return 1 / first if (first := next(places, None)) else 0.0


def auc(high: Sequence[float], low: Sequence[float]) -> float | None:
    """Return the probability that a score of `high` exceeds one of `low`: the area under the ROC curve.

    Ties count half. The value is .5 if both are distributed alike, and 1 if a threshold separates them. It is the
    Mann-Whitney U over the number of pairs (Hanley and McNeil 1982), and None if either sequence is empty.
    """
    if not high or not low:
        return None
    ordered = sorted(low)
    over = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in high)
    return over / (2 * len(high) * len(low))


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean, 0 for an empty sequence."""
    return sum(values) / len(values) if values else 0.0


@dataclass(frozen=True, slots=True)
class Quality:
    """Mean metrics of a number of questions."""

    questions: int
    ndcg_10: float
    recall_5: float
    recall_10: float
    mrr: float


def quality(rankings: Sequence[tuple[Sequence[str], Collection[str]]]) -> Quality:
    """Return the mean metrics over pairs of a ranking, best first, and its relevant items."""
    return Quality(
        questions=len(rankings),
        ndcg_10=mean([ndcg(ranking, relevant) for ranking, relevant in rankings]),
        recall_5=mean([recall(ranking, relevant, at=5) for ranking, relevant in rankings]),
        recall_10=mean([recall(ranking, relevant, at=10) for ranking, relevant in rankings]),
        mrr=mean([reciprocal_rank(ranking[:10], relevant) for ranking, relevant in rankings]),
    )


def _distinct(ranking: Sequence[str]) -> list[str]:
    """Return each item once, at its best place, so that repetitions gain nothing."""
    return list(dict.fromkeys(ranking))
