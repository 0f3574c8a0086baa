"""The index of one agent: its files, chunks, terms and vectors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from memoriter.index._open_file import OpenFile
from memoriter.index._reader import IndexReader
from memoriter.index._upkeep import FORGETTING, Upkeep
from memoriter.index.files import _files
from memoriter.index.store import _connection
from memoriter.index.store._soundness import check_file, check_if_changed, translate_errors
from memoriter.index.vectors import _cache

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index.vectors import EngineName
    from memoriter.records import ChunkRecord
    from memoriter.types import CompactReport, ModelSpec, Source


class Index(IndexReader):
    """An open index file, and the operations on it.

    Any method may raise `IndexBusy` (another process writes for too long), `IndexDamaged` (call `quarantine` and try
    again) or another `IndexUnavailable`; each has a remedy. Several threads may share one object and take turns. Other
    processes may read and write the same file at the same time.
    """

    def __init__(self, file: OpenFile) -> None:
        """Take an open file; use `open`."""
        super().__init__(file)
        self._upkeep = Upkeep(file)

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float], network: bool | None = None) -> Self:
        """Open the index, creating or replacing the file if needed; `notices` reports what was done.

        `clock` returns seconds since 1970. `network` states whether the file is on a network file system; None: detect.
        """
        return cls(OpenFile.open(path, clock=clock, network=network))

    def close(self) -> None:
        """Close the file; no other method may be called afterwards."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> bool:
        """Reopen the index if its path leads to another file or to none, and return whether it did. Costs one `stat`.

        The result is also True if `storing` has switched to another file since the last call.
        """
        return self._file.refresh()

    def quarantine(self) -> None:
        """Set the file aside after `IndexDamaged` and start a new, empty one, unless another process has done so."""
        self._file.quarantine()

    def check(self) -> None:
        """Check the structure of the whole file and that its tables agree. Raises IndexDamaged."""
        if (opened := self._file.opened) is not None and not self.read_only:
            with translate_errors(self.path):
                check_file(opened.file)

    def check_if_changed(self) -> None:
        """Check the whole file if something other than indexing changed it. Raises IndexDamaged."""
        if (opened := self._file.opened) is not None and not self.read_only:
            with translate_errors(self.path):
                check_if_changed(opened.file, self._file.storage.seal, self._file.storage.lease)

    # the rights to index, to embed and to watch

    def lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to index, for one thread of one process. Raises IndexBusy after `wait` seconds.

        On exit, vectors are prepared for searching. If no other process is reading, deleted text is then removed from
        the file; in a large index, only after many deletions.
        """
        return self._upkeep.indexing(wait)

    def storing(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to index for one short write of vectors to the active file. Raises IndexBusy as `lease` does.

        Unlike `lease`, it neither prepares searches nor removes deleted text on exit.
        """
        return self._file.storing(wait)

    def embedding_lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to compute vectors. Raises IndexBusy after `wait` seconds.

        It is separate from the right to index, so a slow provider does not delay keyword indexing.
        """
        return self._file.embedding(wait)

    def background_lease(self) -> AbstractContextManager[None]:
        """Hold the right to be the one run in the background. Raises IndexBusy if another process has it."""
        return self._file.background()

    def watch_lease(self) -> AbstractContextManager[None]:
        """Hold the right to watch, separate from the right to index. Raises IndexBusy if another process watches."""
        return self._file.watching()

    # content

    def set_meta(self, key: str, value: str) -> None:
        """Store a setting."""
        with self._file.writing() as connection:
            _connection.set_meta(connection, key, value)

    def drop_meta(self, key: str) -> None:
        """Delete a setting; do nothing if it does not exist."""
        with self._file.writing() as connection:
            _connection.drop_meta(connection, key)

    def put_file(
        self,
        source: Source,
        hash: str,  # noqa: A002 (named as in `IndexedFile`)
        entries: Sequence[ChunkRecord],
        *,
        keep: int = 0,
        tail: str = "",
        tags: Collection[str] = (),
        names: Collection[str] = (),
    ) -> None:
        """Replace all stored data of a file, in one transaction. Its chunks get consecutive new ids in file order.

        Args:
            source: the file.
            hash: identifies its content.
            entries: its chunks, starting after the ones that are kept.
            keep: number of stored chunks, from the first, that stay as they are.
            tail: how far the file was read, for the next incremental read.
            tags: its tags, folded.
            names: the names by which links lead to it, as `folding.fold_name` returns them.
        """
        with self._file.writing() as connection:
            change = _files.put(connection, source, hash, entries, keep=keep, tail=tail, tags=tags, names=names)
            _cache.mark_used(connection, change.added, now=self._file.clock())
            self._file.vectors.apply_change(change)
        self._file.mark_stored(source.path)

    def touch_file(self, source: Source, *, tail: str | None = None) -> None:
        """Update size, time and read position of a file whose indexed content has not changed."""
        with self._file.writing() as connection:
            _files.touch(connection, source, tail)
        self._file.mark_stored(source.path)

    def remove_files(self, paths: Collection[str]) -> None:
        """Delete files and their chunks, in one transaction; unknown paths are ignored."""
        with self._file.writing() as connection:
            self._file.vectors.apply_change(_files.remove(connection, paths))

    def choose_engine(self, name: EngineName) -> None:
        """Select the vector engine; `auto` picks by size."""
        self._file.choose_engine(name)

    def use_vectors(self, spec: ModelSpec) -> None:
        """Activate this model's vector set and keep the others. Raises EmbeddingError if its dimensions changed."""
        self._file.use_vectors(spec)

    def put_vectors(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store vectors, (n, dims), under their keys, in one transaction. Raises BadVector if one does not fit."""
        with self._file.writing():
            self._file.vectors.put(keys, vectors, now=self._file.clock())

    def take_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        """Return no keys; see `shared_vectors`."""
        del keys
        return set()

    def put_failure(self, key: bytes, message: str) -> None:
        """Record that a text cannot be embedded, so that it is not sent again."""
        with self._file.writing() as connection:
            _cache.record_failure(connection, self._file.vectors.active(), key, message, now=self._file.clock())

    def clear_failures(self) -> None:
        """Delete the recorded failures of the active set, so that those texts are tried again."""
        with self._file.writing() as connection:
            _cache.clear_failures(connection, self._file.vectors.active())
            self._file.vectors.forget_progress()

    def evict(self, *, max_entries: int, max_bytes: int) -> int:
        """Shrink the vector store, over all sets, to these limits and return the number of evicted vectors.

        Only vectors that no chunk refers to are evicted, the least recently used first.
        """
        with self._file.writing() as connection:
            return _cache.evict(connection, max_entries=max_entries, max_bytes=max_bytes)

    # upkeep

    def settle(self) -> None:
        """Prepare now what the next vector search would otherwise have to prepare."""
        self._upkeep.settle()

    def purge(self) -> None:
        """Remove deleted text from the file permanently and release free space, without waiting for other processes."""
        self._upkeep.purge()

    @contextmanager
    def rebuild(self, *, vectors: bool = True) -> Generator[Self]:
        """Build a new index that has the vectors of this one and replaces it at the end, unless something fails.

        Without `vectors`, the new index has only the vectors of models that are not active. This index remains usable
        meanwhile. Where the file system has no symbolic links, files are replaced one by one in this index, and files
        that were not stored again are removed at the end.
        """
        with self._upkeep.rebuild(vectors=vectors) as file:
            yield self if file is self._file else type(self)(file)

    def compact(self, *, max_entries: int, max_bytes: int, damaged: bool = False, wait: float = 0.0) -> CompactReport:
        """Make the file as small as possible while holding the lease; search results do not change.

        Vectors are evicted as by `evict`; `damaged` also deletes indexes that were set aside. This needs free disk
        space of the size of the index. Raises IndexBusy if another process is still indexing after `wait` seconds.
        """
        return self._upkeep.compact(max_entries=max_entries, max_bytes=max_bytes, damaged=damaged, wait=wait)

    def begin_forgetting(self) -> None:
        """Record that text is about to be removed from notes, so that another process can finish after a kill."""
        self.set_meta(FORGETTING, "1")

    def end_forgetting(self) -> None:
        """Record that nothing has to be forgotten any more, or that no note was changed."""
        self.drop_meta(FORGETTING)

    def forget(self) -> CompactReport:
        """Delete everything from disk that no note contains any more: words, vectors, codes, logs, damaged copies.

        Index the current notes first, under the same lease.
        """
        return self._upkeep.forget()


class InspectedIndex(Index):
    """An index that is only read: it creates and changes no file, stays at the file it opened, and refuses leases."""

    @classmethod
    def inspect(cls, path: Path, *, clock: Callable[[], float]) -> Self:
        """Open the index; it is empty if there is no file, or if the file cannot serve, which `notices` reports.

        `clock` returns seconds since 1970.
        """
        return cls(OpenFile.inspect(path, clock=clock))
