"""The exact engine: all vectors of the set in one matrix in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.index import _cache, _files
from memoriter.index._connection import counter
from memoriter.index._filters import condition
from memoriter.index._ranking import SLACK, near_top

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._cache import VectorSet
    from memoriter.index._chunk_scripts import StandardizedCosines
    from memoriter.index._database import Database
    from memoriter.index._engines import EngineName
    from memoriter.types import Filters

_BATCH = 256
"""Vectors read at a time: few enough to stay in the processor's cache, and loading never needs the memory twice."""
_ROOM = 1024
"""Rows kept free for what is added later; pages that are never written cost nothing."""
_REMEMBERED = 8
"""Filters whose chunks are remembered while the index stays the same."""


class ExactEngine:
    """Compares the query with every vector: one matrix product."""

    name: EngineName = "exact"

    def __init__(self, connection: Database, of: VectorSet) -> None:
        import numpy as np

        self._connection = connection
        self._set = of
        self._numbers: NDArray[np.uint8] | None = None
        self._version = -1
        self._overwritten: int = 0
        self._slots = np.empty(0, dtype=np.int64)
        self._rows = np.empty((0, of.dimensions), dtype=np.float32)
        self._size = 0
        self._order: NDArray[np.intp] | None = None
        self._allowed: dict[Filters, NDArray[np.intp]] = {}

    def follow(self, change: _files.StoredChange, *, before: int) -> None:
        """Nothing to do: the next `catch_up` sees what the index holds."""

    def loaded(self, version: int) -> bool:
        """Whether the matrix is that of `version`."""
        return self._version == version

    @property
    def size(self) -> int:
        """Vectors held."""
        return self._size

    def catch_up(self, version: int) -> None:
        if self._version == version:
            return
        overwritten = counter(self._connection, "overwritten")
        if self._version < 0 or overwritten != self._overwritten:
            self._load()
        else:
            self._update()
        self._version, self._overwritten = version, overwritten
        self._numbers = None
        self._allowed.clear()

    def candidates(
        self, query: NDArray[np.float32], limit: int, filters: Filters, levels: StandardizedCosines | None
    ) -> NDArray[np.int64]:
        if filters.empty:
            return self._ids[self._top(_products(self._matrix, query), slice(None), limit, levels)]
        positions = self._positions_of(filters)
        # Picking rows costs about as much as multiplying them, so it pays only for a small part.
        few = positions.size * 4 < self._ids.size
        scores = _products(self._matrix[positions], query) if few else _products(self._matrix, query)[positions]
        return self._ids[positions[self._top(scores, positions, limit, levels)]]

    def _top(
        self,
        scores: NDArray[np.float32],
        positions: NDArray[np.intp] | slice,
        limit: int,
        levels: StandardizedCosines | None,
    ) -> NDArray[np.intp]:
        """Where the best of these scores are, which are those of the chunks at `positions`."""
        if levels is None:
            return near_top(scores, limit, slack=SLACK)
        if self._numbers is None:
            self._numbers = levels.numbers(self._ids)
        return near_top(levels.scores(scores, self._numbers[positions]), limit, slack=SLACK * levels.steepest)

    def take(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        import numpy as np

        positions = self._positions(np.array(sorted(set(ids)), dtype=np.int64))
        return self._ids[positions], self._matrix[positions]

    def ids(self) -> NDArray[np.int64]:
        import numpy as np

        return np.sort(self._ids)

    def _positions_of(self, filters: Filters) -> NDArray[np.intp]:
        import numpy as np

        if filters not in self._allowed:
            if len(self._allowed) >= _REMEMBERED:
                self._allowed.clear()
            where, values = condition(filters)
            statement = f"SELECT chunks.id FROM chunks WHERE {where}"  # noqa: S608 (fixed text; values are bound)
            found = self._connection.execute(statement, values)
            self._allowed[filters] = self._positions(np.fromiter((chunk_id for (chunk_id,) in found), dtype=np.int64))
        return self._allowed[filters]

    def _positions(self, wanted: NDArray[np.int64]) -> NDArray[np.intp]:
        """Rows of those ids that have a vector."""
        import numpy as np

        if not self._ids.size:
            return np.empty(0, dtype=np.intp)
        if self._order is None:
            self._order = np.argsort(self._ids)
        places = np.searchsorted(self._ids, wanted, sorter=self._order)
        positions = self._order[np.minimum(places, self._ids.size - 1)]
        return positions[self._ids[positions] == wanted]

    def _load(self) -> None:
        import numpy as np

        cached = int(self._connection.execute("SELECT max(id) FROM embedding_cache").get or 0)
        chunks = _files.corpus(self._connection).chunks
        capacity = chunks + chunks // 4 + _ROOM
        self._slots = np.empty(capacity, dtype=np.int64)
        self._rows = np.empty((capacity, self._set.dimensions), dtype=np.float32)
        self._size = 0
        statement = _cache.ALL_IN_ORDER if cached <= 2 * chunks else _cache.ALL_BY_KEY
        for ids, rows in _cache.fetched(self._connection, self._set, statement, (self._set.id,), batch=_BATCH):
            self._append(ids, rows)

    def _update(self) -> None:
        """Bring only what is new; ids are never used twice, so a known id is a known vector."""
        import numpy as np

        present = np.array(_files.all_ids(self._connection), dtype=np.int64)
        fresh = np.setdiff1d(present, self._ids, assume_unique=True)
        if self._size + fresh.size > self._slots.size:
            self._load()
            return
        self._drop(np.isin(self._ids, present, assume_unique=True))
        self._append(*_cache.vectors_of(self._connection, self._set, fresh.tolist()))

    def _append(self, ids: NDArray[np.int64], rows: NDArray[np.float32]) -> None:
        end = self._size + ids.size
        if end > self._slots.size:  # Another process adds while this one reads.
            self._slots, self._rows = _grown(self._slots, end), _grown(self._rows, end)
        self._slots[self._size : end], self._rows[self._size : end] = ids, rows
        self._size, self._order = end, None

    def _drop(self, alive: NDArray[np.bool_]) -> None:
        """Fill the holes with rows from the end: nothing else moves."""
        import numpy as np

        size = int(np.count_nonzero(alive))
        holes = np.flatnonzero(~alive[:size])
        movers = np.flatnonzero(alive[size:]) + size
        self._slots[holes], self._rows[holes] = self._slots[movers], self._rows[movers]
        self._size, self._order = size, None

    @property
    def _ids(self) -> NDArray[np.int64]:
        return self._slots[: self._size]

    @property
    def _matrix(self) -> NDArray[np.float32]:
        return self._rows[: self._size]


def _products(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Dot products, without BLAS: its threads wait for each other, which on a busy machine takes 50 times as long."""
    import numpy as np

    return np.einsum("ij,j->i", rows, query)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    import numpy as np

    larger = np.empty((size + size // 4, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
