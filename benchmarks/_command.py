"""The program as a cold process: start, work and end."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks._report import Row
from benchmarks._stage import WORDS_ONLY
from benchmarks._timing import Times, timed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks._plan import Effort
    from benchmarks._stage import Stage

SEARCH_SECONDS, SEARCH_CPU_SECONDS, HELP_SECONDS = 0.4, 0.3, 0.15
SEARCH_CHUNKS = 10_000
"""Up to so many chunks a cold search has a budget."""
WARM_AGAINST_COLD = 5.0
"""Measured 12-20. Under 5 either a warm process does again what it should remember, or times are all noise."""
PROGRAM = (sys.executable, "-c", "import sys; from memoriter.cli import main; sys.exit(main())")


class Failed(RuntimeError):
    """The program did not do what it was asked."""


@dataclass(frozen=True, slots=True)
class Run:
    """One process from start to end."""

    seconds: float
    cpu_seconds: float


def empty_process(effort: Effort) -> Iterator[Row]:
    """An interpreter that does nothing, and the help page."""
    bare = _median([sys.executable, "-c", "pass"], effort.processes)
    yield Row("command.bare", "python -c pass, for scale", 0, bare.seconds, "s")
    shown = _median([*PROGRAM, "--help"], effort.processes)
    yield Row("command.help", "memoriter --help", 0, shown.seconds, "s", budget=HELP_SECONDS)


def commands(stage: Stage, effort: Effort) -> Iterator[Row]:
    """Search by meaning and words, by words, and a read; with the model of the package."""
    question, note = stage.corpus.questions[0], stage.corpus.notes[0].path
    search = _median(_command(stage, "search", question), effort.processes, stage.home)
    budgets = (SEARCH_SECONDS, SEARCH_CPU_SECONDS) if stage.size <= SEARCH_CHUNKS else (None, None)
    yield Row("command.search", "memoriter search", stage.size, search.seconds, "s", budget=budgets[0])
    yield Row("command.search_cpu", "- its processor time", stage.size, search.cpu_seconds, "s", budget=budgets[1])
    words_only = ("--config", str(stage.config(WORDS_ONLY)))
    words = _median(_command(stage, *words_only, "search", question), effort.processes, stage.home)
    yield Row("command.words", "memoriter --config FILE search, words only", stage.size, words.seconds, "s")
    yield Row("command.words_cpu", "- its processor time", stage.size, words.cpu_seconds, "s")
    got = _median(_command(stage, "get", note), effort.processes, stage.home)
    yield Row("command.get", "memoriter get", stage.size, got.seconds, "s")
    warm = _warm(stage)
    yield Row(
        "command.warm", "the same search in a process that is warm", stage.size, warm.p50 * 1000, "ms", warm.p95 * 1000
    )
    ratio = search.seconds / warm.p50
    yield Row(
        "command.ratio",
        "- times as fast as the cold one",
        stage.size,
        ratio,
        "x",
        budget=WARM_AGAINST_COLD,
        more=True,
        ratio=True,
    )


def _command(stage: Stage, *words: str) -> list[str]:
    return [*PROGRAM, "--workspace", str(stage.notes), "--json", *words]


def _median(command: Sequence[str], repeats: int, home: Path | None = None) -> Run:
    """After a run that does not count: it writes bytecode and warms the disk."""
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
    """This process' environment for a process of this checkout that keeps its state in `home`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORITER_")}  # noqa: TID251 (no part of the library)
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return kept | paths | ({"MEMORITER_HOME": str(home)} if home else {})


def _warm(stage: Stage) -> Times:
    with stage.memory() as memory:
        memory.search(stage.corpus.questions[0])
        return Times(tuple(timed(lambda text=text: memory.search(text)) for text in stage.corpus.questions[1:31]))
