"""What can be read of a space: its content, vectors of other memories, and who owns its tables."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from math import log1p
from typing import TYPE_CHECKING, TypeVar

from memoriter.extensions.postgres import _files, _nearest, _vectors, _words
from memoriter.extensions.postgres._changes import remembered
from memoriter.extensions.postgres._conditions import all_storable, condition, holds, is_pattern, restored, storable
from memoriter.extensions.postgres._words import Scope
from memoriter.folding import contains
from memoriter.ids import fingerprint, spec_of
from memoriter.records import ScoringRow
from memoriter.types import Filters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.postgres._changes import Content, State
    from memoriter.extensions.postgres._connections import Connection
    from memoriter.extensions.postgres._files import Place
    from memoriter.extensions.postgres._server import Server
    from memoriter.extensions.postgres._vectors import VectorSet
    from memoriter.records import Corpus, IndexedFile, StoredChunk
    from memoriter.store import Snapshot
    from memoriter.types import Diagnostic, ModelSpec, ScriptBaselines

T = TypeVar("T")
FORGETTING = "forgetting"
_EVERYTHING = Filters()
_HERE = "space = %s AND edition = %s"
_OF_SET = f"{_HERE} AND set = %s"


class PostgresReader:
    """Reads the content of a space. Several threads may read through one object at the same time."""

    read_only: bool = False
    may_use_graphs = True
    """Whether vectors may be searched through graphs; False compares all."""

    def __init__(self, server: Server, state: State) -> None:
        self._server = server
        self._state = state
        self._spec: ModelSpec | None = None
        self._lock = threading.RLock()
        """Held by a thread that writes."""
        self._held = threading.local()
        """The connection that a thread reads with, and the content that it reads."""

    @contextmanager
    def _opened(self) -> Generator[tuple[Connection, Content]]:
        """Give a connection and the content, after noticing what changed; within another reading, those of that one."""
        held: tuple[Connection, Content] | None = getattr(self._held, "reading", None)
        if held is not None:
            yield held
            return
        with self._server.connection() as connection:
            content = self._state.found(connection.execute(*self._state.statement).fetchone())
            with self._holding(connection, content) as reading:
                yield reading

    @contextmanager
    def _holding(
        self, connection: Connection, content: Content, *, ahead: bool = False
    ) -> Generator[tuple[Connection, Content]]:
        """Let the thread read with a connection; with `ahead`, vectors are read together with those of items."""
        self._held.reading = (connection, content)
        self._held.vectors = _vectors.ReadAhead() if ahead else None
        try:
            yield connection, content
        finally:
            self._held.reading = self._held.vectors = None

    @contextmanager
    def _reading(self) -> Generator[tuple[Connection, Place]]:
        """Give a connection and the place of the content, after noticing what changed."""
        with self._opened() as (connection, content):
            yield connection, content.place

    def _vector_set(self, connection: Connection, content: Content) -> VectorSet | None:
        if (spec := self._spec) is None:
            return None
        name = fingerprint(spec)
        if name not in content.sets:
            found = _vectors.find_set(connection, spec, *content.place)
            content.sets[name] = found or _vectors.VectorSet(*content.place, _vectors.NO_SET, spec.dimensions)
        return content.sets[name]

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
        with self._opened() as (_, content):
            return content.version

    def content(self) -> int:
        with self._opened() as (_, content):
            return content.content

    def at_one_state(self, read: Callable[[Snapshot], T]) -> T:
        if getattr(self._held, "reading", None) is not None:
            return read(self)
        with self._server.connection() as connection:
            with connection.pipeline():
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor = connection.execute(*self._state.statement)
            with self._holding(connection, self._state.found(cursor.fetchone()), ahead=True):
                result = read(self)
            connection.execute("COMMIT")
            return result

    def get_meta(self, key: str) -> str | None:
        return self.metas(key).get(key)

    def metas(self, prefix: str) -> dict[str, str]:
        with self._opened() as (connection, content):
            if prefix not in content.metas:
                content.metas[prefix] = _files.settings(connection, content.place, prefix)
            return dict(content.metas[prefix])

    # files and chunks

    def files(self) -> dict[str, IndexedFile]:
        with self._opened() as (connection, content):
            if content.files is None:
                content.files = _files.listing(connection, content.place)
            return content.files

    def files_at(self, paths: Collection[str]) -> dict[str, IndexedFile]:
        with self._reading() as (connection, place):
            return _files.listing_of(connection, place, paths)

    def corpus(self) -> Corpus:
        with self._opened() as (connection, content):
            if content.corpus is None:
                content.corpus = _files.corpus(connection, content.place)
            return content.corpus

    def _scope(self, connection: Connection, content: Content, filters: Filters) -> Scope:
        place = content.place
        paths = self.files() if filters.path is not None and is_pattern(filters.path) else ()
        kinds = self.corpus().kinds if filters.sources is not None else ()
        where = condition(filters, space=place.space, edition=place.edition, paths=paths, kinds=kinds)

        def holding() -> list[int]:
            statement = f"SELECT id, heading, text FROM chunks WHERE space = %s AND edition = %s AND {where.sql}"  # noqa: S608 (fixed text; values are bound)
            rows = connection.execute(statement.encode(), (*place, *where.values))
            return [row for row, heading, text in rows if holds(filters, restored(heading), restored(text))]

        allowed = remembered(content.phrases, filters, holding) if filters.phrases or filters.without else None
        return Scope(place.space, place.edition, where, allowed)

    def count(self, filters: Filters) -> int:
        with self._opened() as (connection, content):
            scope = self._scope(connection, content, filters)
            statement = f"SELECT count(*) FROM chunks WHERE {scope.where}"  # noqa: S608 (fixed text; values are bound)
            ((count,),) = connection.execute(statement.encode(), scope.values).fetchall()
            return int(count)

    def newest(self, filters: Filters, limit: int) -> list[int]:
        with self._opened() as (connection, content):
            scope = self._scope(connection, content, filters)
            day = "abs(chunks.day)" if filters.changed else "chunks.day"
            statement = (
                f"SELECT id, day, path FROM (SELECT chunks.id, {day} AS day, files.path,"  # noqa: S608 (fixed text; values are bound)
                " row_number() OVER (PARTITION BY chunks.file, chunks.day ORDER BY chunks.id) AS place FROM chunks"
                " JOIN files ON (files.space, files.edition, files.id) = (chunks.space, chunks.edition, chunks.file)"
                f" WHERE {scope.where} AND {day} > 0) AS placed ORDER BY place, day DESC, path, id LIMIT %s"
            )
            rows = connection.execute(statement.encode(), (*scope.values, max(limit, 0))).fetchall()
            found = [(int(row), int(day), restored(path)) for row, day, path in rows]
            return [row for row, _, _ in sorted(found, key=lambda row: (-row[1], row[2], row[0]))]

    def passing(self, ids: Collection[int], filters: Filters) -> set[int]:
        with self._opened() as (connection, content):
            scope = self._scope(connection, content, filters)
            statement = f"SELECT id FROM chunks WHERE {scope.where} AND id = ANY(%s)"  # noqa: S608 (fixed text; values are bound)
            rows = connection.execute(statement.encode(), (*scope.values, [int(each) for each in ids]))
            return {int(row) for (row,) in rows}

    def rows(self, ids: Collection[int]) -> dict[int, StoredChunk]:
        with self._reading() as (connection, place):
            return _files.rows(connection, place, [int(each) for each in ids])

    def scoring_rows(self, ids: Collection[int]) -> dict[int, ScoringRow]:
        columns = "chunks.id, files.path, files.kind, chunks.length, term_counts, day, script"
        statement = f"SELECT {columns} {_files.WITH_FILES} {_files.WANTED}"
        with self._reading() as (connection, place):
            rows = connection.execute(statement.encode(), (*place, [int(each) for each in ids]))
            return {row[0]: ScoringRow._make((*row[:4], bytes(row[4]), *row[5:])) for row in rows}

    def ids_at(self, path: str) -> list[int]:
        where = "chunks.space = %s AND chunks.edition = %s AND files.path = %s"
        statement = f"SELECT chunks.id {_files.WITH_FILES} WHERE {where} ORDER BY chunks.id"
        with self._reading() as (connection, place):
            return [int(row) for (row,) in connection.execute(statement.encode(), (*place, storable(path)))]

    def all_ids(self) -> list[int]:
        with self._reading() as (connection, place):
            rows = connection.execute(f"SELECT id FROM chunks WHERE {_HERE} ORDER BY id", place)  # noqa: S608 (fixed text)
            return [int(row) for (row,) in rows]

    def places_of(self, text: str) -> list[tuple[str, int, int]]:
        where = "chunks.space = %s AND chunks.edition = %s ORDER BY files.path, start_line"
        columns = "files.path, start_line, end_line, chunks.text, chunks.heading"
        with self._reading() as (connection, place):
            rows = connection.execute(f"SELECT {columns} {_files.WITH_FILES} WHERE {where}".encode(), place)
            return [
                (path, a, b) for path, a, b, *texts in rows if any(contains(restored(each), text) for each in texts)
            ]

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
        with self._opened() as (connection, content):
            return _words.search(
                connection,
                terms,
                limit=limit,
                scope=self._scope(connection, content, filters),
                frequency=counts,
                weights=weights,
                corpus=corpus,
            )

    def keyword_search_all(
        self, terms: Sequence[str], *, limit: int, filters: Filters = _EVERYTHING
    ) -> list[tuple[int, float]]:
        counts = self.document_frequency(terms)
        corpus = self.corpus()
        with self._opened() as (connection, content):
            return _words.search_all(
                connection,
                terms,
                limit=limit,
                scope=self._scope(connection, content, filters),
                frequency=counts,
                corpus=corpus,
            )

    def document_frequency(self, terms: Collection[str]) -> dict[str, int]:
        folded = {term: _words.fold(term) for term in terms}
        statement = f"SELECT term, chunks FROM frequencies WHERE {_HERE} AND term = ANY(%s)"  # noqa: S608 (fixed text)
        with self._reading() as (connection, place):
            rows = connection.execute(statement, (*place, list(folded.values()))).fetchall()
        counts = {str(term): int(chunks) for term, chunks in rows}
        return {term: counts.get(kept, 0) for term, kept in folded.items()}

    def other_names(self, names: Collection[str]) -> dict[str, list[str]]:
        found = dict[str, list[str]]()
        statement = (
            "SELECT DISTINCT names.name, others.name FROM names JOIN names AS others ON others.space = names.space"
            " AND others.edition = names.edition AND others.file = names.file AND others.name <> names.name"
            " WHERE names.space = %s AND names.edition = %s AND names.name = ANY(%s) ORDER BY 2"
        )
        with self._reading() as (connection, place):
            for name, other in connection.execute(statement, (*place, all_storable(names))):
                found.setdefault(name, []).append(other)
        return found

    # vectors

    @contextmanager
    def _with_vectors(self) -> Generator[tuple[Connection, VectorSet | None]]:
        with self._opened() as (connection, content):
            yield connection, self._vector_set(connection, content)

    def missing(self, limit: int, *, of: Collection[int] = ()) -> list[tuple[bytes, str]]:
        with self._with_vectors() as (connection, vectors):
            return _vectors.missing(connection, vectors, limit, [int(each) for each in of]) if vectors else []

    def _count(self, what: str, count: Callable[[Connection, VectorSet], tuple[int, ...]]) -> tuple[int, ...]:
        """Return what `count` gives for the active set, which is remembered while the content stays the same."""
        with self._opened() as (connection, content):
            if (vectors := self._vector_set(connection, content)) is None:
                return 0, 0
            if (vectors.id, what) not in content.counts:
                content.counts[vectors.id, what] = count(connection, vectors)
            return content.counts[vectors.id, what]

    def pending(self) -> int:
        return self._count("waiting", _vectors.count_waiting)[1]

    def waiting(self) -> int:
        return self._count("waiting", _vectors.count_waiting)[0]

    def failures(self) -> int:
        return self._count("failures", partial(_vectors.count_in, "failures"))[0]

    def vectors(self) -> int:
        return self._count("vectors", partial(_vectors.count_in, "vectors"))[0]

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
        with self._opened() as (connection, content):
            vectors = self._vector_set(connection, content)
            if vectors is None or limit <= 0:
                return []
            unit = _vectors.unit_rows(query.reshape(1, -1), vectors.dimensions)[0]
            scope = self._scope(connection, content, filters)
            graphs = self._graphs_of(connection, content, vectors)
            search = _nearest.Search(vectors, unit, limit, scope, levels)
            shares = dict[str, _nearest.Share]()
            if graphs.scripts and not scope.is_everything:
                shares = remembered(content.shares, filters, lambda: _nearest.sample_shares(connection, scope))
            return _nearest.nearest(connection, search, graphs, content.scripts.get(vectors.id, ()), shares)

    def _graphs_of(self, connection: Connection, content: Content, vectors: VectorSet) -> _nearest.Graphs:
        """Return the graphs of a set, and learn which scripts it has; none if graphs may not be used."""
        if not self.may_use_graphs:
            return _nearest.NO_GRAPHS
        if vectors.id not in content.graphs:
            key = _nearest.key_of(vectors)
            text = _files.settings(connection, content.place, key).get(key)
            graphs = _nearest.loads(text) if text else _nearest.NO_GRAPHS
            content.scripts[vectors.id] = _nearest.scripts_of(connection, vectors) if graphs.scripts else []
            content.graphs[vectors.id] = graphs
        return content.graphs[vectors.id]

    @property
    def engine(self) -> str:
        """`hnsw` if graphs of vectors are searched, else `exact`."""
        return "hnsw" if self.oversampling is not None else "exact"

    @property
    def oversampling(self) -> int | None:
        """Vectors that a graph is searched for each wanted one, as measured; None: all are compared."""
        return graphs.oversampling if (graphs := self._active_graphs()).scripts else None

    @property
    def recall(self) -> float | None:
        return graphs.recall if (graphs := self._active_graphs()).scripts else None

    def _active_graphs(self) -> _nearest.Graphs:
        with self._opened() as (connection, content):
            vectors = self._vector_set(connection, content)
            return self._graphs_of(connection, content, vectors) if vectors else _nearest.NO_GRAPHS

    def cosines(self, query: NDArray[np.float32], ids: Collection[int]) -> dict[int, float]:
        import numpy as np

        found, rows = self.vectors_at(ids)
        if not found:
            return {}
        unit = _vectors.unit_rows(query.reshape(1, -1), rows.shape[1])[0]
        return dict(zip(found, np.multiply(rows, unit, dtype=np.float64).sum(axis=1).tolist(), strict=True))

    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]:
        with self._with_vectors() as (connection, vectors):
            wanted = [int(each) for each in ids]
            if vectors is None or not wanted:
                return [], _vectors.no_rows(vectors)
            ahead: _vectors.ReadAhead | None = self._held.vectors
            if ahead is not None and len(wanted) <= _vectors.MOST_AHEAD:
                return ahead.chunks(connection, vectors, wanted)
            return _vectors.of_chunks(connection, vectors, wanted)

    def item_vectors(self, ids: Collection[int]) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
        with self._with_vectors() as (connection, vectors):
            wanted = [int(each) for each in ids]
            if vectors is None or not wanted:
                return [], [], [], _vectors.no_rows(vectors)
            ahead: _vectors.ReadAhead | None = self._held.vectors
            if ahead is not None and len(wanted) <= _vectors.MOST_AHEAD:
                return ahead.items(connection, vectors, wanted)
            return _vectors.of_items(connection, vectors, wanted)

    def sample(self, count: int) -> tuple[list[str], NDArray[np.float32]]:
        with self._with_vectors() as (connection, vectors):
            return _vectors.sample(connection, vectors, count) if vectors else ([], _vectors.no_rows(None))

    def models(self) -> dict[ModelSpec, int]:
        of_set = "of.space = sets.space AND of.edition = sets.edition AND of.set = sets.id"
        statement = (
            "SELECT spec::text, vectors FROM (SELECT sets.id, sets.spec,"  # noqa: S608 (fixed text)
            f" (SELECT count(*) FROM vectors AS of WHERE {of_set}) AS vectors,"
            f" EXISTS (SELECT 1 FROM failures AS of WHERE {of_set}) AS refused"
            " FROM sets WHERE space = %s AND edition = %s) AS counted WHERE vectors > 0 OR refused ORDER BY id"
        )
        with self._reading() as (connection, place):
            return {spec_of(spec): vectors for spec, vectors in connection.execute(statement.encode(), place)}

    def stored_vectors(self, after: bytes, limit: int) -> tuple[list[bytes], NDArray[np.float32]]:
        statement = (
            f"SELECT key, coalesce(short, vector_send(vector)) FROM vectors WHERE {_OF_SET} AND key > %s"  # noqa: S608 (fixed text)
            " ORDER BY key LIMIT %s"
        )
        with self._with_vectors() as (connection, vectors):
            if vectors is None:
                return [], _vectors.no_rows(None)
            rows = connection.execute(statement.encode(), (*vectors.key, after, limit), binary=True).fetchall()
            return [bytes(key) for key, _ in rows], _vectors.decode([blob for _, blob in rows], vectors.dimensions)

    def having_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        statement = f"SELECT key FROM vectors WHERE {_OF_SET} AND key = ANY(%s)"  # noqa: S608 (fixed text)
        with self._with_vectors() as (connection, vectors):
            if vectors is None:
                return set()
            return {bytes(key) for (key,) in connection.execute(statement.encode(), (*vectors.key, list(keys)))}

    def refused(self) -> dict[bytes, str]:
        statement = f"SELECT key, message FROM failures WHERE {_OF_SET} ORDER BY key"  # noqa: S608 (fixed text)
        with self._with_vectors() as (connection, vectors):
            if vectors is None:
                return {}
            return {bytes(key): str(message) for key, message in connection.execute(statement.encode(), vectors.key)}

    # what is around the content of the space

    @property
    def work_left(self) -> tuple[Diagnostic, ...]:
        if (vectors := self._without_graphs()) is None:
            return ()
        with self._server.connection() as connection:
            return _nearest.left_to_owner(connection, vectors)

    def _without_graphs(self) -> VectorSet | None:
        """Return the active vectors if their graphs have to be made and measured."""
        with self._opened() as (connection, content):
            vectors = self._vector_set(connection, content)
            known = self._graphs_of(connection, content, vectors) if vectors else _nearest.NO_GRAPHS
        return vectors if self.may_use_graphs and _nearest.is_due(known, self.vectors()) else None

    def shared_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        with self._server.connection() as connection:
            return _vectors.held_by(connection, self._other_sets(connection), keys)

    def _other_sets(self, connection: Connection) -> list[VectorSet]:
        return _vectors.other_sets(connection, self._spec, self._state.space, self._server.settings.role)
