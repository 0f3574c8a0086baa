"""The benchmarks by name, and a run over them."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._busy import busy
from benchmarks._churn import churn
from benchmarks._cold import cold
from benchmarks._command import commands, empty_process
from benchmarks._corpus import make_bullets, make_corpus
from benchmarks._embedding import embedding
from benchmarks._handshake import handshakes
from benchmarks._hooks import hooks
from benchmarks._indexing import resident, size_on_disk, small_files, syncs
from benchmarks._items import LARGEST, first_index_of_items, indexing_of_items, search_of_items
from benchmarks._journal import journal
from benchmarks._report import SMALLEST_WITH_BUDGET
from benchmarks._search import against_statement, warm_search
from benchmarks._verification import verification
from benchmarks._web import web
from benchmarks._workspace import BenchWorkspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks._effort import Effort
    from benchmarks._report import Row

LARGEST_WORKSPACE = 100_000
"""Chunks. Above this size, only searches are measured, because so many files would mostly measure the disk."""

# Benchmarks that change the notes come last.
OF_A_WORKSPACE: dict[str, Callable[[BenchWorkspace, Effort], Iterator[Row]]] = {
    "peer": against_statement,
    "command": commands,
    "cold": cold,
    "hook": hooks,
    "busy": busy,
    "web": web,
    "memory": resident,
    "size": size_on_disk,
    "verify": verification,
    "sync": syncs,
    "journal": journal,
    "churn": churn,
}
NAMES = ("start", "search", "items", *OF_A_WORKSPACE, "files", "embed")


@dataclass(frozen=True, slots=True)
class Bench:
    """The benchmarks to run, their sizes and their effort."""

    sizes: Sequence[int]
    names: Sequence[str]
    effort: Effort

    def run(self) -> Iterator[Row]:
        """Yield the rows, using a temporary folder."""
        with tempfile.TemporaryDirectory(prefix="memoriter-bench-") as folder:
            yield from map(_without_budget_if_small, self._rows(Path(folder)))

    def _rows(self, folder: Path) -> Iterator[Row]:
        if "start" in self.names:
            yield from empty_process(self.effort)
            yield from handshakes(self.effort)
        for size in self.sizes:
            yield from self._of_size(folder / str(size), size)
        if "files" in self.names and max(self.sizes) >= self.effort.small_files:
            yield from small_files(folder / "files", self.effort)
        if "embed" in self.names:
            corpus = make_corpus(self.effort.embedded, self.effort.questions)
            yield from embedding(folder / "models", corpus, self.effort)
            yield from first_index_of_items(folder / "models", make_bullets(self.effort.embedded), self.effort)

    def _of_size(self, folder: Path, size: int) -> Iterator[Row]:
        if "search" in self.names:
            yield from warm_search(folder, size, self.effort)
        if "items" in self.names and size <= LARGEST_WORKSPACE:
            yield from search_of_items(folder, size, self.effort)
            if size <= LARGEST:
                yield from indexing_of_items(folder, make_bullets(size), size)
        wanted = [name for name in OF_A_WORKSPACE if name in self.names and size <= LARGEST_WORKSPACE]
        if wanted:
            workspace = BenchWorkspace.make(folder / "workspace", size, questions=self.effort.questions)
        for name in wanted:
            yield from OF_A_WORKSPACE[name](workspace, self.effort)
        shutil.rmtree(folder, ignore_errors=True)


def _without_budget_if_small(row: Row) -> Row:
    return row if not row.size or row.size >= SMALLEST_WITH_BUDGET else replace(row, budget=None)
