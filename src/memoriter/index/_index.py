"""The index of one agent: what is known of its notes, by word and by vector."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING

from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index import _cache, _compact, _files, _keywords, _leftovers
from memoriter.index._errors import translated
from memoriter.index._lifecycle import OpenFile
from memoriter.index._seal import check, check_if_changed
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
    """One index file, and everything that can be asked of it.

    Any method may raise `IndexBusy` (another process writes for too long), `IndexDamaged` (call `quarantine` and ask
    again) or another `IndexUnavailable`; each says what to do. One object may be used from several threads, which take
    turns; other processes read and write the same file at the same time.
    """

    @property
    def spec(self) -> ModelSpec | None:
        """The model whose vectors are in use."""
        return self._spec

    # settings that belong to the content

    def get_meta(self, key: str) -> str | None:
        """A remembered setting."""
        with self._reading() as connection:
            value = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
            return None if value is None else str(value)

    def set_meta(self, key: str, value: str) -> None:
        """Remember a setting."""
        with self._writing() as connection:
            statement = (
                "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
            )
            connection.execute(statement, (key, value))

    def metas(self, prefix: str) -> dict[str, str]:
        """All remembered settings whose names begin so, by name."""
        with self._reading() as connection:
            statement = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ? ORDER BY key"
            found = connection.execute(statement, (len(prefix), prefix))
            return {str(key): str(value) for key, value in found}

    def drop_meta(self, key: str) -> None:
        """Forget a setting; an unknown one is fine."""
        with self._writing() as connection:
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))

    def check(self) -> None:
        """Check the structure of the whole file, and that its tables agree. Raises IndexDamaged."""
        with self._reading() as connection:
            check(connection, self.path)

    def check_if_changed(self) -> None:
        """Check the whole file if it changed otherwise than by indexing. Raises IndexDamaged."""
        if (opened := self._opened) is not None and not self.read_only:
            with translated(self.path):
                check_if_changed(opened.file, self._home.seal, self._home.lease)

    # files and chunks

    def files(self) -> dict[str, IndexedFile]:
        """Every indexed file by its path; during a rebuild only those that were put again."""
        with self._reading() as connection:
            known = self._listing(connection)
        return known if self._rebuilt is None else {path: file for path, file in known.items() if path in self._rebuilt}

    def files_at(self, paths: Collection[str]) -> dict[str, IndexedFile]:
        """Those of the files that are indexed, by their paths."""
        with self._reading() as connection:
            return _files.listing_of(connection, paths)

    def corpus(self) -> Corpus:
        """Totals, counted once while the index stays the same."""
        with self._reading() as connection:
            return self._counts.corpus(connection, self.version())

    def content(self) -> int:
        """A number that changes with every change of chunks or vectors, the same in every process."""
        with self._reading() as connection:
            return _files.changes(connection)

    def count(self, filters: Filters) -> int:
        """Chunks that pass the filters."""
        with self._reading() as connection:
            return _files.count(connection, filters)

    def kinds(self) -> Mapping[SourceKind, KindCount]:
        """Totals of each kind of source that is indexed, counted once while the index stays the same."""
        with self._reading() as connection:
            return self._counts.kinds(connection, self.version())

    def put_file(
        self,
        source: Source,
        hash: str,  # noqa: A002 (the word of `IndexedFile`)
        entries: Sequence[ChunkRecord],
        *,
        keep: int = 0,
        tail: str = "",
    ) -> None:
        """Replace everything known of a file, in one transaction. Its chunks get consecutive new ids in file order.

        Args:
            source: the file.
            hash: by which its content is known again.
            entries: its chunks, from the one after those that are kept.
            keep: so many of the chunks that are there stay as they are.
            tail: how far the file was read, for whoever reads on.
        """
        with self._writing() as connection:
            change = _files.put(connection, source, hash, entries, keep=keep, tail=tail)
            _cache.taken(connection, change.added, now=self._clock())
            self._vectors.follow(change)
        if self._rebuilt is not None:
            self._rebuilt.add(storable(source.path))

    def touch_file(self, source: Source, *, tail: str | None = None) -> None:
        """Note size and time of a file whose content is still what was indexed, and how far it was read now."""
        with self._writing() as connection:
            _files.touch(connection, source, tail)
        if self._rebuilt is not None:
            self._rebuilt.add(storable(source.path))

    def remove_files(self, paths: Collection[str]) -> None:
        """Forget files and their chunks, in one transaction; unknown paths are fine."""
        with self._writing() as connection:
            self._vectors.follow(_files.remove(connection, paths))

    def rows(self, ids: Collection[int]) -> dict[int, StoredChunk]:
        """The chunks, whole; those that do not exist any more are absent."""
        with self._reading() as connection:
            return _files.rows(connection, ids)

    def scoring_rows(self, ids: Collection[int]) -> dict[int, ScoringRow]:
        """What ranking needs of chunks, without their texts; those that do not exist are absent."""
        with self._reading() as connection:
            return _files.briefs(connection, ids)

    def ids_at(self, path: str) -> list[int]:
        """The chunks of a file, in file order."""
        with self._reading() as connection:
            return _files.ids_at(connection, path)

    def all_ids(self) -> list[int]:
        """Every chunk, ascending."""
        with self._reading() as connection:
            return _files.all_ids(connection)

    # words

    def keyword_search(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        filters: Filters = _EVERYTHING,
        frequency: Mapping[str, int] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> list[tuple[int, float]]:
        """Chunks with any of the terms, those with the heaviest first: (chunk id, their weight). Any string is safe.

        Who has asked for the `document_frequency` of the terms gives it, so that it is not counted again. Without
        weights, rare terms weigh more.
        """
        known = self.document_frequency(terms) if frequency is None else frequency
        if weights is None:
            chunks = self.corpus().chunks
            weights = {term: log1p(chunks / max(count, 1)) for term, count in known.items()}
        with self._reading() as connection:
            return _keywords.search(connection, terms, limit=limit, filters=filters, frequency=known, weights=weights)

    def keyword_search_all(
        self, terms: Sequence[str], *, limit: int, filters: Filters = _EVERYTHING
    ) -> list[tuple[int, float]]:
        """Chunks with all of the terms, best first: (chunk id, FTS5's own rank, negative: lower is better)."""
        with self._reading() as connection:
            return _keywords.search_all(connection, terms, limit=limit, filters=filters)

    def document_frequency(self, terms: Collection[str]) -> dict[str, int]:
        """How many chunks hold each term; 0 for one that none holds."""
        with self._reading() as connection:
            return self._counts.of_terms(connection, terms, self.version())

    # vectors

    def choose_engine(self, name: EngineName, extension_path: str | None = None) -> None:
        """Let this engine serve; `auto` picks by size. sqlite-vec that does not work is a notice, never an error."""
        with self._reading():
            self._choice = name, extension_path
            self._vectors.choose(*self._chosen)

    def use_vectors(self, spec: ModelSpec) -> None:
        """Make this model's vector set the active one; the others stay. `EmbeddingError` if its dimensions changed."""
        with self._reading():
            self._vectors.use(spec, now=self._clock())
            self._spec = spec

    def missing(self, limit: int) -> list[tuple[bytes, str]]:
        """Up to `limit` distinct (key, text to embed) that have neither a vector nor a recorded failure."""
        self.version()
        with self._reading():
            return self._vectors.missing(limit)

    def pending(self) -> int:
        """Chunks that wait for a vector; 0 when no set is in use."""
        with self._reading() as connection:
            having, failed = self._vectors.counts(self.version())
            return max(0, _files.corpus(connection).chunks - having - failed) if self._vectors.in_use else 0

    def failures(self) -> int:
        """Chunks whose text the model refused."""
        with self._reading():
            return self._vectors.counts(self.version())[1]

    def vectors(self) -> int:
        """Chunks that have a vector in the active set."""
        with self._reading():
            return self._vectors.counts(self.version())[0]

    def put_vectors(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Keep vectors, (n, dims), under their keys, in one transaction; `BadVector` if one does not fit the set."""
        with self._writing():
            self._vectors.put(keys, vectors, now=self._clock())

    def referenced(self, keys: Collection[bytes]) -> set[bytes]:
        """Return those of the keys that chunks refer to now."""
        with self._reading() as connection:
            return _cache.referenced(connection, keys)

    def put_failure(self, key: bytes, message: str) -> None:
        """Record that this text cannot be embedded, so that it is not asked for again."""
        with self._writing() as connection:
            _cache.fail(connection, self._vectors.active(), key, message, now=self._clock())

    def clear_failures(self) -> None:
        """Let every refused text of the active set be tried again."""
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
        """Chunks nearest to the query, best first, ties by id: (chunk id, cosine); exact whichever engine serves.

        With levels, those that stand out most in their script.
        """
        with self._reading():
            return self._vectors.nearest(query, limit=limit, filters=filters, levels=levels, version=self.version())

    def cosines(self, query: NDArray[np.float32], ids: Collection[int]) -> dict[int, float]:
        """The cosine of each chunk that has a vector."""
        with self._reading():
            return self._vectors.cosines(query, ids, version=self.version())

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        """The chunks that have a vector, ascending, and their vectors: (m ids, (m, dims))."""
        with self._reading():
            return self._vectors.at(ids, version=self.version())

    def sample(self, count: int) -> tuple[list[str], NDArray[np.float32]]:
        """Texts and vectors of up to `count` chunks with different texts: (m texts, (m, dims)).

        The hashes of the texts decide which ones and in which order, so that the same notes give the same sample.
        """
        with self._reading() as connection:
            chosen = _cache.sampled(connection, self._vectors.active(), count)
            found, vectors = self._vectors.at(chosen, version=self.version())
            place = {row: position for position, row in enumerate(found)}
            kept = [row for row in chosen if row in place]
            texts = _files.texts(connection, kept)
            return [texts[row] for row in kept], vectors[[place[row] for row in kept]]

    def sample_vectors(self, count: int, *, seed: int) -> NDArray[np.float32]:
        """Vectors of `count` random chunks (fewer if there are fewer), each at most once: (m, dims)."""
        with self._reading():
            return self._vectors.sample(count, seed=seed, version=self.version())

    def evict(self, *, max_entries: int, max_bytes: int) -> int:
        """Shrink the store of vectors, over all sets, to these limits and return how many went.

        Only vectors that no chunk refers to go, the least recently used first.
        """
        with self._writing() as connection:
            return _cache.evict(connection, max_entries=max_entries, max_bytes=max_bytes)

    def compact(self, *, max_entries: int, max_bytes: int, damaged: bool = False, wait: float = 0.0) -> CompactReport:
        """Make the file as small as it can be, holding the lease; answers stay what they are.

        Vectors go as `evict` lets them go; `damaged` also removes indexes that were set aside. `IndexBusy` if another
        process is still indexing after `wait` seconds. Free disk as large as the index is needed meanwhile.
        """
        with self.lease(wait=wait):
            self.refresh()
            with self._reading():
                before = _compact.disk_bytes(self._home)
            gone = self.evict(max_entries=max_entries, max_bytes=max_bytes)
            serving = f"chunks_vec_{self._vectors.active().id}" if self.engine == "sqlite-vec" else ""
            with self._writing() as connection:
                _compact.tidy(connection, serving=serving, extension_path=self._choice[1])
            # The engine puts what it keeps in the file in order before all of it is written anew.
            self.vectors_at((0,))
            with self._reading() as connection:
                unused = _compact.unused(connection)
                _compact.rewrite(self._home, after=self.generation, network=self._network)
            self.refresh()
        with translated(self.path):
            aside, aside_bytes = _compact.set_aside(self._home, remove=damaged)
            after = _compact.disk_bytes(self._home)
        return CompactReport(before, after, gone, unused, aside, aside_bytes, damaged_removed=damaged)

    # forgetting

    @property
    def forgetting(self) -> bool:
        """Whether text was taken out of notes and `forget` has not been done since."""
        return self.get_meta(_leftovers.UNFINISHED) is not None

    def begin_forgetting(self) -> None:
        """Note that text is about to be taken out of notes, so that a killed process leaves word of it."""
        self.set_meta(_leftovers.UNFINISHED, "1")

    def end_forgetting(self) -> None:
        """Nothing has to be forgotten any more, or nothing was taken out of a note."""
        self.drop_meta(_leftovers.UNFINISHED)

    def forget(self) -> CompactReport:
        """Let everything that no note holds any more leave the disk: words, vectors, codes, logs, damaged copies.

        What the notes hold now must have been indexed before, under the same lease.
        """
        with self.lease():
            with self._writing() as connection:
                _leftovers.drop(connection)
            report = self.compact(max_entries=0, max_bytes=0, damaged=True)
            with translated(self.path):
                self._home.clean()
            with self._reading() as connection:
                if self.engine != "sqlite-vec" and _compact.left_by_sqlite_vec(connection):
                    message = f"Only sqlite-vec can drop the vectors that it keeps in {str(self.path)!r}"
                    raise IndexUnavailable(message, remedy="Run: memoriter index --force")
            if self._log_held():
                message = f"Another process keeps reading what {str(self.path)!r} held before"
                raise IndexBusy(message, remedy="Close it, then run: memoriter index")
            self.end_forgetting()
        return report

    def _log_held(self) -> bool:
        """Whether an open reader keeps old pages in the one file; a generation is a file of its own."""
        with translated(self.path):
            if self._home.can_link():
                return False
        self.purge()
        return _compact.log_bytes(self._home) > 0

    def places_of(self, text: str) -> list[tuple[str, int, int]]:
        """(path, first line, last line) of every chunk that holds the text as it is written."""
        with self._reading() as connection:
            return _leftovers.chunks_with(connection, text)

    def providers(self) -> set[str]:
        """Whose models have made vectors that are kept."""
        with self._reading() as connection:
            return _leftovers.providers(connection)

    def vector_keys(self) -> set[bytes]:
        """What the vectors of all chunks are stored under."""
        with self._reading() as connection:
            return {bytes(key) for (key,) in connection.execute("SELECT DISTINCT key FROM chunks")}
