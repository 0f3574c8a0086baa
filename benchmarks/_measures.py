"""Every measure by its name, and a run over them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._command import commands, empty_process
from benchmarks._corpus import make_corpus
from benchmarks._embedding import embedding
from benchmarks._indexing import resident, size_on_disk, small_files, syncs
from benchmarks._search import against_statement, warm_search
from benchmarks._stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks._plan import Effort
    from benchmarks._report import Row

SMALLEST_JUDGED = 1_000
"""Chunks or files. Below it fixed costs decide, and no budget speaks of it."""

# What changes the notes comes last.
BY_SIZE: dict[str, Callable[[Stage, Effort], Iterator[Row]]] = {
    "search": warm_search,
    "peer": against_statement,
    "command": commands,
    "memory": resident,
    "size": size_on_disk,
    "sync": syncs,
}
NAMES = ("start", *BY_SIZE, "files", "embed")


@dataclass(frozen=True, slots=True)
class Bench:
    """What to measure."""

    sizes: Sequence[int]
    names: Sequence[str]
    effort: Effort

    def run(self) -> Iterator[Row]:
        """Row after row, in a scratch folder that is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="memoriter-bench-") as folder:
            yield from map(_judged, self._rows(Path(folder)))

    def _rows(self, folder: Path) -> Iterator[Row]:
        if "start" in self.names:
            yield from empty_process(self.effort)
        wanted = [name for name in BY_SIZE if name in self.names]
        for size in self.sizes if wanted else ():
            stage = Stage.make(folder / str(size), size, questions=self.effort.questions)
            for name in wanted:
                yield from BY_SIZE[name](stage, self.effort)
        if "files" in self.names and max(self.sizes) >= self.effort.small_files:
            yield from small_files(folder / "files", self.effort)
        if "embed" in self.names:
            corpus = make_corpus(self.effort.embedded, self.effort.questions)
            yield from embedding(folder / "models", corpus, self.effort)


def _judged(row: Row) -> Row:
    return row if not row.size or row.size >= SMALLEST_JUDGED else replace(row, budget=None)
