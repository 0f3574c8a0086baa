"""The size of an index after many rounds of edits, and the time and effect of compacting it."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

from benchmarks._corpus import SEED, make_corpus
from benchmarks._report import Row
from benchmarks._timing import timed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace
    from memoriter.types import CompactReport

ROUNDS = 20
AGAINST_FRESH = 1.5
"""At most a third of the file may be free pages and unused vectors."""
LARGEST = 10_000
"""Chunks. Ten times as many would index a million chunks for one row, with the same result."""


def churn(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the rows after editing half of the notes twenty times, with a sync after each round."""
    del effort
    if workspace.size > LARGEST:
        return
    other = make_corpus(workspace.size, 0, seed=SEED + 1)
    lines = [line for note in other.notes for line in note.text.splitlines() if line.startswith("- ")]
    source = random.Random(SEED)
    reports: list[CompactReport] = []
    with workspace.open_index() as index:
        for _ in range(ROUNDS):
            _round(workspace, source, lines)
            workspace.sync(index)
        fresh = _fresh(workspace)
        seconds = timed(lambda: reports.append(index.compact(max_entries=0, max_bytes=0)))
    (report,) = reports
    before = report.bytes_before
    after = report.bytes_after
    yield Row(
        "churn.kept", f"index size after {ROUNDS} rounds of edits / new index", workspace.size, before / fresh, "x"
    )
    yield Row(
        "churn.ratio",
        "- without unused vectors",
        workspace.size,
        after / fresh,
        "x",
        budget=AGAINST_FRESH,
        ratio=True,
    )
    yield Row("churn.compact", "- memoriter compact --unused", workspace.size, seconds, "s")


def _round(workspace: BenchWorkspace, source: random.Random, lines: list[str]) -> None:
    """Replace one line in each of half of the notes."""
    for note in source.sample(workspace.corpus.notes, len(workspace.corpus.notes) // 2):
        file = workspace.notes / note.path
        text = file.read_text(encoding="utf-8").splitlines()
        items = [place for place, line in enumerate(text) if line.startswith("- ")]
        if items:
            text[source.choice(items)] = source.choice(lines)
            file.write_text("\n".join(text) + "\n", encoding="utf-8")


def _fresh(workspace: BenchWorkspace) -> int:
    """Return the size in bytes of a new index of the current notes."""
    scratch = workspace.folder / "fresh"
    with workspace.open_index(scratch / "main.sqlite") as index:
        workspace.sync(index)
        size = (scratch / "main.sqlite").stat().st_size
    shutil.rmtree(scratch)
    return size
