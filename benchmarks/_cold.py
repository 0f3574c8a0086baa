"""A search in a terminal: a new process, with and without a running server."""

from __future__ import annotations

import shutil
import sys
from statistics import median
from typing import TYPE_CHECKING

from benchmarks._command import PROGRAM, run_once
from benchmarks._hooks import WARMING, running_server
from benchmarks._report import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks._command import Run
    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace

FLOOR = (sys.executable, "-c", "import sqlite3, numpy")
"""The imports that every vector search in Python needs."""
AGAINST_FLOOR = 3.0
"""Measured 2.2-2.5. Above this limit, the process imports a package or reads a file that a search does not need."""
SERVED_AGAINST_FLOOR = 1.5
"""Measured 0.7. Above this limit, the process does work that the server should do."""
AGAINST_PEER = 1.5
"""Measured 1.2 with 1,000 chunks, 1.4 with 3,600. QMD searches by words only, memoriter also by meaning."""
PEER = "qmd"
"""A program that is measured as well, if it is installed."""


def cold(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the rows of searches that alternate with the imports, under the same load; with the bundled model."""
    command = [*PROGRAM, "--workspace", str(workspace.notes), "search"]
    peer = _peer(workspace)
    with running_server(workspace):
        for question in workspace.corpus.questions[:WARMING]:
            run_once([*command, question], workspace.home)
        questions = [workspace.corpus.questions[number % effort.questions] for number in range(effort.processes)]
        rounds = [
            (
                run_once(FLOOR, workspace.home),
                run_once([*command, question], workspace.home, MEMORITER_SERVER="off"),
                run_once([*command, question], workspace.home),
                *peer(question),
            )
            for question in [questions[0], *questions]
        ][1:]
    floors, alone, served, *peers = zip(*rounds, strict=True)
    size = workspace.size
    yield from _rows("cold.floor", 'python -c "import sqlite3, numpy"', size, floors)
    yield from _rows("cold.search", "memoriter search, without a server", size, alone)
    ratio = _ratio(alone, floors)
    title = "- CPU time relative to these two imports"
    yield Row("cold.ratio", title, size, ratio, "x", budget=AGAINST_FLOOR, ratio=True)
    yield from _rows("cold.served", "memoriter search, with memoriter serve", size, served)
    ratio = _ratio(served, floors)
    yield Row("cold.served_ratio", title, size, ratio, "x", budget=SERVED_AGAINST_FLOOR, ratio=True)
    for searches in peers:
        yield from _rows("cold.peer", "qmd search, by words only", size, searches)
        ratio = _ratio(alone, searches)
        title = "- of which memoriter search without a server takes"
        yield Row("cold.peer_ratio", title, size, ratio, "x", budget=AGAINST_PEER, ratio=True)


def _peer(workspace: BenchWorkspace) -> Callable[[str], tuple[Run, ...]]:
    """Let QMD index the notes, and return its search as a new process; nothing to run if it is not installed."""
    program = shutil.which(PEER)
    if program is None:
        return lambda _question: ()
    folder = workspace.folder / PEER
    variables = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"), "CI": ""}
    run_once([program, "collection", "add", str(workspace.notes), "--name", "notes"], None, **variables)
    return lambda question: (run_once([program, "search", question], None, **variables),)


def _rows(name: str, title: str, size: int, runs: tuple[Run, ...]) -> Iterator[Row]:
    yield Row(name, title, size, median(run.seconds for run in runs), "s")
    yield Row(f"{name}_cpu", "- CPU time", size, median(run.cpu_seconds for run in runs), "s")


def _ratio(runs: tuple[Run, ...], floors: tuple[Run, ...]) -> float:
    """Return the median of the ratios of consecutive runs, which a busy machine slows down alike."""
    return median(run.cpu_seconds / floor.cpu_seconds for run, floor in zip(runs, floors, strict=True))
