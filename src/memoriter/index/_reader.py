"""What can be read from an open index."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING

from memoriter.index.files import _files, _queries
from memoriter.index.store import _connection
from memoriter.index.vectors import _cache
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._open_file import OpenFile
    from memoriter.index.store._connection import Database
    from memoriter.index.vectors import EngineName
    from memoriter.records import Corpus, IndexedFile, ScoringRow, StoredChunk
    from memoriter.types import Diagnostic, ModelSpec, ScriptBaselines

_EVERYTHING = Filters()
FORGETTING = "forgetting"
"""The setting that is stored while forgetting is in progress, so that a later process can finish it."""


class IndexReader:
    """Reads an open index file: the file as it is at each call, or one state of it. A search needs nothing else."""

    def __init__(self, file: OpenFile, reading: Callable[[], AbstractContextManager[Database]]) -> None:
        """Take an open file; `reading` gives its connection, with the lock or to a thread that has it already."""
        self._file = file
        self._reading = reading

    @property
    def generation(self) -> int:
        """The number of the open file; one that replaces it has a greater number."""
        return self._file.generation

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """Diagnostics for the user: a damaged file, an engine that does not work, an index that can only be read."""
        opened = self._file.opened
        # That an index is only inspected is no news.
        reason = opened.read_only_reason if opened and not self._file.inspected else None
        return (*self._file.notices, reason) if reason else tuple(self._file.notices)

    @property
    def read_only(self) -> bool:
        """Whether the index is open for reading only because its place is not writable; a notice gives the reason."""
        return self._file.read_only

    @property
    def engine(self) -> EngineName:
        """The active vector engine: `exact` or `codes`."""
        with self._reading():
            return self._file.vectors.engine

    @property
    def oversampling(self) -> int | None:
        """Vectors that the codes engine compares for each wanted one, as measured; None: it compares all."""
        with self._reading():
            measured = self._file.vectors.oversampling
        return measured.oversampling if measured else None

    @property
    def work_left(self) -> tuple[Diagnostic, ...]:
        """No diagnostics: whoever may index a file may do all work on it."""
        return ()

    @property
    def recall(self) -> float | None:
        """The share of the nearest vectors that the codes engine found, as measured; None: it compares all."""
        with self._reading():
            measured = self._file.vectors.oversampling
        return measured.recall if measured else None

    @property
    def spec(self) -> ModelSpec | None:
        """The model of the active vector set."""
        return self._file.spec

    @property
    def forgetting(self) -> bool:
        """Whether text was removed from notes and `forget` has not finished since."""
        return self.get_meta(FORGETTING) is not None

    def version(self) -> int:
        """Return a number that changes whenever the content may have changed, in any process. Use it as a cache key."""
        with self._reading():
            return self._file.version

    # settings stored with the content

    def get_meta(self, key: str) -> str | None:
        """Return a stored setting, or None."""
        with self._reading() as connection:
            return _connection.get_meta(connection, key)

    def metas(self, prefix: str) -> dict[str, str]:
        """Return all stored settings whose names start with `prefix`, by name."""
        with self._reading() as connection:
            return _connection.metas(connection, prefix)

    # files and chunks

    def files(self) -> dict[str, IndexedFile]:
        """Return every indexed file by its path."""
        with self._reading() as connection:
            return self._file.counts.listing(connection)

    def files_at(self, paths: Collection[str]) -> dict[str, IndexedFile]:
        """Return the indexed files among `paths`, by path."""
        with self._reading() as connection:
            return _files.listing_of(connection, paths)

    def corpus(self) -> Corpus:
        """Return totals; they are counted once until the index changes."""
        with self._reading() as connection:
            return self._file.counts.corpus(connection)

    def content(self) -> int:
        """Return a number that changes with every change of chunks or vectors and is the same in every process."""
        with self._reading() as connection:
            return _files.content_counter(connection)

    def content_version(self) -> str:
        """Return a name of the content, the same in every process; after a change of chunks or vectors, another one."""
        with self._reading() as connection:
            return f"{self._file.generation}-{_files.content_counter(connection)}"

    def count(self, filters: Filters) -> int:
        """Return the number of chunks that pass the filters."""
        with self._reading() as connection:
            return _files.count(connection, filters)

    def newest(self, filters: Filters, limit: int) -> list[int]:
        """Return the newest chunks that pass the filters; see `_files.newest`."""
        with self._reading() as connection:
            return _files.newest(connection, filters, limit)

    def passing(self, ids: Collection[int], filters: Filters) -> set[int]:
        """Return those of the chunks that pass the filters."""
        with self._reading() as connection:
            return _files.passing(connection, ids, filters)

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

    def places_of(self, text: str) -> list[tuple[str, int, int]]:
        """Return (path, first line, last line) of every chunk that contains the exact text."""
        with self._reading() as connection:
            return _files.chunks_with(connection, text)

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
            return _queries.search(connection, terms, limit=limit, filters=filters, frequency=counts, weights=weights)

    def keyword_search_all(
        self, terms: Sequence[str], *, limit: int, filters: Filters = _EVERYTHING
    ) -> list[tuple[int, float]]:
        """Return chunks with all of the terms, best first: (chunk id, FTS5 rank, negative: lower is better)."""
        with self._reading() as connection:
            return _queries.search_all(connection, terms, limit=limit, filters=filters)

    def document_frequency(self, terms: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term; 0 if no chunk does."""
        with self._reading() as connection:
            return self._file.counts.document_frequency(connection, terms)

    def other_names(self, names: Collection[str]) -> dict[str, list[str]]:
        """Return for each name of a note the other names of the notes that have it."""
        with self._reading() as connection:
            return _files.other_names(connection, names)

    # vectors

    def missing(self, limit: int, *, of: Collection[int] = ()) -> list[tuple[bytes, str]]:
        """Return up to `limit` distinct (key, text to embed) that have neither a vector nor a recorded failure.

        The texts of chunks come first, then those of items. With `of`, only the chunks with these ids, in their order.
        """
        with self._reading():
            return self._file.vectors.missing(limit, of=of)

    def pending(self) -> int:
        """Return the number of chunks that wait for a vector, theirs or an item's; 0 if no set is active."""
        with self._reading():
            return self._file.vectors.waiting(self._file.version)[1]

    def waiting(self) -> int:
        """Return the number of vectors that chunks and items wait for; 0 if no set is active."""
        with self._reading():
            return self._file.vectors.waiting(self._file.version)[0]

    def failures(self) -> int:
        """Return the number of chunks whose text the model refused."""
        with self._reading():
            return self._file.vectors.counts(self._file.version)[1]

    def vectors(self) -> int:
        """Return the number of chunks that have a vector of their own in the active set."""
        with self._reading():
            return self._file.vectors.counts(self._file.version)[0]

    def referenced(self, keys: Collection[bytes]) -> set[bytes]:
        """Return the keys that chunks or items currently refer to."""
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
        """Return the chunks nearest to the query, best first, ties by id: (chunk id, cosine).

        Cosines are exact with every engine. With `levels`, chunks are ordered by how far they stand out in their
        script.
        """
        with self._reading():
            return self._file.vectors.nearest(
                query, limit=limit, filters=filters, baselines=levels, version=self._file.version
            )

    def cosines(self, query: NDArray[np.float32], ids: Collection[int]) -> dict[int, float]:
        """Return the cosine with the query of each chunk that has a vector."""
        with self._reading():
            return self._file.vectors.cosines(query, ids, version=self._file.version)

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        """Return the chunks that have a vector, ascending, and their vectors: (m ids, (m, dims))."""
        with self._reading():
            return self._file.vectors.at(ids, version=self._file.version)

    def item_vectors(self, ids: Collection[int]) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
        """Return the vectors of the items of chunks, in no order: (n chunk ids, n first lines, n scripts, (n, dims)).

        The lines are 0-based within the text of the chunk.
        """
        with self._reading():
            return self._file.vectors.of_items(ids)

    def sample(self, count: int) -> tuple[list[str], NDArray[np.float32]]:
        """Return texts and vectors of up to `count` chunks with different texts, a few of each file: (m, (m, dims)).

        Near-copies count once.
        The hashes of the texts determine the selection and its order, so the same notes give the same sample.
        """
        with self._reading():
            return self._file.vectors.sample_texts(count, version=self._file.version)

    def providers(self) -> set[str]:
        """Return the providers whose models made the stored vectors."""
        with self._reading() as connection:
            return _cache.providers(connection)

    def models(self) -> dict[ModelSpec, int]:
        """Return the models that have vectors or refused texts here, with the number of their vectors."""
        with self._reading() as connection:
            return _cache.models(connection)

    def stored_vectors(self, after: bytes, limit: int) -> tuple[list[bytes], NDArray[np.float32]]:
        """Return vectors of the active model by ascending key, those after a key, also unused ones."""
        with self._reading():
            return self._file.vectors.stored(after, limit)

    def having_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        """Return those of the keys that have a vector of the active model."""
        with self._reading() as connection:
            return _cache.having(connection, self._file.vectors.active(), keys)

    def refused(self) -> dict[bytes, str]:
        """Return why the active model refused texts, by their keys."""
        with self._reading() as connection:
            return _cache.refused(connection, self._file.vectors.active())

    def vector_keys(self) -> set[bytes]:
        """Return the keys of the vectors of all chunks and items."""
        with self._reading() as connection:
            return _cache.keys_of_chunks(connection)
