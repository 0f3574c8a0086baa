"""A search in a terminal: a new process, with and without a running server."""

from __future__ import annotations

import sys
from statistics import median
from typing import TYPE_CHECKING

from benchmarks._command import PROGRAM, run_once
from benchmarks._hooks import WARMING, running_server
from benchmarks._report import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks._command import Run
    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace

FLOOR = (sys.executable, "-c", "import sqlite3, numpy")
"""The imports that every vector search in Python needs."""
AGAINST_FLOOR = 4.5
"""Measured 3.2-3.4. Above this limit, the process imports a package or reads a file that a search does not need."""
SERVED_AGAINST_FLOOR = 2.0
"""Measured 0.75. Above this limit, the process does work that the server should do."""


def cold(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the rows of searches that alternate with the imports, under the same load; with the bundled model."""
    command = [*PROGRAM, "--workspace", str(workspace.notes), "search"]
    with running_server(workspace):
        for question in workspace.corpus.questions[:WARMING]:
            run_once([*command, question], workspace.home)
        questions = [workspace.corpus.questions[number % effort.questions] for number in range(effort.processes)]
        rounds = [
            (
                run_once(FLOOR, workspace.home),
                run_once([*command, question], workspace.home, MEMORITER_SERVER="off"),
                run_once([*command, question], workspace.home),
            )
            for question in [questions[0], *questions]
        ][1:]
    floors, alone, served = zip(*rounds, strict=True)
    size = workspace.size
    yield from _rows("cold.floor", 'python -c "import sqlite3, numpy"', size, floors)
    yield from _rows("cold.search", "memoriter search, without a server", size, alone)
    ratio = _ratio(alone, floors)
    title = "- CPU time relative to these two imports"
    yield Row("cold.ratio", title, size, ratio, "x", budget=AGAINST_FLOOR, ratio=True)
    yield from _rows("cold.served", "memoriter search, with memoriter serve", size, served)
    ratio = _ratio(served, floors)
    yield Row("cold.served_ratio", title, size, ratio, "x", budget=SERVED_AGAINST_FLOOR, ratio=True)


def _rows(name: str, title: str, size: int, runs: tuple[Run, ...]) -> Iterator[Row]:
    yield Row(name, title, size, median(run.seconds for run in runs), "s")
    yield Row(f"{name}_cpu", "- CPU time", size, median(run.cpu_seconds for run in runs), "s")


def _ratio(runs: tuple[Run, ...], floors: tuple[Run, ...]) -> float:
    """Return the median of the ratios of consecutive runs, which a busy machine slows down alike."""
    return median(run.cpu_seconds / floor.cpu_seconds for run, floor in zip(runs, floors, strict=True))
