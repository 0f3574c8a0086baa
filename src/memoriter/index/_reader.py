"""What can be read from an open index."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING

from memoriter.index import _content
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
    """Reads an open index file: the file as it is at each call, or one state of it. `Store` describes the methods."""

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
        """Return totals; they are counted once until the index changes."""
        with self._reading() as connection:
            return self._file.counts.corpus(connection)

    def content(self) -> int:
        with self._reading() as connection:
            return _content.content_counter(connection)

    def content_version(self) -> str:
        with self._reading() as connection:
            return f"{self._file.generation}-{_content.content_counter(connection)}"

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
        """Return texts and vectors of up to `count` chunks with different texts, a few of each file: (m, (m, dims)).

        Near-copies count once.
        The hashes of the texts determine the selection and its order, so the same notes give the same sample.
        """
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
