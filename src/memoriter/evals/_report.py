"""Reports that compare ranking methods on the sets: tables, and the same as plain values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memoriter.evals._table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.evals._run import DatasetResult, SystemResult

_COLUMNS = ("nDCG@10", "recall@5", "recall@10", "MRR", "AUC removed", "AUC elsewhere")


def system_table(result: DatasetResult) -> Table:
    """Return the table with one row for each ranking method."""
    rows = tuple((system.system, *_figures(system)) for system in result.systems)
    questions = result.ours.quality.questions
    title = f"{result.name}: {questions} questions, {result.documents} documents"
    return Table(title, ("system", *_COLUMNS), rows)


def kinds_table(result: DatasetResult) -> Table | None:
    """Return nDCG@10 and recall@10 by type of question, or None if the questions have no types."""
    kinds = result.ours.by_kind
    if not kinds:
        return None
    columns = [name for system in result.systems for name in (f"{system.system} nDCG@10", "recall@10")]
    rows = [
        (
            kind,
            kinds[kind].questions,
            *(value for system in result.systems for value in _kind_figures(system, kind)),
        )
        for kind in kinds
    ]
    return Table(f"{result.name} by type", ("type", "n", *columns), tuple(rows))


def values(results: Sequence[DatasetResult]) -> dict[str, Any]:
    """Return the results as JSON values."""
    return {"sets": [asdict(result) for result in results]}


def _figures(system: SystemResult) -> tuple[float | None, ...]:
    quality = system.quality
    return (
        quality.ndcg_10,
        quality.recall_5,
        quality.recall_10,
        quality.mrr,
        system.auc_removed,
        system.auc_elsewhere,
    )


def _kind_figures(system: SystemResult, kind: str) -> tuple[float, float]:
    return system.by_kind[kind].ndcg_10, system.by_kind[kind].recall_10
