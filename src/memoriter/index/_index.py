"""The index of one agent: its files, chunks, terms and vectors, and the work of compacting and forgetting on it."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from math import log1p
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index import _connection, _content
from memoriter.index._connection import (
    WriteInSnapshotError,
    connect,
    increment,
    logged,
    set_counter,
    snapshot,
    translate_errors,
)
from memoriter.index._files import BACKGROUND, GENERATION, remove, vacuum
from memoriter.index._open_file import OpenFile, check_file
from memoriter.index.vectors import _cache, _segments
from memoriter.index.vectors._cache import VectorSet
from memoriter.types import CompactReport, Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from threading import Event

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._connection import Database
    from memoriter.index._files import IndexFiles
    from memoriter.index.vectors import EngineName
    from memoriter.records import ChunkRecord, Corpus, IndexedFile, ScoringRow, StoredChunk
    from memoriter.types import Diagnostic, ModelSpec, ScriptBaselines, Source


_EVERYTHING = Filters()
FORGETTING = "forgetting"
"""The setting that is stored while forgetting is in progress, so that a later process can finish it."""


class IndexReader:
    """Reads an open index file: the file as it is at each call, or one state of it. `Store` describes the methods."""

    def __init__(self, file: OpenFile, reading: Callable[[], AbstractContextManager[Database]]) -> None:
        """Take an open file; `reading` gives its connection, with the lock or to a thread that has it already."""
        self._file = file
        self._reading = reading

    @property
    def generation(self) -> int:
        return self._file.generation

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        opened = self._file.opened
        # That an index is only inspected is no news.
        reason = opened.read_only_reason if opened and not self._file.inspected else None
        return (*self._file.notices, reason) if reason else tuple(self._file.notices)

    @property
    def read_only(self) -> bool:
        return self._file.read_only

    @property
    def engine(self) -> EngineName:
        with self._reading():
            return self._file.vectors.engine

    @property
    def oversampling(self) -> int | None:
        with self._reading():
            measured = self._file.vectors.oversampling
        return measured.oversampling if measured else None

    @property
    def work_left(self) -> tuple[Diagnostic, ...]:
        """No diagnostics: whoever may index a file may do all work on it."""
        return ()

    @property
    def recall(self) -> float | None:
        with self._reading():
            measured = self._file.vectors.oversampling
        return measured.recall if measured else None

    @property
    def spec(self) -> ModelSpec | None:
        return self._file.spec

    @property
    def forgetting(self) -> bool:
        return self.get_meta(FORGETTING) is not None

    def version(self) -> int:
        with self._reading():
            return self._file.version

    # settings stored with the content

    def get_meta(self, key: str) -> str | None:
        with self._reading() as connection:
            return _connection.get_meta(connection, key)

    def metas(self, prefix: str) -> dict[str, str]:
        with self._reading() as connection:
            return _connection.metas(connection, prefix)

    # files and chunks

    def files(self) -> dict[str, IndexedFile]:
        with self._reading() as connection:
            return self._file.counts.listing(connection)

    def files_at(self, paths: Collection[str]) -> dict[str, IndexedFile]:
        with self._reading() as connection:
            return _content.listing_of(connection, paths)

    def corpus(self) -> Corpus:
        with self._reading() as connection:
            return self._file.counts.corpus(connection)

    def content(self) -> int:
        with self._reading() as connection:
            return _connection.counter(connection, "content")

    def content_version(self) -> str:
        with self._reading() as connection:
            return f"{self._file.generation}-{_connection.counter(connection, 'content')}"

    def count(self, filters: Filters) -> int:
        with self._reading() as connection:
            return _content.count(connection, filters)

    def newest(self, filters: Filters, limit: int) -> list[int]:
        with self._reading() as connection:
            return _content.newest(connection, filters, limit)

    def passing(self, ids: Collection[int], filters: Filters) -> set[int]:
        with self._reading() as connection:
            return _content.passing(connection, ids, filters)

    def rows(self, ids: Collection[int]) -> dict[int, StoredChunk]:
        with self._reading() as connection:
            return _content.rows(connection, ids)

    def scoring_rows(self, ids: Collection[int]) -> dict[int, ScoringRow]:
        with self._reading() as connection:
            return _content.scoring_rows(connection, ids)

    def ids_at(self, path: str) -> list[int]:
        with self._reading() as connection:
            return _content.ids_at(connection, path)

    def all_ids(self) -> list[int]:
        with self._reading() as connection:
            return _content.all_ids(connection)

    def places_of(self, text: str) -> list[tuple[str, int, int]]:
        with self._reading() as connection:
            return _content.chunks_with(connection, text)

    # keywords

    def keyword_search(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        filters: Filters = _EVERYTHING,
        frequency: Mapping[str, int] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> list[tuple[int, float]]:
        counts = self.document_frequency(terms) if frequency is None else frequency
        if weights is None:
            chunks = self.corpus().chunks
            weights = {term: log1p(chunks / max(count, 1)) for term, count in counts.items()}
        with self._reading() as connection:
            return _content.search(connection, terms, limit=limit, filters=filters, frequency=counts, weights=weights)

    def keyword_search_all(
        self, terms: Sequence[str], *, limit: int, filters: Filters = _EVERYTHING
    ) -> list[tuple[int, float]]:
        with self._reading() as connection:
            return _content.search_all(connection, terms, limit=limit, filters=filters)

    def document_frequency(self, terms: Collection[str]) -> dict[str, int]:
        with self._reading() as connection:
            return self._file.counts.document_frequency(connection, terms)

    def other_names(self, names: Collection[str]) -> dict[str, list[str]]:
        with self._reading() as connection:
            return _content.other_names(connection, names)

    # vectors

    def missing(self, limit: int, *, of: Collection[int] = ()) -> list[tuple[bytes, str]]:
        with self._reading():
            return self._file.vectors.missing(limit, of=of)

    def pending(self) -> int:
        with self._reading():
            return self._file.vectors.waiting(self._file.version)[1]

    def waiting(self) -> int:
        with self._reading():
            return self._file.vectors.waiting(self._file.version)[0]

    def failures(self) -> int:
        with self._reading():
            return self._file.vectors.counts(self._file.version)[1]

    def vectors(self) -> int:
        with self._reading():
            return self._file.vectors.counts(self._file.version)[0]

    def referenced(self, keys: Collection[bytes]) -> set[bytes]:
        with self._reading() as connection:
            return _cache.referenced(connection, keys)

    def vector_search(
        self,
        query: NDArray[np.float32],
        *,
        limit: int,
        filters: Filters = _EVERYTHING,
        levels: ScriptBaselines | None = None,
    ) -> list[tuple[int, float]]:
        with self._reading():
            return self._file.vectors.nearest(
                query, limit=limit, filters=filters, baselines=levels, version=self._file.version
            )

    def cosines(self, query: NDArray[np.float32], ids: Collection[int]) -> dict[int, float]:
        with self._reading():
            return self._file.vectors.cosines(query, ids, version=self._file.version)

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        with self._reading():
            return self._file.vectors.at(ids, version=self._file.version)

    def item_vectors(self, ids: Collection[int]) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
        with self._reading():
            return self._file.vectors.of_items(ids)

    def sample(self, count: int) -> tuple[list[str], NDArray[np.float32]]:
        with self._reading():
            return self._file.vectors.sample_texts(count, version=self._file.version)

    def providers(self) -> set[str]:
        with self._reading() as connection:
            return _cache.providers(connection)

    def models(self) -> dict[ModelSpec, int]:
        with self._reading() as connection:
            return _cache.models(connection)

    def stored_vectors(self, after: bytes, limit: int) -> tuple[list[bytes], NDArray[np.float32]]:
        with self._reading():
            return self._file.vectors.stored(after, limit)

    def having_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        with self._reading() as connection:
            return _cache.having(connection, self._file.vectors.active(), keys)

    def refused(self) -> dict[bytes, str]:
        with self._reading() as connection:
            return _cache.refused(connection, self._file.vectors.active())

    def vector_keys(self) -> set[bytes]:
        with self._reading() as connection:
            return _cache.keys_of_chunks(connection)


_T = TypeVar("_T")
_ATTEMPTS = 3
"""The most attempts to read one state. Other processes may change the vectors meanwhile, but not each time."""
BACKGROUND_WAIT = 0.2
"""Seconds that a run in the background waits for another one; it may just be ending."""
LOOK_SECONDS = 1.0
"""How often `changes` looks at the file."""


class Index(IndexReader):
    """An open index file, and the operations on it.

    Any method may raise `IndexBusy` (another process writes for too long), `IndexDamaged` (call `quarantine` and try
    again) or another `IndexUnavailable`; each has a remedy. Several threads may share one object and take turns. Other
    processes may read and write the same file at the same time.
    """

    def __init__(self, file: OpenFile) -> None:
        """Take an open file; use `open`."""
        super().__init__(file, file.reading)
        self.path: Path = file.path
        """The path of the index."""

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float], network: bool | None = None) -> Self:
        """Open the index, creating or replacing the file if needed; `notices` reports what was done.

        `clock` returns seconds since 1970. `network` states whether the file is on a network file system; None: detect.
        """
        return cls(OpenFile.open(path, clock=clock, network=network))

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> bool:
        """Reopen the index if another file, or none, is at its path, and return whether it did. Costs one `stat`.

        The result is also True if `storing` has switched to another file since the last call.
        """
        return self._file.refresh()

    def quarantine(self) -> None:
        """Build a new index in the place of the file after `IndexDamaged`, unless another process has done so.

        It takes over the vectors that can be read. The damaged file is set aside.
        """
        self._file.quarantine()

    def check(self) -> None:
        if self._file.opened is not None and not self.read_only:
            with translate_errors(self.path):
                check_file(self.path)

    def size_on_disk(self) -> int:
        return disk_bytes(self.path)

    def at_one_state(self, read: Callable[[IndexReader], _T]) -> _T:
        """Return the result of `read`, which gets one state of the index, for this thread. It may run several times.

        A read that has to prepare vectors needs to write; then it runs once outside of a snapshot before.
        """
        with self._file.reading() as connection:
            state = IndexReader(self._file, partial(nullcontext, connection))
            for _ in range(_ATTEMPTS):
                with suppress(WriteInSnapshotError), snapshot(connection):
                    return read(state)
                read(state)
            return read(state)

    def changes(self, stop: Event) -> Generator[str]:
        """Yield `content_version` now, and again within `LOOK_SECONDS` after a change by any process.

        End once `stop` is set, or when the path leads to another file, which `refresh` opens.
        """
        seen = ""
        while not stop.is_set() and self._file.is_current:
            if (version := self.content_version()) != seen:
                seen = version
                yield version
            stop.wait(LOOK_SECONDS)

    # the rights to index, to embed and to watch

    @contextmanager
    def lease(self, *, wait: float = 0.0) -> Generator[None]:
        """Hold the right to index, for one thread of one process. Raises IndexBusy after `wait` seconds.

        On exit, vectors are prepared for searching. If no other process is reading, deleted text is then removed from
        the file; in a large index, only after many deletions.
        """
        with self._file.lock:
            lease = self._file.storage.lease
            self._file.check_writable()
        with ExitStack() as stack:
            with translate_errors(self.path):
                stack.enter_context(lease.hold(wait))
            try:
                yield
                with suppress(IndexUnavailable):
                    self.settle()
            finally:
                with suppress(IndexUnavailable):
                    self._purge(always=False)

    @contextmanager
    def storing(self, *, wait: float = 0.0) -> Generator[None]:
        """Hold the right to index for one short write of vectors to the present file. Raises IndexBusy as `lease` does.

        Unlike `lease`, it neither prepares searches nor removes deleted text on exit.
        """
        with self._file.lock:
            lease = self._file.storage.lease
        with ExitStack() as stack:
            with translate_errors(self.path):
                stack.enter_context(lease.hold(wait))
            self._file.replaced = self._file.refresh()
            yield

    def embedding_lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to compute vectors. Raises IndexBusy after `wait` seconds.

        It is separate from the right to index, so a slow provider does not delay keyword indexing.
        """
        self._file.check_writable()
        message = f"Another process is computing vectors for {str(self.path)!r}."
        busy = IndexBusy(message, remedy="Wait until it is done; keyword search works meanwhile.")
        return self._file.storage.exclusive("embed", busy, wait)

    def background_lease(self) -> AbstractContextManager[None]:
        self._file.check_writable()
        message = f"Another process is indexing the notes of {str(self.path)!r} in the background."
        busy = IndexBusy(message, remedy="Do nothing: the other process does the work.")
        return self._file.storage.exclusive(BACKGROUND, busy, BACKGROUND_WAIT)

    def watch_lease(self) -> AbstractContextManager[None]:
        message = f"Another process is watching the notes of {str(self.path)!r}."
        busy = IndexBusy(message, remedy="Do nothing: this process takes over when the other one ends.")
        return self._file.storage.exclusive("watch", busy, 0.0)

    # content

    def set_meta(self, key: str, value: str) -> None:
        with self._file.writing() as connection:
            _connection.set_meta(connection, key, value)

    def drop_meta(self, key: str) -> None:
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
        with self._file.writing() as connection:
            change = _content.put(connection, source, hash, entries, keep=keep, tail=tail, tags=tags, names=names)
            _cache.mark_used(connection, change.added, now=self._file.clock())
            self._file.vectors.apply_change(change)

    def touch_file(self, source: Source, *, tail: str | None = None) -> None:
        with self._file.writing() as connection:
            _content.touch(connection, source, tail)

    def remove_files(self, paths: Collection[str]) -> None:
        with self._file.writing() as connection:
            self._file.vectors.apply_change(_content.remove(connection, paths))

    def choose_engine(self, name: EngineName) -> None:
        self._file.choose_engine(name)

    def use_vectors(self, spec: ModelSpec) -> None:
        self._file.use_vectors(spec)

    def put_vectors(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        with self._file.writing():
            self._file.vectors.put(keys, vectors, now=self._file.clock())

    def shared_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        """Return no keys: a file knows no other memory."""
        del keys
        return set()

    def take_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        """Return no keys; see `shared_vectors`."""
        del keys
        return set()

    def put_failure(self, key: bytes, message: str) -> None:
        with self._file.writing() as connection:
            _cache.record_failure(connection, self._file.vectors.active(), key, message, now=self._file.clock())

    def clear_failures(self) -> None:
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
        with self._file.lock:
            if not self._file.closed:
                with self._file.reading():
                    self._file.vectors.settle(self._file.version)

    def purge(self) -> None:
        self._purge(always=True)

    def _purge(self, *, always: bool) -> None:
        """Remove deleted text and release free space; without `always`, in a large index only if much was deleted."""
        with self._file.lock:
            if self._file.closed:
                return
            with self._file.reading() as connection:
                deleted = _connection.counter(connection, "deleted")
                chunks = self._file.counts.corpus(connection).chunks if deleted else 0
                if deleted and (always or _content.is_purge_due(deleted, chunks)):
                    with _connection.transaction(connection):
                        _content.purge(connection)
                _connection.vacuum_and_checkpoint(connection)

    @contextmanager
    def rebuild(self, *, vectors: bool = True) -> Generator[Self]:
        """Build a new index that has the vectors of this one and replaces it at the end, unless something fails.

        Without `vectors`, the new index has only the vectors of models that are not active. This index remains usable
        meanwhile.
        """
        storage = self._file.storage
        with logged("rebuild"), self.lease():
            path = storage.new_file()
            try:
                with translate_errors(self.path):
                    fresh = type(self)(self._file.create(path, vectors=vectors))
                try:
                    yield fresh
                    fresh.settle()
                    fresh.purge()
                finally:
                    fresh.close()
                with translate_errors(self.path):
                    storage.publish(path)
            except BaseException:
                remove(path)
                raise
            self.refresh()

    def compact(self, *, max_entries: int, max_bytes: int, damaged: bool = False, wait: float = 0.0) -> CompactReport:
        """Make the file as small as possible while holding the lease; search results do not change.

        Vectors are evicted as by `evict`; `damaged` also deletes indexes that were set aside. This needs free disk
        space of the size of the index. Raises IndexBusy if another process is still indexing after `wait` seconds.
        """
        file = self._file
        with self.lease(wait=wait):
            self.refresh()
            with file.reading():
                before = disk_bytes(self.path)
            evicted = self.evict(max_entries=max_entries, max_bytes=max_bytes)
            with file.writing() as connection:
                # `purge` does nothing unless chunks were deleted; here it is always worth its time.
                set_counter(connection, "deleted", 1)
                _content.purge(connection)
            with file.reading() as connection:
                # The engine updates its data in the file before the file is rewritten.
                file.vectors.at((0,), version=file.version)
                unused = _cache.count_unused(connection)
                rewrite(file.storage, network=file.network)
            self.refresh()
        with translate_errors(self.path):
            aside, aside_bytes = damaged_files(file.storage, delete=damaged)
            after = disk_bytes(self.path)
        return CompactReport(before, after, evicted, unused, aside, aside_bytes, damaged_removed=damaged)

    def begin_forgetting(self) -> None:
        self.set_meta(FORGETTING, "1")

    def end_forgetting(self) -> None:
        self.drop_meta(FORGETTING)

    def forget(self) -> CompactReport:
        """Delete everything from disk that no note contains any more: words, vectors, codes, logs, damaged copies.

        Index the current notes first, under the same lease.
        """
        with self.lease():
            with self._file.writing() as connection:
                drop_leftovers(connection)
            report = self.compact(max_entries=0, max_bytes=0, damaged=True)
            with translate_errors(self.path):
                self._file.storage.clean()
            self.end_forgetting()
        return report


class InspectedIndex(Index):
    """An index that is only read: it creates and changes no file, stays at the file it opened, and refuses leases."""

    @classmethod
    def inspect(cls, path: Path, *, clock: Callable[[], float]) -> Self:
        """Open the index; it is empty if there is no file, or if the file cannot serve, which `notices` reports.

        `clock` returns seconds since 1970.
        """
        return cls(OpenFile.inspect(path, clock=clock))


_LOGS = ("", "-wal", "-journal")


def disk_bytes(file: Path) -> int:
    """Return the size in bytes of an index file and its log; 0 if there is none."""
    parts = (file.with_name(file.name + log) for log in _LOGS)
    return sum(part.stat().st_size for part in parts if part.exists())


@logged("compact")
def rewrite(storage: IndexFiles, *, network: bool) -> None:
    """Write the index densely into a new file and put it in the place of this one; if that fails, nothing changes."""
    fresh = storage.new_file()
    try:
        # Use a separate connection, because an unfinished statement would block VACUUM.
        with (
            closing(connect(storage.path, network=network)) as connection,
            closing(connect(fresh, network=network, create=True)) as copy,
        ):
            # VACUUM INTO writes pages before the first one, which says that pages have checksums.
            with cast("Any", copy).backup("main", connection, "main") as backup:
                backup.step()
            vacuum(copy)
            increment(copy, GENERATION)
        storage.publish(fresh)
    except BaseException:
        remove(fresh)
        raise


def damaged_files(storage: IndexFiles, *, delete: bool) -> tuple[tuple[str, ...], int]:
    """Return the names of damaged indexes beside this one, with their logs, and their total bytes.

    If `delete`, delete them.
    """
    start = storage.aside.name
    damaged = sorted(file for file in storage.path.parent.iterdir() if file.name.startswith(start))
    size = sum(file.lstat().st_size for file in damaged)
    for file in damaged if delete else ():
        file.unlink(missing_ok=True)
    return tuple(file.name for file in damaged), size


def drop_leftovers(connection: Database) -> None:
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
