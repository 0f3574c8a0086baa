"""Hooks of coding agents as new processes, with and without a running server."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks._command import PROGRAM, Failed, Run, environment
from benchmarks._report import SMALLEST_WITH_BUDGET, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace

WARM_SECONDS = 0.15
WARM_CHUNKS = 10_000
"""Largest number of chunks for which a hook with a server has a budget."""
WARMING = 3
"""Hooks that run before the measurement, while the server loads its model."""
AGAINST_HELP = 2.5
"""A hook with a server does little more than start. Measured 1.1-1.3."""
AGAINST_COLD = 1.5
"""Measured 3-5. Below this limit, the hook repeats work of the server."""


def hooks(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the rows of `user-prompt`, which alternates with the help page; with the bundled model."""
    runner = _HookRunner(workspace)
    with running_server(workspace):
        for number in range(WARMING):
            runner.hook(f"before {number}")
        warm, shown = _in_turns(runner, effort.processes, "warm")
    cold, _ = _in_turns(runner, effort.processes, "cold")
    budget = WARM_SECONDS if workspace.size <= WARM_CHUNKS else None
    size = workspace.size
    yield Row("hook.warm", "memoriter hook user-prompt, with memoriter serve", size, warm.seconds, "s", budget=budget)
    yield Row("hook.warm_cpu", "- CPU time", size, warm.cpu_seconds, "s")
    yield Row("hook.cold", "memoriter hook user-prompt, without a server", size, cold.seconds, "s")
    yield Row("hook.cold_cpu", "- CPU time", size, cold.cpu_seconds, "s")
    ratio = warm.cpu_seconds / shown.cpu_seconds
    title = "CPU time with a server / CPU time of memoriter --help"
    yield Row("hook.help_ratio", title, size, ratio, "x", budget=AGAINST_HELP, ratio=True)
    ratio = cold.cpu_seconds / warm.cpu_seconds
    title = "CPU time without a server / CPU time with a server"
    yield Row("hook.ratio", title, size, ratio, "x", budget=AGAINST_COLD, more=True, ratio=True)


class _HookRunner:
    """Runs the hook with questions of the corpus."""

    def __init__(self, workspace: BenchWorkspace) -> None:
        self._workspace = workspace
        self._options = ["--workspace", str(workspace.notes)]

    def hook(self, session: str, number: int = 0) -> Run:
        prompt = self._workspace.corpus.questions[number]
        payload = json.dumps({"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": prompt})
        words = [*self._options, "hook", "user-prompt"]
        # On a busy machine a hook may run out of time, which only counts where its figures have a budget.
        return run_hook(words, payload, self._workspace.home, late=self._workspace.size < SMALLEST_WITH_BUDGET)

    def help(self) -> Run:
        return run_hook(["--help"], "", self._workspace.home)


def _in_turns(runner: _HookRunner, repeats: int, name: str) -> tuple[Run, Run]:
    """Return the medians of the hook and of the help page, without the first run of each."""
    pairs = [(runner.hook(f"{name} {number}", number), runner.help()) for number in range(repeats + 1)][1:]
    hooked, shown = zip(*pairs, strict=True)
    return _median(hooked), _median(shown)


def _median(runs: Sequence[Run]) -> Run:
    return Run(median(run.seconds for run in runs), median(run.cpu_seconds for run in runs))


def run_hook(words: Sequence[str], payload: str, home: Path, *, late: bool = False, **variables: str) -> Run:
    """Run memoriter with a text on stdin to its end, with further environment variables.

    Raises:
        Failed: it failed, or, unless it may be `late`, something went wrong.
    """
    command = [*PROGRAM, *words]
    start = perf_counter()
    process = subprocess.Popen(
        command,
        env=environment(home) | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(payload.encode())
    process.stdin.close()
    process.stdout.read()
    error = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    seconds = perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or (error and not late):
        raise Failed(f"{' '.join(command)} ended with {process.returncode}: {error.decode(errors='replace')}")
    return Run(seconds, used.ru_utime + used.ru_stime)


@contextmanager
def running_server(workspace: BenchWorkspace) -> Iterator[None]:
    """Run `memoriter serve` for the notes of a workspace."""
    command = [*PROGRAM, "--workspace", str(workspace.notes), "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment(workspace.home), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            if not process.stdout.readline().startswith("Serving "):
                raise Failed(f"{' '.join(command)} did not start")
            yield
        finally:
            process.terminate()
            process.communicate()
