"""What editing leaves behind: the size of an index after many rounds, and what compacting it costs and gives."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

from benchmarks._corpus import SEED, make_corpus
from benchmarks._report import Row
from benchmarks._timing import timed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks._plan import Effort
    from benchmarks._stage import Stage
    from memoriter.types import CompactReport

ROUNDS = 20
AGAINST_FRESH = 1.5
"""DESIGN's budget: a page that holds nothing, or a vector of nobody, may be a third of the file and no more."""
LARGEST = 10_000
"""Chunks; ten times as many would be a million chunks indexed for one row, and the share of waste is the same."""


def churn(stage: Stage, effort: Effort) -> Iterator[Row]:
    """Half of the notes edited twenty times, a sync after each round."""
    del effort
    if stage.size > LARGEST:
        return
    other = make_corpus(stage.size, 0, seed=SEED + 1)
    lines = [line for note in other.notes for line in note.text.splitlines() if line.startswith("- ")]
    source = random.Random(SEED)
    reports: list[CompactReport] = []
    with stage.open_index() as index:
        for _ in range(ROUNDS):
            _round(stage, source, lines)
            stage.sync(index)
        fresh = _fresh(stage)
        seconds = timed(lambda: reports.append(index.compact(max_entries=0, max_bytes=0)))
    (report,) = reports
    before, after = report.bytes_before, report.bytes_after
    yield Row("churn.kept", f"index after {ROUNDS} rounds of editing half the notes", stage.size, before / fresh, "x")
    yield Row(
        "churn.ratio",
        "- without the vectors of text that is gone",
        stage.size,
        after / fresh,
        "x",
        budget=AGAINST_FRESH,
        ratio=True,
    )
    yield Row("churn.compact", "- memoriter compact --unused", stage.size, seconds, "s")


def _round(stage: Stage, source: random.Random, lines: list[str]) -> None:
    """Another line in place of one, in half of the notes."""
    for note in source.sample(stage.corpus.notes, len(stage.corpus.notes) // 2):
        file = stage.notes / note.path
        text = file.read_text(encoding="utf-8").splitlines()
        items = [place for place, line in enumerate(text) if line.startswith("- ")]
        if items:
            text[source.choice(items)] = source.choice(lines)
            file.write_text("\n".join(text) + "\n", encoding="utf-8")


def _fresh(stage: Stage) -> int:
    """Bytes of a new index of the notes as they are now."""
    scratch = stage.folder / "fresh"
    with stage.open_index(scratch / "main.sqlite") as index:
        stage.sync(index)
        size = (scratch / "main.sqlite").stat().st_size
    shutil.rmtree(scratch)
    return size
