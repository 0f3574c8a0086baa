"""The figures as values, as a table and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SMALLEST_WITH_BUDGET = 1_000
"""Chunks or files. Below this size, fixed costs dominate, and no budget applies."""
_TITLES = ("measure", "size", "p50", "p95", "unit", "budget", "met")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure."""

    name: str
    """`group.measure`."""
    title: str
    size: int
    """Chunks, or files if the title mentions files; 0: the figure does not depend on the size."""
    value: float
    unit: str
    p95: float | None = None
    budget: float | None = None
    """The largest allowed figure, or the smallest one if `more` is better."""
    more: bool = False
    ratio: bool = False
    """Whether the figure compares two measurements of one run, so that it means the same on every machine."""

    @property
    def holds(self) -> bool | None:
        if self.budget is None:
            return None
        return self.value >= self.budget if self.more else self.value <= self.budget

    @property
    def limit(self) -> str:
        return "" if self.budget is None else f"{'>=' if self.more else '<='} {_number(self.budget)}"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}


def table(rows: Iterable[Row]) -> str:
    """Return a table for people."""
    lines = [_TITLES, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_TITLES))]
    lines.insert(1, tuple("-" * width for width in widths))
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    left = {0, 4, 6}
    aligned = (
        cell.ljust(width) if n in left else cell.rjust(width)
        for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(aligned).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    holds = {None: "", True: "yes", False: "NO"}[row.holds]
    size = f"{row.size:,}" if row.size else ""
    p95 = "" if row.p95 is None else _number(row.p95)
    return row.title, size, _number(row.value), p95, row.unit, row.limit, holds


def _number(value: float) -> str:
    """Format a figure with three significant digits."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"
