"""Hooks of coding agents on a busy machine, with an index that is missing, unfinished or being made."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks._hooks import run_hook
from benchmarks._report import SMALLEST_WITH_BUDGET, Row
from memoriter import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace

SPINNING = 3
"""Processes that keep the processor busy during the measurement."""
LONGEST_SECONDS = 1.5
"""The most that a hook may delay a prompt, on a machine that is this busy."""
LARGEST = 10_000
"""Chunks. Above this size the index alone takes too long to make."""
EVENTS = {"session-start": "SessionStart", "user-prompt": "UserPromptSubmit", "stop": "Stop"}


def busy(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the longest time of each hook in each state of the index, with the bundled model."""
    if workspace.size > LARGEST:
        return
    home = workspace.folder / "busy"
    with _spinning(SPINNING if workspace.size >= SMALLEST_WITH_BUDGET else 1):
        for state in ("missing", "unfinished", "being made"):
            times: dict[str, list[float]] = {event: [] for event in EVENTS}
            for number in range(effort.processes):
                if state == "missing" or not number:
                    _end_background(workspace)
                    _prepare(workspace, home, words=state != "missing")
                for event in EVENTS:
                    if state == "missing":
                        _end_background(workspace)
                        _prepare(workspace, home, words=False)
                    elif state == "unfinished":
                        _end_background(workspace)
                    times[event].append(_seconds(workspace, home, event, f"{state} {number}", number))
            _end_background(workspace)
            for event, seconds in times.items():
                name = f"busy.{event}.{state.replace(' ', '_')}"
                title = f"memoriter hook {event}, busy machine, index {state}: longest"
                yield Row(name, title, workspace.size, max(seconds), "s", budget=LONGEST_SECONDS)
                yield Row(f"{name}.median", "- median", workspace.size, median(seconds), "s")
    shutil.rmtree(home, ignore_errors=True)


def _seconds(workspace: BenchWorkspace, home: Path, event: str, session: str, number: int) -> float:
    prompt = workspace.corpus.questions[number % len(workspace.corpus.questions)]
    payload = {"session_id": session, "hook_event_name": EVENTS[event], "prompt": prompt, "source": "startup"}
    words = ["--workspace", str(workspace.notes), "hook", event]
    variables = {"MEMORITER_BACKGROUND": "on"}
    return run_hook(words, json.dumps(payload), home, late=True, **variables).seconds


def _prepare(workspace: BenchWorkspace, home: Path, *, words: bool) -> None:
    """Make a home without an index, or with one that has the words of all notes and no vector."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700)
    if words:
        file = workspace.config({"provider": "none"})
        with Memory.open(workspace.notes, home=home, config=file) as memory:
            memory.sync()


def _end_background(workspace: BenchWorkspace) -> None:
    """End the processes that index these notes in the background. Linux only: elsewhere they end by themselves."""
    words = [b"--detached", os.fsencode(workspace.notes)]
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if all(word in command.read_bytes().split(b"\0") for word in words):
                os.kill(int(command.parent.name), signal.SIGTERM)
                while command.exists() and command.read_bytes():
                    time.sleep(0.05)


@contextmanager
def _spinning(count: int) -> Iterator[None]:
    """Keep the processor busy with this many processes, which end with this one."""
    program = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
