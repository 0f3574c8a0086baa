"""How good a ranking is, and how well scores tell two kinds apart: pure functions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def ndcg(ranking: Sequence[str], relevant: Collection[str], *, at: int = 10) -> float:
    """Normalised discounted cumulative gain, 0..1, of binary relevance; 0 when nothing is relevant.

    The gain of place r (from 1) is 1 / log2(r + 1), and 1 is the best order there could be: Järvelin and Kekäläinen
    2002, "Cumulated gain-based evaluation of IR techniques", with the discount of Burges et al. 2005.
    """
    wanted = set(relevant)
    best = sum(1 / log2(place + 1) for place in range(1, min(at, len(wanted)) + 1))
    gain = sum(1 / log2(place + 1) for place, item in enumerate(_distinct(ranking)[:at], start=1) if item in wanted)
    return gain / best if wanted and at > 0 else 0.0


def recall(ranking: Sequence[str], relevant: Collection[str], *, at: int) -> float:
    """Share of the relevant that is among the first `at`, 0..1; 0 when nothing is relevant."""
    wanted = set(relevant)
    return len(wanted.intersection(_distinct(ranking)[:at])) / len(wanted) if wanted else 0.0


def reciprocal_rank(ranking: Sequence[str], relevant: Collection[str]) -> float:
    """1 / the place of the first relevant item, 0 without one; its mean is MRR (Voorhees 1999, TREC-8)."""
    wanted = set(relevant)
    places = (place for place, item in enumerate(_distinct(ranking), start=1) if item in wanted)
    return 1 / first if (first := next(places, None)) else 0.0


def auc(high: Sequence[float], low: Sequence[float]) -> float | None:
    """How probable it is that one of `high` is over one of `low`, ties counting half: the area under the ROC curve.

    .5 when both are alike, 1 when a threshold tells them apart; the Mann-Whitney U over the number of pairs (Hanley and
    McNeil 1982). None when either is empty.
    """
    if not high or not low:
        return None
    ordered = sorted(low)
    over = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in high)
    return over / (2 * len(high) * len(low))


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over a number of questions."""

    questions: int
    ndcg_10: float
    recall_5: float
    recall_10: float
    mrr: float


def quality(rankings: Sequence[tuple[Sequence[str], Collection[str]]]) -> Quality:
    """The means over (what was found, best first; what is relevant)."""
    return Quality(
        questions=len(rankings),
        ndcg_10=mean([ndcg(found, wanted) for found, wanted in rankings]),
        recall_5=mean([recall(found, wanted, at=5) for found, wanted in rankings]),
        recall_10=mean([recall(found, wanted, at=10) for found, wanted in rankings]),
        mrr=mean([reciprocal_rank(found[:10], wanted) for found, wanted in rankings]),
    )


def _distinct(ranking: Sequence[str]) -> list[str]:
    """Each item once, at its best place: naming it again earns nothing."""
    return list(dict.fromkeys(ranking))
