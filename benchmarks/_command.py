"""Commands as new processes, from start to exit."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks._report import Row
from benchmarks._timing import Times, timed
from benchmarks._workspace import WORDS_ONLY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace

SEARCH_SECONDS = 0.4
SEARCH_CPU_SECONDS = 0.3
HELP_SECONDS = 0.15
SEARCH_CHUNKS = 10_000
"""Largest number of chunks for which a search in a new process has a budget."""
WARM_AGAINST_COLD = 5.0
"""Measured 12-20. Below 5, a warm process repeats work, or the times are only noise."""
PROGRAM = (sys.executable, "-c", "import sys; from memoriter.cli import main; sys.exit(main())")


class Failed(RuntimeError):
    """A measured program failed."""


@dataclass(frozen=True, slots=True)
class Run:
    """The times of one process."""

    seconds: float
    cpu_seconds: float


def empty_process(effort: Effort) -> Iterator[Row]:
    """Yield the rows of an interpreter that does nothing, and of the help page."""
    bare = _median([sys.executable, "-c", "pass"], effort.processes)
    yield Row("command.bare", "python -c pass, for comparison", 0, bare.seconds, "s")
    shown = _median([*PROGRAM, "--help"], effort.processes)
    yield Row("command.help", "memoriter --help", 0, shown.seconds, "s", budget=HELP_SECONDS)


def commands(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the rows of a hybrid search, a keyword search and a read; with the bundled model."""
    question = workspace.corpus.questions[0]
    note = workspace.corpus.notes[0].path
    search = _median(_command(workspace, "search", question), effort.processes, workspace.home)
    budgets = (SEARCH_SECONDS, SEARCH_CPU_SECONDS) if workspace.size <= SEARCH_CHUNKS else (None, None)
    yield Row("command.search", "memoriter search", workspace.size, search.seconds, "s", budget=budgets[0])
    yield Row("command.search_cpu", "- CPU time", workspace.size, search.cpu_seconds, "s", budget=budgets[1])
    words_only = ("--config", str(workspace.config(WORDS_ONLY)))
    words = _median(_command(workspace, *words_only, "search", question), effort.processes, workspace.home)
    yield Row("command.words", "memoriter --config FILE search, keywords only", workspace.size, words.seconds, "s")
    yield Row("command.words_cpu", "- CPU time", workspace.size, words.cpu_seconds, "s")
    got = _median(_command(workspace, "get", note), effort.processes, workspace.home)
    yield Row("command.get", "memoriter get", workspace.size, got.seconds, "s")
    # A command leaves the judge out, so it is the same search only without it.
    warm = _warm(workspace, {"query": {"rerank": {"provider": "off"}}})
    yield Row(
        "command.warm", "the same search in a warm process", workspace.size, warm.p50 * 1000, "ms", warm.p95 * 1000
    )
    ratio = search.seconds / warm.p50
    yield Row(
        "command.ratio",
        "- speedup over a new process",
        workspace.size,
        ratio,
        "x",
        budget=WARM_AGAINST_COLD,
        more=True,
        ratio=True,
    )
    judged = _warm(workspace, {})
    yield Row("command.judged", "- with the judge", workspace.size, judged.p50 * 1000, "ms", judged.p95 * 1000)


def _command(workspace: BenchWorkspace, *words: str) -> list[str]:
    return [*PROGRAM, "--workspace", str(workspace.notes), "--json", *words]


def _median(command: Sequence[str], repeats: int, home: Path | None = None) -> Run:
    """Return the median times after one warm-up run, which writes bytecode and fills the disk cache."""
    runs = [run_once(command, home) for _ in range(repeats + 1)][1:]
    return Run(median(run.seconds for run in runs), median(run.cpu_seconds for run in runs))


def run_once(command: Sequence[str], home: Path | None, **variables: str) -> Run:
    """Run a program of this checkout to its end, with further environment variables. Raises Failed."""
    start = perf_counter()
    process = subprocess.Popen(
        command, env=environment(home) | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout
    output = process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    seconds = perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(
            f"{' '.join(command)} ended with {process.returncode}: {output.decode(errors='replace').strip()[-2000:]}"
        )
    return Run(seconds, used.ru_utime + used.ru_stime)


def environment(home: Path | None) -> dict[str, str]:
    """Return environment variables for a process of this checkout that keeps its state in `home`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORITER_")}  # noqa: TID251 (no part of the library)
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "MEMORITER_BACKGROUND": "off"}
    return kept | paths | ({"MEMORITER_HOME": str(home)} if home else {})


def _warm(workspace: BenchWorkspace, settings: dict[str, Any]) -> Times:
    with workspace.memory(workspace.config(settings)) as memory:
        memory.search(workspace.corpus.questions[0])
        return Times(tuple(timed(lambda text=text: memory.search(text)) for text in workspace.corpus.questions[1:31]))
