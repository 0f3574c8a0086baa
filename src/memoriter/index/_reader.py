"""What can be read from an open index."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING, TypeVar

from memoriter.index._upkeep import FORGETTING
from memoriter.index.files import _files, _keywords
from memoriter.index.store import _meta
from memoriter.index.vectors import _cache
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._open_file import OpenFile
    from memoriter.index.files import Corpus, IndexedFile, KindCount, ScoringRow, StoredChunk
    from memoriter.index.vectors import EngineName
    from memoriter.types import Diagnostic, ModelSpec, ScriptBaselines, SourceKind

_T = TypeVar("_T")
_EVERYTHING = Filters()


class IndexReader:
    """Reads an open index file. A search needs nothing else."""

    def __init__(self, file: OpenFile) -> None:
        """Take an open file."""
        self._file = file

    @property
    def path(self) -> Path:
        """The path of the index."""
        return self._file.path

    @property
    def generation(self) -> int:
        """The number of the active file; 0 for a plain file."""
        return self._file.generation

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """Diagnostics for the user: a file that was set aside, an engine that does not work."""
        return self._file.notices

    @property
    def read_only(self) -> bool:
        """Whether the index is open for reading only because its place is not writable; a notice gives the reason."""
        return self._file.read_only

    @property
    def engine(self) -> EngineName:
        """The active vector engine: `exact`, `codes` or `sqlite-vec`."""
        return self._file.vectors.engine

    @property
    def oversampling(self) -> int | None:
        """Vectors that the codes engine compares for each wanted one, as measured; None: it compares all."""
        measured = self._file.ask(lambda vectors, _: vectors.oversampling)
        return measured.oversampling if measured else None

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
        return self._file.version()

    def at_one_state(self, read: Callable[[], _T]) -> _T:
        """Return the result of `read`, all of whose reads see one state of the index; `read` may run several times.

        Threads may read at the same time. If the index changed meanwhile, `read` runs again while nothing can.
        """
        return self._file.at_one_state(read)

    # settings stored with the content

    def get_meta(self, key: str) -> str | None:
        """Return a stored setting, or None."""
        return self._file.read(_meta.get_meta, key)

    def metas(self, prefix: str) -> dict[str, str]:
        """Return all stored settings whose names start with `prefix`, by name."""
        return self._file.read(_meta.metas, prefix)

    # files and chunks

    def files(self) -> dict[str, IndexedFile]:
        """Return every indexed file by its path; during a rebuild, only the files stored again so far."""
        files, stored = self._file.listing(), self._file.stored_paths
        return files if stored is None else {path: file for path, file in files.items() if path in stored}

    def files_at(self, paths: Collection[str]) -> dict[str, IndexedFile]:
        """Return the indexed files among `paths`, by path."""
        return self._file.read(_files.listing_of, paths)

    def corpus(self) -> Corpus:
        """Return totals; they are counted once until the index changes."""
        return self._file.count(lambda counts, connection, version: counts.corpus(connection, version))

    def content(self) -> int:
        """Return a number that changes with every change of chunks or vectors and is the same in every process."""
        return self._file.read(_files.content_counter)

    def count(self, filters: Filters) -> int:
        """Return the number of chunks that pass the filters."""
        return self._file.read(_files.count, filters)

    def kinds(self) -> Mapping[SourceKind, KindCount]:
        """Return totals for each kind of source that is indexed; they are counted once until the index changes."""
        return self._file.count(lambda counts, connection, version: counts.kinds(connection, version))

    def rows(self, ids: Collection[int]) -> dict[int, StoredChunk]:
        """Return complete chunks by id; ids that no longer exist are absent."""
        return self._file.read(_files.rows, ids)

    def scoring_rows(self, ids: Collection[int]) -> dict[int, ScoringRow]:
        """Return what ranking needs of chunks, without their texts; ids that do not exist are absent."""
        return self._file.read(_files.scoring_rows, ids)

    def ids_at(self, path: str) -> list[int]:
        """Return the chunk ids of a file, in file order."""
        return self._file.read(_files.ids_at, path)

    def all_ids(self) -> list[int]:
        """Return every chunk id, ascending."""
        return self._file.read(_files.all_ids)

    def places_of(self, text: str) -> list[tuple[str, int, int]]:
        """Return (path, first line, last line) of every chunk that contains the exact text."""
        return self._file.read(_files.chunks_with, text)

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
        return self._file.read(_keywords.search, terms, limit=limit, filters=filters, frequency=counts, weights=weights)

    def keyword_search_all(
        self, terms: Sequence[str], *, limit: int, filters: Filters = _EVERYTHING
    ) -> list[tuple[int, float]]:
        """Return chunks with all of the terms, best first: (chunk id, FTS5 rank, negative: lower is better)."""
        return self._file.read(_keywords.search_all, terms, limit=limit, filters=filters)

    def document_frequency(self, terms: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that contain each term; 0 if no chunk does."""
        return self._file.count(
            lambda counts, connection, version: counts.document_frequency(connection, terms, version)
        )

    # vectors

    def missing(self, limit: int, *, of: Collection[int] = ()) -> list[tuple[bytes, str]]:
        """Return up to `limit` distinct (key, text to embed) that have neither a vector nor a recorded failure.

        With `of`, only of the chunks with these ids, in their order.
        """
        return self._file.ask(lambda vectors, _: vectors.missing(limit, of=of))

    def pending(self) -> int:
        """Return the number of chunks that wait for a vector; 0 if no set is active."""
        return self._file.ask(lambda vectors, version: vectors.pending(version))

    def failures(self) -> int:
        """Return the number of chunks whose text the model refused."""
        return self._file.ask(lambda vectors, version: vectors.counts(version)[1])

    def vectors(self) -> int:
        """Return the number of chunks that have a vector in the active set."""
        return self._file.ask(lambda vectors, version: vectors.counts(version)[0])

    def referenced(self, keys: Collection[bytes]) -> set[bytes]:
        """Return the keys that chunks currently refer to."""
        return self._file.read(_cache.referenced, keys)

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
        return self._file.ask(
            lambda vectors, version: vectors.nearest(
                query, limit=limit, filters=filters, baselines=levels, version=version
            )
        )

    def cosines(self, query: NDArray[np.float32], ids: Collection[int]) -> dict[int, float]:
        """Return the cosine with the query of each chunk that has a vector."""
        return self._file.ask(lambda vectors, version: vectors.cosines(query, ids, version=version))

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        """Return the chunks that have a vector, ascending, and their vectors: (m ids, (m, dims))."""
        return self._file.ask(lambda vectors, version: vectors.at(ids, version=version))

    def sample(self, count: int) -> tuple[list[str], NDArray[np.float32]]:
        """Return texts and vectors of up to `count` chunks with different texts: (m texts, (m, dims)).

        The hashes of the texts determine the selection and its order, so the same notes give the same sample.
        """
        return self._file.ask(lambda vectors, version: vectors.sample_texts(count, version=version))

    def sample_vectors(self, count: int, *, seed: int) -> NDArray[np.float32]:
        """Return the vectors of `count` random chunks (or of all, if fewer), each at most once: (m, dims)."""
        return self._file.ask(lambda vectors, version: vectors.sample(count, seed=seed, version=version))

    def providers(self) -> set[str]:
        """Return the providers whose models made the stored vectors."""
        return self._file.read(_cache.providers)

    def vector_keys(self) -> set[bytes]:
        """Return the keys of the vectors of all chunks."""
        return self._file.read(_cache.keys_of_chunks)
