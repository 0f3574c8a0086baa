"""What a hook costs the person who waits for their agent: as a process, by itself and through a server that runs."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks._command import PROGRAM, Failed, Run, environment
from benchmarks._report import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks._plan import Effort
    from benchmarks._stage import Stage

WARM_SECONDS = 0.15
WARM_CHUNKS = 10_000
"""Up to so many chunks a hook through a server has a budget."""
WARMING = 3
"""Hooks that do not count: the server loads its model."""
AGAINST_HELP = 2.5
"""A hook through a server does little more than start. Measured 1.1-1.3."""
AGAINST_COLD = 1.5
"""Measured 3-5. Under this it does again what the server has done."""


def hooks(stage: Stage, effort: Effort) -> Iterator[Row]:
    """`user-prompt` in turns with the help page, so that all have the same machine; the bundled model."""
    asker = _Asker(stage)
    with running_server(stage):
        for number in range(WARMING):
            asker.hook(f"before {number}")
        warm, shown = _alternately(asker, effort.processes, "warm")
    cold, _ = _alternately(asker, effort.processes, "cold")
    budget = WARM_SECONDS if stage.size <= WARM_CHUNKS else None
    size = stage.size
    yield Row("hook.warm", "memoriter hook user-prompt, with memoriter serve", size, warm.seconds, "s", budget=budget)
    yield Row("hook.warm_cpu", "- its processor time", size, warm.cpu_seconds, "s")
    yield Row("hook.cold", "the same by itself", size, cold.seconds, "s")
    yield Row("hook.cold_cpu", "- its processor time", size, cold.cpu_seconds, "s")
    ratio = warm.cpu_seconds / shown.cpu_seconds
    title = "processor time with a server, of that of memoriter --help"
    yield Row("hook.help_ratio", title, size, ratio, "x", budget=AGAINST_HELP, ratio=True)
    ratio = cold.cpu_seconds / warm.cpu_seconds
    title = "processor time by itself, of that with a server"
    yield Row("hook.ratio", title, size, ratio, "x", budget=AGAINST_COLD, more=True, ratio=True)


class _Asker:
    """Runs the hook with questions of the corpus."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._command = [*PROGRAM, "--workspace", str(stage.notes)]

    def hook(self, session: str, number: int = 0) -> Run:
        prompt = self._stage.corpus.questions[number]
        told = json.dumps({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": prompt})
        return _run([*self._command, "hook", "user-prompt"], told, self._stage)

    def help(self) -> Run:
        return _run([*PROGRAM, "--help"], "", self._stage)


def _alternately(asker: _Asker, repeats: int, name: str) -> tuple[Run, Run]:
    """Medians of the hook and of the help page; the first of each does not count."""
    pairs = [(asker.hook(f"{name} {number}", number), asker.help()) for number in range(repeats + 1)][1:]
    hooked, shown = zip(*pairs, strict=True)
    return _median(hooked), _median(shown)


def _median(runs: Sequence[Run]) -> Run:
    return Run(median(run.seconds for run in runs), median(run.cpu_seconds for run in runs))


def _run(command: Sequence[str], typed: str, stage: Stage) -> Run:
    start = perf_counter()
    process = subprocess.Popen(
        command, env=environment(stage.home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(typed.encode())
    process.stdin.close()
    process.stdout.read()
    error = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    seconds = perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or error:
        raise Failed(f"{' '.join(command)} ended with {process.returncode}: {error.decode(errors='replace')}")
    return Run(seconds, used.ru_utime + used.ru_stime)


@contextmanager
def running_server(stage: Stage) -> Iterator[None]:
    """`memoriter serve` for the notes of a stage."""
    command = [*PROGRAM, "--workspace", str(stage.notes), "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment(stage.home), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            if not process.stdout.readline().startswith("Serving "):
                raise Failed(f"{' '.join(command)} did not start")
            yield
        finally:
            process.terminate()
            process.communicate()
