"""A workspace of one size with its index, made once for all benchmarks of a run."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._corpus import Corpus, make_corpus
from benchmarks._vectors import WordVectors
from memoriter import Memory
from memoriter.index import Index
from memoriter.search import SearchSettings, clean_query
from memoriter.sync import Sync, SyncSettings, Task, background_of
from memoriter.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import SyncReport

AT_ONCE = {"sync": {"watchDebounceMs": 0}}
"""Every search checks the files, so that the next one finds a change."""
WORDS_ONLY = {"provider": "none"}


@dataclass
class BenchWorkspace:
    """One workspace below `folder`: `notes/` and `home/`."""

    folder: Path
    corpus: Corpus
    size: int
    """The requested number of chunks."""

    @classmethod
    def make(cls, folder: Path, size: int, *, questions: int) -> BenchWorkspace:
        """Write the notes and index them, with vectors that need no model."""
        return cls.of(folder, make_corpus(size, questions), size)

    @classmethod
    def of(cls, folder: Path, corpus: Corpus, size: int) -> BenchWorkspace:
        """Write these notes and index them."""
        workspace = cls(folder, corpus, size)
        corpus.write(workspace.notes)
        workspace.home.mkdir(parents=True)
        with workspace.open_index() as index:
            workspace.sync(index)
        return workspace

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def config(self, settings: dict[str, Any]) -> Path:
        """Write a configuration file with these search settings, and return its path."""
        file = self.folder / "settings.json5"
        file.write_text(json.dumps({"agents": {"defaults": {"memorySearch": settings}}}), encoding="utf-8")
        return file

    @cached_property
    def index_path(self) -> Path:
        """The path of the index of these notes."""
        with self.memory() as memory:
            return Path(memory.status().index)

    @cached_property
    def provider(self) -> WordVectors:
        return WordVectors()

    @cached_property
    def questions(self) -> list[tuple[str, NDArray[np.float32]]]:
        """The questions with their vectors."""
        texts = [clean_query(text) for text in self.corpus.questions]
        return list(zip(texts, self.provider.embed(texts, role="query"), strict=True))

    def memory(self, config: Path | None = None) -> Memory:
        """Open the memory as a user does."""
        return Memory.open(self.notes, home=self.home, config=config)

    def open_index(self, path: Path | None = None) -> Index:
        """Open the index, with vectors under the name of the bundled model."""
        index = Index.open(path or self.index_path, clock=time.monotonic)
        index.use_vectors(self.provider.spec)
        return index

    def sync(self, index: Index, *, words_only: bool = False, force: bool = False) -> SyncReport:
        """Do what `memoriter index` does, with the substitute for the model."""
        run = Sync(Workspace(self.notes), index, SyncSettings(), time.perf_counter)
        return run.run(None if words_only else lambda: self.provider, Task(force=force))

    def settings(self, index: Index) -> SearchSettings:
        """Return the settings with which memoriter searches this index."""
        return SearchSettings(background=background_of(index, self.provider.spec))
