"""Scores of QMD on one scale. What QMD prints differs in meaning from command to command; see docs/openclaw.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.extensions.qmd._values import Ranking

ALL_WORDS = (0.5, 1.0)
"""Lowest and highest score of a document with all words of the query."""
SEVERAL_LISTS = (0.4, 0.9)
ANY_WORD = (0.35, 0.6)


def mapped_scores(raw: Sequence[float], ranking: Ranking) -> list[float]:
    """Return scores in 0..1 in the same order.

    BM25 as QMD prints it depends on the number of files, and is 0 for the only file. So a document with all words
    scores at least 0.5, and the best one 1. Where QMD prints 1 / rank, the scale ends lower, because the first document
    is first even if it fits badly.

    Args:
        raw: the scores of one answer as QMD printed them, best first.
        ranking: what they mean.
    """
    best = max(raw, default=0.0)
    relative = [score / best if best > 0 else 1 / rank for rank, score in enumerate(raw, 1)]
    match ranking:
        case "words":
            return [_between(ALL_WORDS, share) for share in relative]
        case "any_word":
            return [_between(ANY_WORD, share) for share in relative]
        case "fused":
            return [_between(SEVERAL_LISTS, share) for share in relative]
        case "meaning" | "reranked":
            return [min(1.0, max(0.0, score)) for score in raw]
        case _:
            assert_never(ranking)


def _between(ends: tuple[float, float], share: float) -> float:
    low, high = ends
    return low + (high - low) * min(1.0, max(0.0, share))
