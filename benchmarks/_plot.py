"""A plot of latency over size as an SVG with logarithmic axes: each engine, the keyword retriever, a whole search."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks._report import Row

WIDTH = 900
HEIGHT = 480
LEFT = 70
RIGHT = 640
TOP = 84
BOTTOM = 424
APART = 19
"""Distance between two labels at the right, so that neither covers the other."""
_FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\""
_INK = "#1f2328"
_QUIET = "#59636e"
_GRID = "#e4e8ec"
_OWN = {
    "peer.theirs": ("OpenClaw's vector query", "#8c959f", "6 4"),
    "search.hybrid": ("hybrid search", "#1f2328", ""),
    "search.fts": ("keyword retriever", "#1a7f37", ""),
}
_ENGINES = ("#0969da", "#bc4c00", "#8250df", "#bf3989")


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: a measure at several sizes."""

    title: str
    colour: str
    dashes: str
    points: tuple[tuple[int, float], ...]
    """Size and milliseconds."""


def lines_of(rows: Iterable[Row]) -> list[Line]:
    """Return the curves of the plot, the slowest first."""
    points: dict[str, dict[int, float]] = {}
    for row in rows:
        if row.unit == "ms" and row.size and (row.name in _OWN or row.name.startswith("engine.")):
            points.setdefault(row.name, {})[row.size] = row.value
    colours = dict(zip(sorted(points.keys() - _OWN.keys()), _ENGINES * len(points), strict=False))
    looks = {name: (f"vectors: {name.removeprefix('engine.')}", colour, "") for name, colour in colours.items()} | _OWN
    lines = [Line(*looks[name], tuple(sorted(each.items()))) for name, each in points.items()]
    return sorted(lines, key=lambda line: -line.points[-1][1])


def plot(rows: Iterable[Row], caption: str) -> str:
    """Return the SVG file; `caption` names the machine and the date."""
    return drawing(lines_of(rows), "Time of a search against the size of the memory", caption)


def drawing(lines: Sequence[Line], title: str, caption: str) -> str:
    """Return an SVG file with some curves, the slowest first."""
    scale = Scale.around([point for line in lines for point in line.points])
    role = 'role="img" aria-label="Time of a search against the number of chunks"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {role} {_FONT}>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
        _text(LEFT - 46, 34, title, size=17, colour=_INK, weight=600),
        _text(LEFT - 46, 56, caption, size=12),
        *_axes(scale),
        *(_draw(line, scale) for line in lines),
        *_names(lines, scale),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class Scale:
    """The mapping from sizes and milliseconds to coordinates, with whole decades at both ends of each axis."""

    sizes: tuple[int, int]
    times: tuple[int, int]
    """First and last power of ten."""

    @classmethod
    def around(cls, points: Sequence[tuple[int, float]]) -> Scale:
        return cls(_decades([size for size, _ in points]), _decades([time for _, time in points]))

    def x(self, size: float) -> float:
        low, high = self.sizes
        return LEFT + (log10(size) - low) / (high - low) * (RIGHT - LEFT)

    def y(self, time: float) -> float:
        low, high = self.times
        return BOTTOM - (log10(time) - low) / (high - low) * (BOTTOM - TOP)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low = floor(log10(min(values)) + 1e-9)
    return low, max(ceil(log10(max(values)) - 1e-9), low + 1)


def _axes(scale: Scale) -> Iterable[str]:
    for power in range(scale.times[0], scale.times[1] + 1):
        y = scale.y(10**power)
        yield f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{_GRID}"/>'
        yield _text(LEFT - 10, y + 4, _time(power), anchor="end")
    for power in range(scale.sizes[0], scale.sizes[1] + 1):
        x = scale.x(10**power)
        yield f'<path d="M{x:.1f} {TOP}V{BOTTOM}" stroke="{_GRID}"/>'
        yield _text(x, BOTTOM + 22, f"{10**power:,}", anchor="middle")
    yield f'<path d="M{LEFT} {BOTTOM}H{RIGHT}" stroke="{_QUIET}"/>'
    yield _text((LEFT + RIGHT) / 2, BOTTOM + 44, "chunks", anchor="middle")


def _time(power: int) -> str:
    return f"{10 ** (power - 3):g} s" if power >= 3 else f"{10.0**power:g} ms"


def _draw(line: Line, scale: Scale) -> str:
    places = [(scale.x(size), scale.y(time)) for size, time in line.points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places)
    dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
    return (
        f'<g fill="{line.colour}"><path d="{path}" fill="none" stroke="{line.colour}" stroke-width="2.25"'
        f' stroke-linejoin="round"{dashes}/>{dots}</g>'
    )


def _names(lines: Sequence[Line], scale: Scale) -> Iterable[str]:
    """Yield the label of each curve: at its last point if it ends early, else in a column at the right."""
    last = max((line.points[-1][0] for line in lines), default=0)
    for line in lines:
        size, time = line.points[-1]
        if size < last:
            yield _text(scale.x(size) + 9, scale.y(time) - 7, _name(line), colour=line.colour, weight=600)
    column = [line for line in lines if line.points[-1][0] == last]
    ends = [scale.y(line.points[-1][1]) for line in column]
    for line, end, place in zip(column, ends, _spread(ends), strict=True):
        thread = f"M{scale.x(last) + 7:.1f} {end:.1f}L{RIGHT + 18} {place:.1f}"
        yield f'<path d="{thread}" stroke="{line.colour}" stroke-opacity=".4" fill="none"/>'
        yield _text(RIGHT + 23, place + 4, _name(line), colour=line.colour, weight=600)


def _name(line: Line) -> str:
    time = line.points[-1][1]
    return f"{line.title}, {time / 1000:.2g} s" if time >= 1000 else f"{line.title}, {time:.3g} ms"


def _spread(wanted: Sequence[float]) -> list[float]:
    """Return coordinates in the same order, at least `APART` apart and none below the axis."""
    places = list(wanted)
    for upper, lower in pairwise(range(len(places))):
        places[lower] = max(places[lower], places[upper] + APART)
    if places:
        places[-1] = min(places[-1], BOTTOM)
    for upper, lower in reversed(list(pairwise(range(len(places))))):
        places[upper] = min(places[upper], places[lower] - APART)
    return places


def _text(
    x: float, y: float, text: str, *, size: int = 12, colour: str = _QUIET, anchor: str = "start", weight: int = 400
) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    style = f'font-size="{size}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escaped}</text>'
