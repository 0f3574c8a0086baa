"""A report of one run in a folder: the tables in Markdown, the figures as JSON, and charts as SVG."""

from __future__ import annotations

import json
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from memoriter.extensions.evals._question_report import figures_of
from memoriter.extensions.evals._workspace_run import MATCHES
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from memoriter.extensions.evals._metrics import Estimate
    from memoriter.extensions.evals._run import DatasetResult
    from memoriter.extensions.evals._workspace_run import WorkspaceResult

WIDTH = 760
LEFT = 200
RIGHT = 640
ROW = 26
TOP = 78
_FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\""
_INK = "#1f2328"
_QUIET = "#59636e"
_GRID = "#e4e8ec"
_OURS = "#0969da"
_OTHERS = "#8c959f"
_SHARES = ("note@3", "lines@3", "nDCG@10", "recall@10")
_COSTS = {
    "index_seconds": "Time to index (s)",
    "cold_seconds": "Search as a new process (s)",
    "warm_seconds": "Search in a running process (s)",
    "index_peak_mb": "Most memory while indexing (MB)",
    "disk_mb": "Disk, without models (MB)",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a chart."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    ours: bool = False


def write_report(
    folder: Path, asked: Sequence[WorkspaceResult], measured: Sequence[DatasetResult], lines: Sequence[str], values: Any
) -> list[Path]:
    """Write `report.md`, `results.json` and the charts into a folder, which is created, and return the files.

    Files of the same names are replaced. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    charts = {
        f"{_file_name(f'{name}-{title}')}.svg": chart(f"{name}: {title}", bars, shares=shares)
        for name, title, bars, shares in _charts(asked, measured)
        if bars
    }
    pictures = [f"![{name.removesuffix('.svg')}]({name})" for name in charts]
    texts = {
        "report.md": "\n".join(["# Answer quality", "", *pictures, "", *lines]).rstrip() + "\n",
        "results.json": json.dumps(values, ensure_ascii=False, indent=1) + "\n",
        **charts,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def _charts(
    asked: Sequence[WorkspaceResult], measured: Sequence[DatasetResult]
) -> Iterator[tuple[str, str, list[Bar], bool]]:
    """Yield the name of the set, the title, the bars, and whether they are shares, of each chart."""
    for result in asked:
        figures = {report.system: figures_of(report) for report in result.reports}
        for figure in _SHARES:
            yield result.name, figure, _bars(figures, figure, result.ours.system), True
        claims = figures[result.ours.system]
        bars = [Bar(name, each.value, each.low, each.high, ours=True) for name in MATCHES if (each := claims.get(name))]
        yield result.name, "what the answers claim", bars, True
        for field, title in _COSTS.items():
            costs = [(program.name, getattr(program, field)) for program in result.programs]
            bars = [Bar(name, cost, ours=name == result.ours.system) for name, cost in costs if cost]
            yield result.name, title, bars, False
    for result in measured:
        for title, estimates in (
            ("nDCG@10", {system.system: system.ndcg_10 for system in result.systems}),
            ("recall@10", {system.system: system.recall_10 for system in result.systems}),
        ):
            figures = {name: {title: each} for name, each in estimates.items()}
            yield result.name, title, _bars(figures, title, result.ours.system), True


def _bars(figures: Mapping[str, Mapping[str, Estimate | None]], figure: str, ours: str) -> list[Bar]:
    """Return a bar for each system that has the figure, the highest first."""
    bars = [
        Bar(system, each.value, each.low, each.high, ours=system == ours)
        for system, found in figures.items()
        if (each := found.get(figure))
    ]
    return sorted(bars, key=lambda bar: -bar.value)


def chart(title: str, bars: Sequence[Bar], *, shares: bool) -> str:
    """Return an SVG file with one bar for each row, from the top.

    The axis goes from 0 to 1 for `shares`; else it is logarithmic, and all values are above 0.
    """
    height = TOP + ROW * len(bars) + 44
    axis = (0.0, 1.0) if shares else _decades([bar.value for bar in bars])

    def x(value: float) -> float:
        place = value if shares else log10(value)
        return LEFT + (min(max(place, axis[0]), axis[1]) - axis[0]) / (axis[1] - axis[0]) * (RIGHT - LEFT)

    marks = (
        [step / 5 for step in range(6)] if shares else [10.0**power for power in range(int(axis[0]), int(axis[1]) + 1)]
    )
    label = f'role="img" aria-label="{_escaped(title)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {label} {_FONT}>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        _text(24, 34, title, size=17, colour=_INK),
        _text(24, 56, "with 95 % intervals" if shares else "logarithmic axis"),
    ]
    for mark in marks:
        parts += [
            f'<path d="M{x(mark):.1f} {TOP - 6}V{height - 38}" stroke="{_GRID}"/>',
            _text(x(mark), height - 20, f"{mark:g}", anchor="middle"),
        ]
    parts += [line for at, bar in enumerate(bars) for line in _drawn(bar, TOP + ROW * at + ROW / 2, x)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn(bar: Bar, y: float, x: Callable[[float], float]) -> list[str]:
    colour = _OURS if bar.ours else _OTHERS
    parts = [
        _text(LEFT - 12, y + 4, bar.name, anchor="end", colour=_INK),
        f'<rect x="{LEFT}" y="{y - 7:.1f}" width="{max(x(bar.value) - LEFT, 1):.1f}" height="14" fill="{colour}"/>',
        _text(RIGHT + 12, y + 4, f"{bar.value:.3g}", colour=_INK),
    ]
    if bar.low is not None and bar.high is not None:
        parts.append(f'<path d="M{x(bar.low):.1f} {y:.1f}H{x(bar.high):.1f}" stroke="{_INK}" stroke-width="1.5"/>')
    return parts


def _decades(values: Sequence[float]) -> tuple[float, float]:
    low = floor(log10(min(values)) + 1e-9) - (min(values) == max(values))
    return float(low), float(max(ceil(log10(max(values)) - 1e-9), low + 1))


def _text(x: float, y: float, text: str, *, size: int = 12, colour: str = _QUIET, anchor: str = "start") -> str:
    style = f'font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _file_name(text: str) -> str:
    """Return a title as the name of a file: letters, digits and hyphens."""
    words = "".join(letter if letter.isalnum() or letter in "@." else " " for letter in text.casefold()).split()
    return "-".join(words).replace("@", "-at-").replace(".", "-")
