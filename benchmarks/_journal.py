"""What a journal of 100,000 changes costs: adding an entry with it and without, who wrote a line, and a rollback."""

from __future__ import annotations

import json
from statistics import median
from typing import TYPE_CHECKING

from benchmarks._report import Row
from benchmarks._timing import timed
from memoriter import Memory
from memoriter.config import workspace_key
from memoriter.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace

CHANGES = 100_000
NOTES = 1_000
ENTRIES = 300
"""Entries that are added on each side, alternately, in notes of twenty."""
APPEND_RATIO = 1.05
"""Reached where a sync takes a millisecond or more. The journal adds about 0.1 ms, so that the ratio is 1.07 to 1.10
within one process on a disk that syncs in 0.1 ms."""
BLAME_MS = 50.0
PLAN_SECONDS = 60.0
LARGEST = 10_000
"""Chunks. The figures do not depend on the notes that are indexed."""


def journal(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the ratio of adding an entry, and the time to find the change that a line is from."""
    del effort
    if workspace.size > LARGEST:
        return
    folder = workspace.folder / "changes"
    times: dict[bool, list[float]] = {False: [], True: []}
    with _open(folder / "without", enabled=False) as without, _open(folder / "with", enabled=True) as recorded:
        notes = recorded.place.workspace
        began = notes.stat().st_mtime
        kept = Journal(folder / "with" / "home" / "journal" / workspace_key(notes), wall=lambda: began)
        for number in range(NOTES):
            _fill(kept, notes, f"memory/{number:04}.md")
        for number in range(ENTRIES):
            for memory in (without, recorded):
                if number % 20 == 0:
                    (memory.place.workspace / memory.daily_path).unlink(missing_ok=True)
                text = f"Entry {number} of a day with some words."
                times[memory is recorded].append(timed(lambda memory=memory, text=text: memory.remember(text)))
        paths = [f"memory/{number:04}.md" for number in range(50)]
        blames = [timed(lambda path=path: recorded.line_origin(path, 5)) for path in paths]
        planned = timed(lambda: recorded.plan_rollback(since="2000-01-01"))
    ratio = median(times[True]) / median(times[False])
    title = f"remember with a journal of {CHANGES:,} changes / without"
    yield Row("journal.append", title, 0, ratio, "x", budget=APPEND_RATIO, ratio=True)
    yield Row("journal.blame", "- who wrote a line", 0, median(blames) * 1000, "ms", budget=BLAME_MS)
    yield Row("journal.rollback", "- the plan of taking all of them back", 0, planned, "s", budget=PLAN_SECONDS)


def _open(folder: Path, *, enabled: bool) -> Memory:
    home = folder / "home"
    home.mkdir(mode=0o700, parents=True)
    (folder / "notes" / "memory").mkdir(parents=True)
    (folder / "notes" / "MEMORY.md").write_text("# Memory\n\n" + "- A line of what stays.\n" * 30, encoding="utf-8")
    (home / "memoriter.json5").write_text(json.dumps({"memory": {"journal": {"enabled": enabled}}}), encoding="utf-8")
    return Memory.open(folder / "notes", home=home)


def _fill(kept: Journal, root: Path, path: str) -> None:
    """Write a note whose lines the journal has as single changes."""
    content: bytes | None = None
    for number in range(CHANGES // NOTES):
        longer = (content or b"") + f"- Line {number} of {path} says what was decided that day.\n".encode()
        with kept.recording(path, content, longer, "append"):
            content = longer
    (root / path).write_bytes(content or b"")
