"""What can be read of the content of a space."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from math import log1p
from typing import TYPE_CHECKING, Any, TypeVar

from memoriter.errors import IndexUnavailable
from memoriter.postgres import _files, _listing, _vectors, _words
from memoriter.postgres._conditions import condition, holds
from memoriter.postgres._files import Place
from memoriter.postgres._words import Scope
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.postgres._server import Connection, Server
    from memoriter.postgres._vectors import VectorSet
    from memoriter.records import Corpus, IndexedFile, ScoringRow, StoredChunk
    from memoriter.types import ModelSpec, ScriptBaselines

T = TypeVar("T")
FORGETTING = "forgetting"
_EVERYTHING = Filters()
_MOST_FILTERS = 8
"""Filters on phrases whose chunks are remembered while the content stays the same."""


class State:
    """The content that an object reads, and what is remembered of it until it changes."""

    def __init__(self, space: int, edition: int | None = None) -> None:
        self.space = space
        self.fixed = edition
        """An edition that does not serve yet; None: the one that serves."""
        self.place = Place(space, edition or 0)
        self.version = -1
        self.content = 0
        self.corpus: Corpus | None = None
        self.files: dict[str, IndexedFile] | None = None
        self.phrases: dict[Filters, list[int]] = {}
        self.vectors: VectorSet | None = None

    def read(self, connection: Connection) -> None:
        """Notice what any process changed."""
        row = connection.execute(
            "SELECT editions.id, changes, content FROM editions"
            " WHERE id = coalesce(%s, (SELECT edition FROM spaces WHERE id = %s))",
            (self.fixed, self.space),
        ).fetchone()
        if row is None:
            raise IndexUnavailable("The index was replaced while it was read.", remedy="Search again.")
        version = (int(row[0]) << 40) + int(row[1])
        if version != self.version:
            self.version, self.content = version, (int(row[0]) << 40) + int(row[2])
            self.place = Place(self.space, int(row[0]))
            self.corpus = self.files = self.vectors = None
            self.phrases = {}


class PostgresReader:
    """Reads the content of a space. Several threads may share one object."""

    def __init__(self, server: Server, state: State, spec: ModelSpec | None = None) -> None:
        """Take an open server."""
        self._server, self._state, self._spec = server, state, spec
        self._lock = threading.RLock()
        self._pinned: Connection | None = None

    @contextmanager
    def _reading(self) -> Generator[tuple[Connection, Place]]:
        """Give a connection and the place of the content, after noticing what changed."""
        with self._lock:
            if self._pinned is not None:
                with self._server.translating():
                    yield self._pinned, self._state.place
                return
            with self._server.connection() as connection:
                self._state.read(connection)
                yield connection, self._state.place

    def _vector_set(self, connection: Connection) -> VectorSet | None:
        if self._spec is None:
            return None
        if self._state.vectors is None:
            found = _vectors.find_set(connection, self._spec, *self._state.place)
            empty = _vectors.VectorSet(*self._state.place, _vectors.NO_SET, self._spec.dimensions)
            self._state.vectors = found or empty
        return self._state.vectors

    @property
    def spec(self) -> ModelSpec | None:
        return self._spec

    @property
    def generation(self) -> int:
        return self._state.place.edition

    @property
    def forgetting(self) -> bool:
        return self.get_meta(FORGETTING) is not None

    def version(self) -> int:
        with self._reading():
            return self._state.version

    def content(self) -> int:
        with self._reading():
            return self._state.content

    def at_one_state(self, read: Callable[[], T]) -> T:
        version = self.version()
        result = read()
        if self.version() == version:
            return result
        with self._lock, self._server.connection() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._state.read(connection)
            self._pinned = connection
            try:
                return read()
            finally:
                self._pinned = None

    def get_meta(self, key: str) -> str | None:
        return self.metas(key, exact=True).get(key)

    def metas(self, prefix: str, *, exact: bool = False) -> dict[str, str]:
        which = "key = %s" if exact else "starts_with(key, %s)"
        with self._reading() as (connection, place):
            statement = f"SELECT key, value FROM meta WHERE space = %s AND edition = %s AND {which} ORDER BY key"  # noqa: S608 (fixed text)
            return dict(connection.execute(statement.encode(), (*place, prefix)).fetchall())  # type: ignore[arg-type]

    # files and chunks

    def files(self) -> dict[str, IndexedFile]:
        with self._reading() as (connection, place):
            if self._state.files is None:
                self._state.files = _files.listing(connection, place)
            return self._state.files

    def files_at(self, paths: Collection[str]) -> dict[str, IndexedFile]:
        with self._reading() as (connection, place):
            return _files.listing_of(connection, place, paths)

    def corpus(self) -> Corpus:
        with self._reading() as (connection, place):
            if self._state.corpus is None:
                self._state.corpus = _files.corpus(connection, place)
            return self._state.corpus

    def _scope(self, connection: Connection, filters: Filters) -> Scope:
        place = self._state.place
        paths = self.files() if filters.path else ()
        where = condition(filters, space=place.space, edition=place.edition, paths=paths)
        allowed = None
        if filters.phrases or filters.without:
            allowed = self._state.phrases.get(filters)
            if allowed is None:
                statement = f"SELECT id, heading, text FROM chunks WHERE space = %s AND edition = %s AND {where.sql}"  # noqa: S608 (fixed text; values are bound)
                rows = connection.execute(statement.encode(), (*place, *where.values))
                allowed = [row for row, heading, text in rows if holds(filters, heading, text)]
                if len(self._state.phrases) >= _MOST_FILTERS:
                    self._state.phrases.clear()
                self._state.phrases[filters] = allowed
        return Scope(place.space, place.edition, where, allowed)

    def count(self, filters: Filters) -> int:
        with self._reading() as (connection, _):
            scope = self._scope(connection, filters)
            statement = f"SELECT count(*) FROM chunks WHERE {scope.where}"  # noqa: S608 (fixed text; values are bound)
            ((count,),) = connection.execute(statement.encode(), scope.values).fetchall()
            return int(count)

    def passing(self, ids: Collection[int], filters: Filters) -> set[int]:
        with self._reading() as (connection, _):
            scope = self._scope(connection, filters)
            statement = f"SELECT id FROM chunks WHERE {scope.where} AND id = ANY(%s)"  # noqa: S608 (fixed text; values are bound)
            rows = connection.execute(statement.encode(), (*scope.values, [int(each) for each in ids]))
            return {int(row) for (row,) in rows}

    def rows(self, ids: Collection[int]) -> dict[int, StoredChunk]:
        with self._reading() as (connection, place):
            return _files.rows(connection, place, [int(each) for each in ids])

    def scoring_rows(self, ids: Collection[int]) -> dict[int, ScoringRow]:
        with self._reading() as (connection, place):
            return _files.scoring_rows(connection, place, [int(each) for each in ids])

    def ids_at(self, path: str) -> list[int]:
        with self._reading() as (connection, place):
            return _files.ids_at(connection, place, path)

    def all_ids(self) -> list[int]:
        with self._reading() as (connection, place):
            return _files.all_ids(connection, place)

    def places_of(self, text: str) -> list[tuple[str, int, int]]:
        with self._reading() as (connection, place):
            return _files.chunks_with(connection, place, text)

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
        corpus = self.corpus()
        if weights is None:
            weights = {term: log1p(corpus.chunks / max(count, 1)) for term, count in counts.items()}
        with self._reading() as (connection, _):
            return _words.search(
                connection,
                terms,
                limit=limit,
                scope=self._scope(connection, filters),
                frequency=counts,
                weights=weights,
                mean_length=corpus.mean_length,
            )

    def keyword_search_all(
        self, terms: Sequence[str], *, limit: int, filters: Filters = _EVERYTHING
    ) -> list[tuple[int, float]]:
        counts, corpus = self.document_frequency(terms), self.corpus()
        with self._reading() as (connection, _):
            return _words.search_all(
                connection,
                terms,
                limit=limit,
                scope=self._scope(connection, filters),
                frequency=counts,
                chunks=corpus.chunks,
                mean_length=corpus.mean_length,
            )

    def document_frequency(self, terms: Collection[str]) -> dict[str, int]:
        with self._reading() as (connection, place):
            return _files.document_frequency(connection, place, terms)

    def other_names(self, names: Collection[str]) -> dict[str, list[str]]:
        with self._reading() as (connection, place):
            return _files.other_names(connection, place, names)

    # vectors

    @contextmanager
    def _with_vectors(self) -> Generator[tuple[Connection, VectorSet | None]]:
        with self._reading() as (connection, _):
            yield connection, self._vector_set(connection)

    def missing(self, limit: int, *, of: Collection[int] = ()) -> list[tuple[bytes, str]]:
        with self._with_vectors() as (connection, vectors):
            return _vectors.missing(connection, vectors, limit, [int(each) for each in of]) if vectors else []

    def pending(self) -> int:
        with self._with_vectors() as (connection, vectors):
            return _vectors.count_waiting(connection, vectors)[1] if vectors else 0

    def waiting(self) -> int:
        with self._with_vectors() as (connection, vectors):
            return _vectors.count_waiting(connection, vectors)[0] if vectors else 0

    def failures(self) -> int:
        with self._with_vectors() as (connection, vectors):
            return _vectors.count_of(connection, vectors, "failures") if vectors else 0

    def vectors(self) -> int:
        with self._with_vectors() as (connection, vectors):
            return _vectors.count_of(connection, vectors, "vectors") if vectors else 0

    def referenced(self, keys: Collection[bytes]) -> set[bytes]:
        statement = (
            "SELECT key FROM chunks WHERE space = %s AND edition = %s AND key = ANY(%s)"
            " UNION SELECT key FROM items WHERE space = %s AND edition = %s AND key = ANY(%s)"
        )
        with self._reading() as (connection, place):
            rows = connection.execute(statement, (*place, list(keys), *place, list(keys)))
            return {bytes(key) for (key,) in rows}

    def vector_keys(self) -> set[bytes]:
        statement = (
            "SELECT key FROM chunks WHERE space = %s AND edition = %s"
            " UNION SELECT key FROM items WHERE space = %s AND edition = %s"
        )
        with self._reading() as (connection, place):
            return {bytes(key) for (key,) in connection.execute(statement, (*place, *place))}

    def providers(self) -> set[str]:
        statement = "SELECT DISTINCT spec ->> 'provider' FROM sets WHERE space = %s AND edition = %s"
        with self._reading() as (connection, place):
            return {str(name) for (name,) in connection.execute(statement, place)}

    def vector_search(
        self,
        query: NDArray[np.float32],
        *,
        limit: int,
        filters: Filters = _EVERYTHING,
        levels: ScriptBaselines | None = None,
    ) -> list[tuple[int, float]]:
        with self._with_vectors() as (connection, vectors):
            if vectors is None or limit <= 0:
                return []
            unit = _vectors.unit_rows(query.reshape(1, -1), vectors.dimensions)[0]
            scope = self._scope(connection, filters)
            return _vectors.nearest(connection, vectors, unit, limit=limit, scope=scope, levels=levels)

    def cosines(self, query: NDArray[np.float32], ids: Collection[int]) -> dict[int, float]:
        import numpy as np

        found, rows = self.vectors_at(ids)
        if not found:
            return {}
        unit = _vectors.unit_rows(query.reshape(1, -1), rows.shape[1])[0]
        cosines = np.einsum("ij,j->i", rows, unit, dtype=np.float64)
        return dict(zip(found, cosines.tolist(), strict=True))

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        with self._with_vectors() as (connection, vectors):
            dimensions = vectors.dimensions if vectors else 0
            wanted = [int(each) for each in ids]
            found = _vectors.of_chunks(connection, vectors, wanted) if vectors and wanted else []
        return [row for row, _ in found], _stacked([vector for _, vector in found], dimensions)

    def item_vectors(self, ids: Collection[int]) -> tuple[list[int], list[str], NDArray[np.float32]]:
        with self._with_vectors() as (connection, vectors):
            dimensions = vectors.dimensions if vectors else 0
            wanted = [int(each) for each in ids]
            found = _vectors.of_items(connection, vectors, wanted) if vectors and wanted else []
        kept = _stacked([vector for *_, vector in found], dimensions)
        return [row for row, *_ in found], [script for _, script, _ in found], kept

    def sample(self, count: int) -> tuple[list[str], NDArray[np.float32]]:
        with self._with_vectors() as (connection, vectors):
            dimensions = vectors.dimensions if vectors else 0
            found = _vectors.sample(connection, vectors, count) if vectors else []
        return [text for text, _ in found], _stacked([vector for _, vector in found], dimensions)

    def models(self) -> dict[ModelSpec, int]:
        with self._reading() as (connection, place):
            return _listing.models(connection, place)

    def stored_vectors(self, after: bytes, limit: int) -> tuple[list[bytes], NDArray[np.float32]]:
        with self._with_vectors() as (connection, vectors):
            found = _listing.stored(connection, vectors, after, limit) if vectors else []
            dimensions = vectors.dimensions if vectors else 0
        return [key for key, _ in found], _stacked([vector for _, vector in found], dimensions)

    def having_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        with self._with_vectors() as (connection, vectors):
            return _listing.having(connection, vectors, keys) if vectors else set()

    def refused(self) -> dict[bytes, str]:
        with self._with_vectors() as (connection, vectors):
            return _listing.refused(connection, vectors) if vectors else {}


def _stacked(vectors: Sequence[Any], dimensions: int) -> NDArray[np.float32]:
    import numpy as np

    if not vectors:
        return np.empty((0, dimensions), dtype=np.float32)
    return np.stack([vector.to_numpy() for vector in vectors])
