"""The sqlite-vec engine: a vec0 table inside the index, updated in the same transactions as the chunks."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, cast

from memoriter.index.files import _files
from memoriter.index.files._queries import condition
from memoriter.index.store._connection import counter, set_counter, transaction
from memoriter.index.vectors import _cache
from memoriter.index.vectors._engines import SLACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index.store._connection import Database
    from memoriter.index.vectors._cache import VectorSet
    from memoriter.index.vectors._engines import EngineName, StandardizedCosines
    from memoriter.types import Filters

_LARGEST_K = 4096
"""The largest number of neighbours that vec0 returns."""
_SLOTS = 1024
"""Vectors in one block of vec0; it releases only blocks that are empty."""
_Where = tuple[str, tuple[str | int, ...]]
"""An SQL condition on the rows that may be returned (empty for all rows), and its values."""


class SqliteVecEngine:
    """Lets SQLite scan the vectors: slower than a matrix, but without vectors in memory."""

    name: EngineName = "sqlite-vec"

    def __init__(self, connection: Database, vector_set: VectorSet) -> None:
        self._connection = connection
        self._set = vector_set
        self._table = f"chunks_vec_{vector_set.id}"
        self._counter_name = f"vec:{vector_set.id}"
        self._version = -1

    def apply_change(self, change: _files.StoredChange, *, before: int) -> None:
        if not self._exists() or counter(self._connection, self._counter_name) != before:
            return
        self._delete(change.gone)
        self._insert(change.added)
        self._mark_current()

    def catch_up(self, version: int) -> None:
        if self._version == version:
            return
        if not self._current():
            with transaction(self._connection):
                self._reconcile()
        self._version = version

    def candidates(
        self, query: NDArray[np.float32], limit: int, filters: Filters, standardized: StandardizedCosines | None
    ) -> NDArray[np.int64]:
        import numpy as np

        # vec0 supports only cosines; the best of each script include the chunks that stand out most.
        parts = _filter_parts(filters, standardized.named if standardized else ())
        ids = [each for where in parts for each, _ in self._find_near(query.tobytes(), limit, where)]
        return np.array(ids, dtype=np.int64)

    def _find_near(self, query: bytes, limit: int, where: _Where) -> list[tuple[int, float]]:
        count = limit + 32
        while count <= _LARGEST_K:
            neighbours = self._knn(query, count, where)
            # Neighbours as near as the last wanted one may lie beyond `count`; then search further.
            if len(neighbours) < count or neighbours[-1][1] > neighbours[limit - 1][1] + 2 * SLACK:
                return neighbours
            count *= 4
        return self._scan(query, where)

    def fetch(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        return _cache.vectors_of_chunks(self._connection, self._set, sorted(set(ids)))

    def ids(self) -> NDArray[np.int64]:
        import numpy as np

        return np.array(_cache.embedded_chunks(self._connection, self._set), dtype=np.int64)

    def _knn(self, query: bytes, count: int, where: _Where) -> list[tuple[int, float]]:
        part, values = where
        clause = f"AND {part}" if part else ""
        statement = (
            f"SELECT rowid, distance FROM {self._table} WHERE embedding MATCH ? AND k = ? {clause} ORDER BY distance"  # noqa: S608 (fixed text; values are bound)
        )
        return cast("list[tuple[int, float]]", self._connection.execute(statement, (query, count, *values)).fetchall())

    def _scan(self, query: bytes, where: _Where) -> list[tuple[int, float]]:
        part, values = where
        clause = f"WHERE {part}" if part else ""
        statement = f"SELECT rowid, vec_distance_cosine(embedding, ?) FROM {self._table} {clause}"  # noqa: S608 (fixed text; values are bound)
        return cast("list[tuple[int, float]]", self._connection.execute(statement, (query, *values)).fetchall())

    def _exists(self) -> bool:
        statement = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
        return self._connection.execute(statement, (self._table,)).get is not None

    def _current(self) -> bool:
        return self._exists() and counter(self._connection, self._counter_name) == _files.content_counter(
            self._connection
        )

    def _reconcile(self) -> None:
        """Bring the table up to date with the index, whatever a process without sqlite-vec did meanwhile."""
        if self._current():
            return
        overwritten = counter(self._connection, f"{self._counter_name}:overwritten") != counter(
            self._connection, "overwritten"
        )
        if self._exists() and (overwritten or self._bloated()):
            self._connection.execute(f"DROP TABLE {self._table}")
        self._connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {self._table}"
            f" USING vec0(embedding float[{self._set.dimensions}] distance_metric=cosine)"
        )
        stored = {cast("int", each) for (each,) in self._connection.execute(f"SELECT rowid FROM {self._table}")}  # noqa: S608 (our own name)
        embedded = _cache.embedded_chunks(self._connection, self._set)
        self._delete(stored.difference(embedded))
        self._insert([each for each in embedded if each not in stored])
        self._mark_current()

    def _bloated(self) -> bool:
        blocks = int(self._connection.execute(f"SELECT count(*) FROM {self._table}_chunks").get)  # noqa: S608 (our own name)
        stored = int(self._connection.execute(f"SELECT count(*) FROM {self._table}_rowids").get)  # noqa: S608 (our own name)
        return blocks * _SLOTS > 2 * stored + 2 * _SLOTS

    def _delete(self, ids: Iterable[int]) -> None:
        self._connection.executemany(f"DELETE FROM {self._table} WHERE rowid = ?", ((each,) for each in ids))  # noqa: S608 (our own name)

    def _insert(self, ids: Sequence[int]) -> None:
        found_ids, rows = _cache.vectors_of_chunks(self._connection, self._set, ids)
        pairs = zip(found_ids.tolist(), map(bytes, rows), strict=True)
        self._connection.executemany(f"INSERT INTO {self._table}(rowid, embedding) VALUES (?, ?)", pairs)  # noqa: S608 (our own name)

    def _mark_current(self) -> None:
        set_counter(self._connection, self._counter_name, _files.content_counter(self._connection))
        set_counter(self._connection, f"{self._counter_name}:overwritten", counter(self._connection, "overwritten"))


def _filter_parts(filters: Filters, scripts: Sequence[str]) -> list[_Where]:
    """Return conditions for what passes the filters: one, or one for each script and one for all other scripts."""
    if filters.empty and not scripts:
        return [("", ())]
    passing, values = condition(filters)
    parts: list[_Where] = [("1", ())]
    if scripts:
        others = f"chunks.script NOT IN ({', '.join('?' * len(scripts))})"
        parts = [*(("chunks.script = ?", (script,)) for script in scripts), (others, tuple(scripts))]
    return [
        (f"rowid IN (SELECT chunks.id FROM chunks WHERE {passing} AND {part})", (*values, *more))  # noqa: S608 (fixed text; values are bound)
        for part, more in parts
    ]


def load_sqlite_vec(connection: Database, extension_path: str | None) -> str | None:
    """Test sqlite-vec in a separate database, then load it here; return the problem, or None."""
    import apsw

    try:
        path = extension_path or _bundled()
        with closing(cast("Database", apsw.Connection(":memory:"))) as scratch:
            _load(scratch, path)
            problem = _probe(scratch)
        if problem is None:
            _load(connection, path)
    # Whatever the library raises, the exact engine can be used instead.
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return problem


def _bundled() -> str:
    import sqlite_vec  # pyright: ignore[reportMissingTypeStubs] (the package has none)

    return str(sqlite_vec.loadable_path())  # pyright: ignore[reportUnknownMemberType] (as above)


def _load(connection: Database, path: str) -> None:
    connection.enable_load_extension(True)
    try:
        connection.load_extension(path)
    finally:
        connection.enable_load_extension(False)


def _probe(scratch: Database) -> str | None:
    import struct

    scratch.execute("SELECT vec_version()").fetchall()
    # Libraries for another processor have loaded successfully and then failed here.
    scratch.execute("CREATE VIRTUAL TABLE probe USING vec0(embedding float[2] distance_metric=cosine)")
    pairs = [(1, struct.pack("<2f", 1, 0)), (2, struct.pack("<2f", 0, 1))]
    scratch.executemany("INSERT INTO probe(rowid, embedding) VALUES (?, ?)", pairs)
    statement = "SELECT rowid FROM probe WHERE embedding MATCH ? AND k = 1 AND rowid IN (1, 2)"
    nearest = scratch.execute(statement, (pairs[1][1],)).get
    return None if nearest == 2 else "a test search gave a wrong answer"
