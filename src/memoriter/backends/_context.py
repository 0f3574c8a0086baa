"""What every act of the builtin backend works with."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from memoriter.backends._scope import NOTES_ARE_OFF
from memoriter.errors import IndexBusy, IndexDamaged, IndexUnavailable
from memoriter.index import Index
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.backends._embedding import Embedding
    from memoriter.backends._settings import BackendSettings, Clocks
    from memoriter.workspace import Workspace

_T = TypeVar("_T")


@dataclass(slots=True)
class BackendContext:
    """The notes, the index of them, which is opened when it is first asked for, and who embeds."""

    workspace: Workspace
    settings: BackendSettings
    embedding: Embedding
    clocks: Clocks
    renewals: int = 0
    """How often another index file took the place of the one that was open."""
    _index: Index | None = None
    _gate: threading.RLock = field(default_factory=threading.RLock)
    """Held while the index is opened or changes its file."""

    @property
    def index(self) -> Index:
        """The open index, the current generation of it."""
        with self._gate:
            if self._index is None:
                told = self.settings
                index = Index.open(told.index_path, clock=self.clocks.wall, network=told.network)
                self._prepare(index)
                self._index = index
            elif self._index.refresh():
                self._prepare(self._index)
                self.renewals += 1
            return self._index

    @property
    def closed(self) -> Diagnostic | None:
        """Return why nothing that is written to notes now can be found; the index is not opened for that."""
        if "memory" not in self.settings.sources:
            return NOTES_ARE_OFF
        if self._index is not None:
            reading = (notice for notice in self.index.notices if notice.code == "index_read_only")
            return next(reading, None)
        file = self.settings.index_path
        there = next(path for path in (file, *file.parents) if path.exists())
        if os.access(there, os.W_OK) and os.access(there if there.is_dir() else there.parent, os.W_OK):
            return None
        message = f"{str(there)!r} cannot be written, so the index does not take up what is new."
        return Diagnostic("index_read_only", message, "Make it writable, or set memorySearch.store.path.")

    def _prepare(self, index: Index) -> None:
        index.choose_engine(self.settings.engine, self.settings.extension_path)
        if (spec := self.embedding.spec) is not None:
            index.use_vectors(spec)

    def follow_provider(self) -> None:
        """Let the vectors be those of the provider that serves now."""
        self.embedding.look()
        spec = self.embedding.spec
        if spec is not None and spec != self.index.spec:
            self.index.use_vectors(spec)

    @property
    def serving(self) -> bool:
        """Whether the vector leg would serve, without loading a model."""
        able = not self.embedding.problem and not self.embedding.trouble and not self.embedding.refusal(0)
        return self.embedding.spec is not None and able and self.index.vectors() > 0

    def with_recovery(self, act: Callable[[], _T], tries: int = 2) -> _T:
        """Do it; if the index turns out to be damaged or another one by now, once more with a fresh one."""
        before = self.renewals
        try:
            return act()
        except IndexDamaged as error:
            if not self._recover(error, before) and tries:
                return self.with_recovery(act, tries - 1)
        except IndexBusy:
            raise
        except IndexUnavailable:
            with self._gate:
                if self.renewals == before:
                    if self._index is None or not self._index.refresh():
                        raise
                    self._prepare(self._index)
                    self.renewals += 1
        return act()

    def _recover(self, error: IndexDamaged, before: int) -> bool:
        """Set a damaged index aside and start a fresh one: the files hold everything.

        Returns:
            False where another file serves by now, which may be whole: another thread has set this one aside.
        """
        with self._gate:
            index = self._index
            if index is None:
                raise error
            if self.renewals != before:
                return False
            index.quarantine()
            self._prepare(index)
            self.renewals += 1
            return True

    def close(self) -> None:
        """Let go of files and models."""
        if self._index is not None:
            self._index.close()
            self._index = None
        self.embedding.close()
