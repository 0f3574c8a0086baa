"""The index of one agent: its files, chunks, terms and vectors."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING

from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index import _cache, _compact, _files, _keywords, _leftovers
from memoriter.index._errors import translate_errors
from memoriter.index._lifecycle import OpenFile
from memoriter.index._seal import check_file, check_if_changed
from memoriter.index._text import storable
from memoriter.types import CompactReport, Filters

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._engines import EngineName
    from memoriter.index._values import ChunkRecord, Corpus, IndexedFile, KindCount, ScoringRow, StoredChunk
    from memoriter.types import ModelSpec, ScriptBaselines, Source, SourceKind

_EVERYTHING = Filters()


class Index(OpenFile):
    """An open index file, and the operations on it.

    Any method may raise `IndexBusy` (another process writes for too long), `IndexDamaged` (call `quarantine` and try
    again) or another `IndexUnavailable`; each has a remedy. Several threads may share one object and take turns. Other
    processes may read and write the same file at the same time.
    """

    @property
    def spec(self) -> ModelSpec | None:
        """The model of the active vector set."""
        return self._spec

    # settings stored with the content

    def get_meta(self, key: str) -> str | None:
        """Return a stored setting, or None."""
        with self._reading() as connection:
            value = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
            return None if value is None else str(value)

    def set_meta(self, key: str, value: str) -> None:
        """Store a setting."""
        with self._writing() as connection:
            statement = (
                "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
            )
            connection.execute(statement, (key, value))

    def metas(self, prefix: str) -> dict[str, str]:
        """Return all stored settings whose names start with `prefix`, by name."""
        with self._reading() as connection:
            statement = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ? ORDER BY key"
            rows = connection.execute(statement, (len(prefix), prefix))
            return {str(key): str(value) for key, value in rows}

    def drop_meta(self, key: str) -> None:
        """Delete a setting; do nothing if it does not exist."""
        with self._writing() as connection:
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))

    def check(self) -> None:
        """Check the structure of the whole file and that its tables agree. Raises IndexDamaged."""
        if (opened := self._opened) is not None and not self.read_only:
            with translate_errors(self.path):
                check_file(opened.file)

    def check_if_changed(self) -> None:
        """Check the whole file if something other than indexing changed it. Raises IndexDamaged."""
        if (opened := self._opened) is not None and not self.read_only:
            with translate_errors(self.path):
                check_if_changed(opened.file, self._storage.seal, self._storage.lease)

    # files and chunks

    def files(self) -> dict[str, IndexedFile]:
        """Return every indexed file by its path; during a rebuild, only the files stored again so far."""
        with self._reading() as connection:
            files = self._listing(connection)
        rebuilt = self._rebuilt_paths
        return files if rebuilt is None else {path: file for path, file in files.items() if path in rebuilt}

    def files_at(self, paths: Collection[str]) -> dict[str, IndexedFile]:
        """Return the indexed files among `paths`, by path."""
        with self._reading() as connection:
            return _files.listing_of(connection, paths)

    def corpus(self) -> Corpus:
        """Return totals; they are counted once until the index changes."""
        with self._reading() as connection:
            return self._counts.corpus(connection, self.version())

    def content(self) -> int:
        """Return a number that changes with every change of chunks or vectors and is the same in every process."""
        with self._reading() as connection:
            return _files.content_counter(connection)

    def count(self, filters: Filters) -> int:
        """Return the number of chunks that pass the filters."""
        with self._reading() as connection:
            return _files.count(connection, filters)

    def kinds(self) -> Mapping[SourceKind, KindCount]:
        """Return totals for each kind of source that is indexed; they are counted once until the index changes."""
        with self._reading() as connection:
            return self._counts.kinds(connection, self.version())

    def put_file(
        self,
        source: Source,
        hash: str,  # noqa: A002 (named as in `IndexedFile`)
        entries: Sequence[ChunkRecord],
        *,
        keep: int = 0,
        tail: str = "",
        tags: Collection[str] = (),
    ) -> None:
        """Replace all stored data of a file, in one transaction. Its chunks get consecutive new ids in file order.

        Args:
            source: the file.
            hash: identifies its content.
            entries: its chunks, starting after the ones that are kept.
            keep: number of stored chunks, from the first, that stay as they are.
            tail: how far the file was read, for the next incremental read.
            tags: its tags, folded.
        """
        with self._writing() as connection:
            change = _files.put(connection, source, hash, entries, keep=keep, tail=tail, tags=tags)
            _cache.mark_used(connection, change.added, now=self._clock())
            self._vectors.apply_change(change)
        if self._rebuilt_paths is not None:
            self._rebuilt_paths.add(storable(source.path))

    def touch_file(self, source: Source, *, tail: str | None = None) -> None:
        """Update size, time and read position of a file whose indexed content has not changed."""
        with self._writing() as connection:
            _files.touch(connection, source, tail)
        if self._rebuilt_paths is not None:
            self._rebuilt_paths.add(storable(source.path))

    def remove_files(self, paths: Collection[str]) -> None:
        """Delete files and their chunks, in one transaction; unknown paths are ignored."""
        with self._writing() as connection:
            self._vectors.apply_change(_files.remove(connection, paths))

    def rows(self, ids: Collection[int]) -> dict[int, StoredChunk]:
        """Return complete chunks by id; ids that no longer exist are absent."""
        with self._reading() as connection:
            return _files.rows(connection, ids)

    def scoring_rows(self, ids: Collection[int]) -> dict[int, ScoringRow]:
        """Return what ranking needs of chunks, without their texts; ids that do not exist are absent."""
        with self._reading() as connection:
            return _files.scoring_rows(connection, ids)

    def ids_at(self, path: str) -> list[int]:
        """Return the chunk ids of a file, in file order."""
        with self._reading() as connection:
            return _files.ids_at(connection, path)

    def all_ids(self) -> list[int]:
        """Return every chunk id, ascending."""
        with self._reading() as connection:
            return _files.all_ids(connection)

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
        """Return chunks with any of the terms, heaviest first: (chunk id, weight of its terms). Any string is safe.

        `frequency` takes a result of `document_frequency` for these terms, so that they are not counted again. Without
        `weights`, rare terms weigh more.
        """
        counts = self.document_frequency(terms) if frequency is None else frequency
        if weights is None:
            chunks = self.corpus().chunks
            weights = {term: log1p(chunks / max(count, 1)) for term, count in counts.items()}
        with self._reading() as connection:
            return _keywords.search(connection, terms, limit=limit, filters=filters, frequency=counts, weights=weights)

    def keyword_search_all(
        self, terms: Sequence[str], *, limit: int, filters: Filters = _EVERYTHING
    ) -> list[tuple[int, float]]:
        """Return chunks with all of the terms, best first: (chunk id, FTS5 rank, negative: lower is better)."""
        with self._reading() as connection:
            return _keywords.search_all(connection, terms, limit=limit, filters=filters)

    def document_frequency(self, terms: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term; 0 if no chunk does."""
        with self._reading() as connection:
            return self._counts.document_frequency(connection, terms, self.version())

    # vectors

    def choose_engine(self, name: EngineName, extension_path: str | None = None) -> None:
        """Select the vector engine; `auto` picks by size. If sqlite-vec does not work, a notice is added."""
        with self._reading():
            self._engine_setting = name, extension_path
            self._vectors.choose(*self._effective_engine)

    def use_vectors(self, spec: ModelSpec) -> None:
        """Activate this model's vector set and keep the others. Raises EmbeddingError if its dimensions changed."""
        with self._reading():
            self._vectors.use(spec, now=self._clock())
            self._spec = spec

    def missing(self, limit: int) -> list[tuple[bytes, str]]:
        """Return up to `limit` distinct (key, text to embed) that have neither a vector nor a recorded failure."""
        self.version()
        with self._reading():
            return self._vectors.missing(limit)

    def pending(self) -> int:
        """Return the number of chunks that wait for a vector; 0 if no set is active."""
        with self._reading() as connection:
            having, failed = self._vectors.counts(self.version())
            return max(0, _files.corpus(connection).chunks - having - failed) if self._vectors.in_use else 0

    def failures(self) -> int:
        """Return the number of chunks whose text the model refused."""
        with self._reading():
            return self._vectors.counts(self.version())[1]

    def vectors(self) -> int:
        """Return the number of chunks that have a vector in the active set."""
        with self._reading():
            return self._vectors.counts(self.version())[0]

    def put_vectors(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Store vectors, (n, dims), under their keys, in one transaction. Raises BadVector if one does not fit."""
        with self._writing():
            self._vectors.put(keys, vectors, now=self._clock())

    def referenced(self, keys: Collection[bytes]) -> set[bytes]:
        """Return the keys that chunks currently refer to."""
        with self._reading() as connection:
            return _cache.referenced(connection, keys)

    def put_failure(self, key: bytes, message: str) -> None:
        """Record that a text cannot be embedded, so that it is not sent again."""
        with self._writing() as connection:
            _cache.record_failure(connection, self._vectors.active(), key, message, now=self._clock())

    def clear_failures(self) -> None:
        """Delete the recorded failures of the active set, so that those texts are tried again."""
        with self._writing() as connection:
            _cache.clear_failures(connection, self._vectors.active())
            self._vectors.forget_progress()

    def vector_search(
        self,
        query: NDArray[np.float32],
        *,
        limit: int,
        filters: Filters = _EVERYTHING,
        levels: ScriptBaselines | None = None,
    ) -> list[tuple[int, float]]:
        """Return the chunks nearest to the query, best first, ties by id: (chunk id, cosine).

        Cosines are exact with every engine. With `levels`, chunks are ordered by how far they stand out in their
        script.
        """
        with self._reading():
            return self._vectors.nearest(query, limit=limit, filters=filters, baselines=levels, version=self.version())

    def cosines(self, query: NDArray[np.float32], ids: Collection[int]) -> dict[int, float]:
        """Return the cosine with the query of each chunk that has a vector."""
        with self._reading():
            return self._vectors.cosines(query, ids, version=self.version())

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        """Return the chunks that have a vector, ascending, and their vectors: (m ids, (m, dims))."""
        with self._reading():
            return self._vectors.at(ids, version=self.version())

    def sample(self, count: int) -> tuple[list[str], NDArray[np.float32]]:
        """Return texts and vectors of up to `count` chunks with different texts: (m texts, (m, dims)).

        The hashes of the texts determine the selection and its order, so the same notes give the same sample.
        """
        with self._reading() as connection:
            chosen = _cache.sample_chunks(connection, self._vectors.active(), count)
            found_ids, vectors = self._vectors.at(chosen, version=self.version())
            positions = {chunk_id: position for position, chunk_id in enumerate(found_ids)}
            kept = [chunk_id for chunk_id in chosen if chunk_id in positions]
            texts = _files.texts(connection, kept)
            return [texts[chunk_id] for chunk_id in kept], vectors[[positions[chunk_id] for chunk_id in kept]]

    def sample_vectors(self, count: int, *, seed: int) -> NDArray[np.float32]:
        """Return the vectors of `count` random chunks (or of all, if fewer), each at most once: (m, dims)."""
        with self._reading():
            return self._vectors.sample(count, seed=seed, version=self.version())

    def evict(self, *, max_entries: int, max_bytes: int) -> int:
        """Shrink the vector store, over all sets, to these limits and return the number of evicted vectors.

        Only vectors that no chunk refers to are evicted, the least recently used first.
        """
        with self._writing() as connection:
            return _cache.evict(connection, max_entries=max_entries, max_bytes=max_bytes)

    def compact(self, *, max_entries: int, max_bytes: int, damaged: bool = False, wait: float = 0.0) -> CompactReport:
        """Make the file as small as possible while holding the lease; search results do not change.

        Vectors are evicted as by `evict`; `damaged` also deletes indexes that were set aside. This needs free disk
        space of the size of the index. Raises IndexBusy if another process is still indexing after `wait` seconds.
        """
        with self.lease(wait=wait):
            self.refresh()
            with self._reading():
                before = _compact.disk_bytes(self._storage)
            evicted = self.evict(max_entries=max_entries, max_bytes=max_bytes)
            serving = f"chunks_vec_{self._vectors.active().id}" if self.engine == "sqlite-vec" else ""
            with self._writing() as connection:
                _compact.tidy(connection, serving=serving, extension_path=self._engine_setting[1])
            self.vectors_at((0,))  # the engine updates its data in the file before the file is rewritten
            with self._reading() as connection:
                unused = _compact.count_unused(connection)
                _compact.rewrite(self._storage, after=self.generation, network=self._network)
            self.refresh()
        with translate_errors(self.path):
            aside, aside_bytes = _compact.damaged_files(self._storage, remove=damaged)
            after = _compact.disk_bytes(self._storage)
        return CompactReport(before, after, evicted, unused, aside, aside_bytes, damaged_removed=damaged)

    # forgetting

    @property
    def forgetting(self) -> bool:
        """Whether text was removed from notes and `forget` has not finished since."""
        return self.get_meta(_leftovers.UNFINISHED) is not None

    def begin_forgetting(self) -> None:
        """Record that text is about to be removed from notes, so that another process can finish after a kill."""
        self.set_meta(_leftovers.UNFINISHED, "1")

    def end_forgetting(self) -> None:
        """Record that nothing has to be forgotten any more, or that no note was changed."""
        self.drop_meta(_leftovers.UNFINISHED)

    def forget(self) -> CompactReport:
        """Delete everything from disk that no note contains any more: words, vectors, codes, logs, damaged copies.

        Index the current notes first, under the same lease.
        """
        with self.lease():
            with self._writing() as connection:
                _leftovers.drop(connection)
            report = self.compact(max_entries=0, max_bytes=0, damaged=True)
            with translate_errors(self.path):
                self._storage.clean()
            with self._reading() as connection:
                if self.engine != "sqlite-vec" and _compact.left_by_sqlite_vec(connection):
                    message = f"Only sqlite-vec can drop the vectors that it keeps in {str(self.path)!r}."
                    raise IndexUnavailable(message, remedy="Run `memoriter index --force`.")
            if self._is_log_in_use():
                message = f"Another process keeps reading what {str(self.path)!r} held before."
                raise IndexBusy(message, remedy="Close it, then run `memoriter index`.")
            self.end_forgetting()
        return report

    def _is_log_in_use(self) -> bool:
        """Return whether an open reader keeps old pages in the log of a plain file; a generation is a separate file."""
        with translate_errors(self.path):
            if self._storage.can_link():
                return False
        self.purge()
        return _compact.log_bytes(self._storage) > 0

    def places_of(self, text: str) -> list[tuple[str, int, int]]:
        """Return (path, first line, last line) of every chunk that contains the exact text."""
        with self._reading() as connection:
            return _leftovers.chunks_with(connection, text)

    def providers(self) -> set[str]:
        """Return the providers whose models made the stored vectors."""
        with self._reading() as connection:
            return _leftovers.providers(connection)

    def vector_keys(self) -> set[bytes]:
        """Return the keys of the vectors of all chunks."""
        with self._reading() as connection:
            return {bytes(key) for (key,) in connection.execute("SELECT DISTINCT key FROM chunks")}
