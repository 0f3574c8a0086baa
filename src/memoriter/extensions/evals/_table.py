"""Tables of figures in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.extensions.evals._metrics import Estimate

Cell = str | float | int | None


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
