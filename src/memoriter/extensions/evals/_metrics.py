"""Metrics of the quality of rankings, and of how well scores separate two classes, and tables of them in Markdown."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import log2
from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 2_000
"""Samples of the bootstrap."""
AUC_RESAMPLES = 500
SEED = 7
"""Seed of the bootstrap, so that the same results always have the same intervals."""

Cell = str | float | int | None


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
class Estimate:
    """A figure with the 95 % interval of its bootstrap."""

    value: float
    low: float
    high: float
    n: int
    """Number of questions that the figure is of."""


def estimate(counted: Sequence[float], among: Sequence[float] | None = None) -> Estimate | None:
    """Return a mean, or a ratio of two sums, with its percentile bootstrap interval (Efron 1979) over questions.

    Args:
        counted: a value of each question. For a paired comparison, the difference of two systems.
        among: what the sum of the values is divided by, of each question; None: 1.

    Returns:
        None if there are no questions, or the second sum is 0.
    """
    import numpy as np

    weights = np.ones(len(counted)) if among is None else np.asarray(among, dtype=float)
    values = np.asarray(counted, dtype=float)
    if not weights.sum():
        return None
    drawn = _draws(len(values), RESAMPLES)
    totals = weights[drawn].sum(axis=1)
    ratios = values[drawn].sum(axis=1)[totals > 0] / totals[totals > 0]
    low, high = np.percentile(ratios, (2.5, 97.5))
    return Estimate(float(values.sum() / weights.sum()), float(low), float(high), int(np.count_nonzero(weights)))


def estimate_auc(high: Sequence[float], low: Sequence[float]) -> Estimate | None:
    """Return `auc` with its percentile bootstrap interval, or None if either sequence is empty."""
    import numpy as np

    value = auc(high, low)
    if value is None:
        return None
    drawn = zip(_draws(len(high), AUC_RESAMPLES).tolist(), _draws(len(low), AUC_RESAMPLES).tolist(), strict=True)
    values = [auc(_taken(high, one), _taken(low, other)) or 0.0 for one, other in drawn]
    lower, upper = np.percentile(values, (2.5, 97.5))
    return Estimate(value, float(lower), float(upper), len(high) + len(low))


def _taken(values: Sequence[float], positions: Sequence[int]) -> list[float]:
    return [values[position] for position in positions]


def _draws(count: int, times: int) -> NDArray[np.int64]:
    """Return the positions of `times` samples with replacement, (times, count)."""
    import numpy as np

    return np.random.default_rng((SEED, count)).integers(0, count, (times, count))


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


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a title; the first column is text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def lines(self) -> list[str]:
        """Return the table in Markdown, with each column padded to its width."""
        texts = [list(self.columns), *([_format_cell(cell) for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        head, *body = (_format_row(row, widths) for row in texts)
        rule = "|".join(("", "-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:]), ""))
        return [f"**{self.title}**", "", head, rule, *body, ""]


def _format_cell(cell: Cell) -> str:
    """Format shares with three places and no leading zero, counts unchanged, and None as a dash."""
    match cell:
        case None:
            return "-"
        case float():
            text = f"{cell:.3f}"
            return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
        case int() | str():
            return str(cell)


def _format_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join((first, *others))} |"


def estimate_cells(each: Estimate | None) -> tuple[float | None, float | None, float | None]:
    """Return the cells of a figure: its value and the ends of its interval, or None three times."""
    return (each.value, each.low, each.high) if each else (None, None, None)
