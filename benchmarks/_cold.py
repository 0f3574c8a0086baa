"""What a person waits for who searches in a terminal: a new process, by itself and with a server that runs."""

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
    from benchmarks._plan import Effort
    from benchmarks._stage import Stage

FLOOR = (sys.executable, "-c", "import sqlite3, numpy")
"""What no search by meaning in Python can leave out."""
AGAINST_FLOOR = 3.0
"""Measured 2.2-2.5. Over this a package is imported, or a file is read, that a search does not need."""
SERVED_AGAINST_FLOOR = 1.5
"""Measured 0.7. Over this the process does itself what the server should do."""
AGAINST_PEER = 1.5
"""Measured 1.2 with 1,000 chunks, 1.4 with 3,600. QMD searches by words only, and memoriter by meaning too."""
PEER = "qmd"
"""A program of the path that is measured as well, if it is installed."""


def cold(stage: Stage, effort: Effort) -> Iterator[Row]:
    """Searches in turns with the floor, so that all have the same machine; the bundled model."""
    command = [*PROGRAM, "--workspace", str(stage.notes), "search"]
    peer = _peer(stage)
    with running_server(stage):
        for question in stage.corpus.questions[:WARMING]:
            run_once([*command, question], stage.home)
        questions = [stage.corpus.questions[number % effort.questions] for number in range(effort.processes)]
        rounds = [
            (
                run_once(FLOOR, stage.home),
                run_once([*command, question], stage.home, MEMORITER_SERVER="off"),
                run_once([*command, question], stage.home),
                *peer(question),
            )
            for question in [questions[0], *questions]
        ][1:]
    floors, alone, served, *peers = zip(*rounds, strict=True)
    size = stage.size
    yield from _rows("cold.floor", 'python -c "import sqlite3, numpy"', size, floors)
    yield from _rows("cold.search", "memoriter search, without a server", size, alone)
    ratio = _ratio(alone, floors)
    title = "- of the processor time of these two imports"
    yield Row("cold.ratio", title, size, ratio, "x", budget=AGAINST_FLOOR, ratio=True)
    yield from _rows("cold.served", "memoriter search, with memoriter serve", size, served)
    ratio = _ratio(served, floors)
    yield Row("cold.served_ratio", title, size, ratio, "x", budget=SERVED_AGAINST_FLOOR, ratio=True)
    for searches in peers:
        yield from _rows("cold.peer", "qmd search, by words only", size, searches)
        ratio = _ratio(alone, searches)
        title = "- of which memoriter search without a server takes"
        yield Row("cold.peer_ratio", title, size, ratio, "x", budget=AGAINST_PEER, ratio=True)


def _peer(stage: Stage) -> Callable[[str], tuple[Run, ...]]:
    """Let QMD index the notes, and return its search as a new process; nothing to run if it is not installed."""
    program = shutil.which(PEER)
    if program is None:
        return lambda _question: ()
    folder = stage.folder / PEER
    variables = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"), "CI": ""}
    run_once([program, "collection", "add", str(stage.notes), "--name", "notes"], None, **variables)
    return lambda question: (run_once([program, "search", question], None, **variables),)


def _rows(name: str, title: str, size: int, runs: tuple[Run, ...]) -> Iterator[Row]:
    yield Row(name, title, size, median(run.seconds for run in runs), "s")
    yield Row(f"{name}_cpu", "- its processor time", size, median(run.cpu_seconds for run in runs), "s")


def _ratio(runs: tuple[Run, ...], floors: tuple[Run, ...]) -> float:
    """The median of the ratios of runs that followed each other: whatever slows the machine meets both."""
    return median(run.cpu_seconds / floor.cpu_seconds for run, floor in zip(runs, floors, strict=True))
