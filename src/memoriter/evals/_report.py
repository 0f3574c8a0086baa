"""Reports that compare ranking methods on the sets: Markdown tables, and the same as plain values."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.evals._run import DatasetResult, SystemResult

Cell = str | float | int | None
_COLUMNS = ("nDCG@10", "recall@5", "recall@10", "MRR", "AUC removed", "AUC elsewhere")


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
            return text.removeprefix("0") if text.startswith("0.") else text
        case int() | str():
            return str(cell)


def _format_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join((first, *others))} |"


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
