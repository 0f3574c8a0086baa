"""Work on a whole index file: prepare it for searches, purge, compact, rebuild and forget."""

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index import _opening
from memoriter.index.files import _files, _queries
from memoriter.index.store import _connection
from memoriter.index.store._connection import connect, logged, set_counter
from memoriter.index.store._create import vacuum
from memoriter.index.store._soundness import translate_errors
from memoriter.index.vectors import _cache, _segments
from memoriter.index.vectors._cache import VectorSet
from memoriter.types import CompactReport

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path

    from memoriter.index._open_file import OpenFile
    from memoriter.index.store._connection import Database
    from memoriter.index.store._generations import IndexFiles

FORGETTING = "forgetting"
"""The setting that is stored while forgetting is in progress, so that a later process can finish it."""
_LOGS = ("", "-wal", "-journal")


class Upkeep:
    """The operations on the whole of an open index file. Each holds the right to index where it needs it."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    @contextmanager
    def indexing(self, wait: float) -> Generator[None]:
        """Hold the right to index; on exit, prepare vectors for searching and purge deleted text if that is due."""
        file = self._file
        with file.indexing(wait):
            try:
                yield
                with suppress(IndexUnavailable):
                    self.settle()
            finally:
                with suppress(IndexUnavailable):
                    self.purge(always=False)
                if file.opened is not None and file.mode == "serve":
                    file.storage.seal.write(file.opened.file)

    def settle(self) -> None:
        """Prepare now what the next vector search would otherwise have to prepare."""
        file = self._file
        with file.lock:
            if not file.closed:
                with file.reading():
                    file.vectors.settle(file.version)

    def purge(self, *, always: bool = True) -> None:
        """Remove deleted text from the file and release free space; in a large index only if much was deleted.

        With `always`, remove it in any case.
        """
        file = self._file
        with file.lock:
            if file.closed:
                return
            with file.reading() as connection:
                deleted = _connection.counter(connection, "deleted")
                chunks = file.counts.corpus(connection).chunks if deleted else 0
                if deleted and (always or _queries.is_purge_due(deleted, chunks)):
                    with _connection.transaction(connection):
                        _queries.purge(connection)
                _connection.vacuum_and_checkpoint(connection)

    # rebuilding

    @contextmanager
    def rebuild(self, *, vectors: bool) -> Generator[OpenFile]:
        """Build a new index with the vectors of this one and replace this one with it at the end; yield what to fill.

        Without `vectors`, the vectors of the active model are left out. Where the file system has no symbolic links,
        files are replaced one by one in this index, and files that were not stored again are removed at the end.
        """
        with logged("rebuild"), self.indexing(0.0):
            if self._file.storage.can_link():
                with self._build_generation(vectors=vectors) as fresh:
                    yield fresh
                self._file.refresh()
            else:
                with self._rebuild_in_place(vectors=vectors):
                    yield self._file

    @contextmanager
    def _build_generation(self, *, vectors: bool) -> Generator[OpenFile]:
        file = self._file
        with translate_errors(file.path):
            target = file.storage.next_generation(file.generation)
        fresh = file.sibling()
        upkeep = Upkeep(fresh)
        try:
            with translate_errors(file.path):
                fresh.adopt(self._create_with_vectors(target, vectors=vectors))
            yield fresh
            upkeep.settle()
            upkeep.purge()
            fresh.close()
            with translate_errors(file.path):
                file.storage.publish(target)
        except BaseException:
            with suppress(IndexUnavailable):
                fresh.close()
            file.storage.discard(target)
            raise

    def _create_with_vectors(self, target: Path, *, vectors: bool) -> _opening.OpenedFile:
        file = self._file
        without = None if vectors or file.spec is None else file.vectors.active()
        source = str(file.opened.file) if file.opened is not None else None
        return _opening.build_from(file.storage, target, source, without, network=file.network)

    @contextmanager
    def _rebuild_in_place(self, *, vectors: bool) -> Generator[None]:
        file = self._file
        if not vectors and file.spec is not None:
            with file.writing() as connection:
                _cache.drop_set(connection, file.vectors.active())
                file.vectors.forget_progress()
        file.stored_paths = set()
        try:
            yield
            kept = file.stored_paths
            file.stored_paths = None
            with file.writing() as connection:
                file.vectors.apply_change(_files.remove(connection, _files.listing(connection).keys() - kept))
        finally:
            file.stored_paths = None

    # compacting and forgetting

    def compact(self, *, max_entries: int, max_bytes: int, damaged: bool, wait: float) -> CompactReport:
        """Make the file as small as possible; search results do not change.

        Args:
            max_entries: the most vectors to keep; vectors that chunks refer to are always kept.
            max_bytes: the most bytes of vectors to keep, likewise.
            damaged: whether to delete the indexes that were set aside.
            wait: seconds to wait for the right to index.
        """
        file = self._file
        with self.indexing(wait):
            file.refresh()
            with file.reading():
                before = _disk_bytes(file.storage)
            with file.writing() as connection:
                evicted = _cache.evict(connection, max_entries=max_entries, max_bytes=max_bytes)
            with file.writing() as connection:
                _tidy(connection)
            with file.reading():
                # The engine updates its data in the file before the file is rewritten.
                file.vectors.at((0,), version=file.version)
            with file.reading() as connection:
                unused = _count_unused(connection)
                _rewrite(file.storage, after=file.generation, network=file.network)
            file.refresh()
        with translate_errors(file.path):
            aside, aside_bytes = _damaged_files(file.storage, remove=damaged)
            after = _disk_bytes(file.storage)
        return CompactReport(before, after, evicted, unused, aside, aside_bytes, damaged_removed=damaged)

    def forget(self) -> CompactReport:
        """Delete everything from disk that no note contains any more: words, vectors, codes, logs, damaged copies."""
        file = self._file
        with self.indexing(0.0):
            with file.writing() as connection:
                _drop_leftovers(connection)
            report = self.compact(max_entries=0, max_bytes=0, damaged=True, wait=0.0)
            with translate_errors(file.path):
                file.storage.clean()
            if self._is_log_in_use():
                message = f"Another process is still reading the old content of {str(file.path)!r}."
                raise IndexBusy(message, remedy="Close it, then run `memoriter index`.")
            with file.writing() as connection:
                _connection.drop_meta(connection, FORGETTING)
        return report

    def _is_log_in_use(self) -> bool:
        """Return whether an open reader keeps old pages in the log of a plain file; a generation is a separate file."""
        with translate_errors(self._file.path):
            if self._file.storage.can_link():
                return False
        self.purge()
        return _log_bytes(self._file.storage) > 0


def _disk_bytes(storage: IndexFiles) -> int:
    """Return the size in bytes of the active file and its log."""
    file = storage.target() or storage.path
    parts = (file.with_name(file.name + log) for log in _LOGS)
    return sum(part.stat().st_size for part in parts if part.exists())


def _log_bytes(storage: IndexFiles) -> int:
    """Return the size in bytes of the log beside the active file."""
    file = storage.target() or storage.path
    log = file.with_name(f"{file.name}-wal")
    return log.stat().st_size if log.exists() else 0


def _tidy(connection: Database) -> None:
    """Merge the word index into one piece. Expects an open transaction."""
    # `purge` does nothing unless chunks were deleted; here it is always worth its time.
    set_counter(connection, "deleted", 1)
    _queries.purge(connection)


def _count_unused(connection: Database) -> int:
    """Return the number of vectors that no chunk or item refers to."""
    statement = f"SELECT count(*) FROM embedding_cache AS known WHERE {_cache.UNUSED}"  # noqa: S608 (fixed text)
    return int(connection.execute(statement).get)


@logged("compact")
def _rewrite(storage: IndexFiles, *, after: int, network: bool) -> None:
    """Write the index densely into a generation past `after` and activate it; if that fails, nothing changes.

    Where the file system has no symbolic links, the file is rewritten in place, which needs twice as much free disk
    space.
    """
    # Use a separate connection, because an unfinished statement would block VACUUM.
    with closing(connect(storage.target() or storage.path, network=network)) as connection:
        if not storage.can_link():
            vacuum(connection)
            return
        fresh = storage.next_generation(after)
        try:
            # VACUUM INTO writes pages before the first one, which says that pages have checksums.
            with closing(connect(fresh, network=network, create=True)) as copy:
                with cast("Any", copy).backup("main", connection, "main") as backup:
                    backup.step()
                vacuum(copy)
            storage.publish(fresh)
        except BaseException:
            storage.discard(fresh)
            raise


def _damaged_files(storage: IndexFiles, *, remove: bool) -> tuple[tuple[str, ...], int]:
    """Return the names of damaged indexes beside this one, with their logs, and their total bytes.

    If `remove`, delete them.
    """
    start = f"{storage.path.name}.damaged-"
    damaged = sorted(file for file in storage.path.parent.iterdir() if file.name.startswith(start))
    size = sum(file.lstat().st_size for file in damaged)
    for file in damaged if remove else ():
        file.unlink(missing_ok=True)
    return tuple(file.name for file in damaged), size


def _drop_leftovers(connection: Database) -> None:
    """Delete codes, failures and baselines that deleted text has left."""
    rows = cast(
        "Iterable[tuple[int, str, int]]",
        connection.execute("SELECT id, fingerprint, dimensions FROM sets").fetchall(),
    )
    for vector_set in (VectorSet(*row) for row in rows):
        if _segments.exists(connection, vector_set):
            _segments.reconcile(connection, vector_set)
            _segments.rewrite_dead_segments(connection, vector_set)
    connection.execute(f"DELETE FROM failures AS known WHERE {_cache.UNUSED}")  # noqa: S608 (fixed text)
    connection.execute("DELETE FROM meta WHERE key GLOB 'background:*'")
