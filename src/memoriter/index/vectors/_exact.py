"""The exact engine: all vectors of the set in one matrix in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.index.files import _files
from memoriter.index.files._queries import condition
from memoriter.index.store._connection import counter
from memoriter.index.vectors import _cache
from memoriter.index.vectors._engines import SLACK, near_top

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index.store._connection import Database
    from memoriter.index.vectors._cache import VectorSet
    from memoriter.index.vectors._engines import EngineName, StandardizedCosines
    from memoriter.types import Filters

_BATCH = 256
"""Vectors read at a time: few enough for the processor's cache, and loading never needs twice the memory."""
_ROOM = 1024
"""Rows reserved for later additions; pages that are never written cost nothing."""
_MAX_FILTERS = 8
"""The number of filters whose chunks are cached while the index stays the same."""


class ExactEngine:
    """Compares the query with every vector: one matrix product."""

    name: EngineName = "exact"

    def __init__(self, connection: Database, vector_set: VectorSet) -> None:
        import numpy as np

        self._connection = connection
        self._set = vector_set
        self._numbers: NDArray[np.uint8] | None = None
        self._version = -1
        self._overwritten: int = 0
        self._slots = np.empty(0, dtype=np.int64)
        self._rows = np.empty((0, vector_set.dimensions), dtype=np.float32)
        self._resize(0)
        self._filter_positions: dict[Filters, NDArray[np.intp]] = {}

    def loaded(self, version: int) -> bool:
        """Return whether the matrix is that of `version`."""
        return self._version == version

    @property
    def size(self) -> int:
        """The number of vectors in memory."""
        return self._size

    def catch_up(self, version: int) -> None:
        if self._version == version:
            return
        overwritten = counter(self._connection, "overwritten")
        if self._version < 0 or overwritten != self._overwritten:
            self._load()
        else:
            self._update()
        self._version = version
        self._overwritten = overwritten
        self._numbers = None
        self._filter_positions.clear()

    def candidates(
        self, query: NDArray[np.float32], limit: int, filters: Filters, standardized: StandardizedCosines | None
    ) -> NDArray[np.int64]:
        if filters.empty:
            return self._ids[self._top(_dot_products(self._matrix, query), slice(None), limit, standardized)]
        positions = self._matching_positions(filters)
        # Selecting rows costs about as much as multiplying them, so it pays only for a small part.
        few = positions.size * 4 < self._ids.size
        scores = _dot_products(self._matrix[positions], query) if few else _dot_products(self._matrix, query)[positions]
        return self._ids[positions[self._top(scores, positions, limit, standardized)]]

    def _top(
        self,
        scores: NDArray[np.float32],
        positions: NDArray[np.intp] | slice,
        limit: int,
        standardized: StandardizedCosines | None,
    ) -> NDArray[np.intp]:
        """Return the positions, within `scores`, of the best; `scores` are those of the chunks at `positions`."""
        if standardized is None:
            return near_top(scores, limit, slack=SLACK)
        if self._numbers is None:
            self._numbers = standardized.numbers(self._ids)
        return near_top(
            standardized.scores(scores, self._numbers[positions]), limit, slack=SLACK * standardized.steepest
        )

    def fetch(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        import numpy as np

        positions = self._positions(np.array(sorted(set(ids)), dtype=np.int64))
        return self._ids[positions], self._matrix[positions]

    def _matching_positions(self, filters: Filters) -> NDArray[np.intp]:
        import numpy as np

        if filters not in self._filter_positions:
            if len(self._filter_positions) >= _MAX_FILTERS:
                self._filter_positions.clear()
            where, values = condition(filters)
            statement = f"SELECT chunks.id FROM chunks WHERE {where}"  # noqa: S608 (fixed text; values are bound)
            rows = self._connection.execute(statement, values)
            self._filter_positions[filters] = self._positions(
                np.fromiter((chunk_id for (chunk_id,) in rows), dtype=np.int64)
            )
        return self._filter_positions[filters]

    def _positions(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the rows of the ids that have a vector."""
        import numpy as np

        if not self._ids.size:
            return np.empty(0, dtype=np.intp)
        if self._order is None:
            self._order = np.argsort(self._ids)
        places = np.searchsorted(self._ids, ids, sorter=self._order)
        positions = self._order[np.minimum(places, self._ids.size - 1)]
        return positions[self._ids[positions] == ids]

    def _load(self) -> None:
        import numpy as np

        cached = int(self._connection.execute("SELECT max(id) FROM embedding_cache").get or 0)
        chunks = _files.corpus(self._connection).chunks
        capacity = chunks + chunks // 4 + _ROOM
        self._slots = np.empty(capacity, dtype=np.int64)
        self._rows = np.empty((capacity, self._set.dimensions), dtype=np.float32)
        self._resize(0)
        statement = _cache.ALL_IN_ORDER if cached <= 2 * chunks else _cache.ALL_BY_KEY
        for ids, rows in _cache.read_batches(self._connection, self._set, statement, (self._set.id,), batch=_BATCH):
            self._append(ids, rows)

    def _update(self) -> None:
        """Load only new vectors; an id is never used twice, so a known id has a known vector."""
        import numpy as np

        present = np.array(_files.all_ids(self._connection), dtype=np.int64)
        fresh = np.setdiff1d(present, self._ids, assume_unique=True)
        if self._size + fresh.size > self._slots.size:
            self._load()
            return
        self._drop(np.isin(self._ids, present, assume_unique=True))
        self._append(*_cache.vectors_of_chunks(self._connection, self._set, fresh.tolist()))

    def _append(self, ids: NDArray[np.int64], rows: NDArray[np.float32]) -> None:
        end = self._size + ids.size
        if end > self._slots.size:  # Another process added vectors during the read.
            self._slots = _grow(self._slots, end)
            self._rows = _grow(self._rows, end)
        self._slots[self._size : end] = ids
        self._rows[self._size : end] = rows
        self._resize(end)

    def _drop(self, alive: NDArray[np.bool_]) -> None:
        """Fill the gaps with rows from the end; no other row moves."""
        import numpy as np

        size = int(np.count_nonzero(alive))
        holes = np.flatnonzero(~alive[:size])
        movers = np.flatnonzero(alive[size:]) + size
        self._slots[holes] = self._slots[movers]
        self._rows[holes] = self._rows[movers]
        self._resize(size)

    def _resize(self, size: int) -> None:
        """Use the first `size` of the reserved rows."""
        self._size = size
        self._ids = self._slots[:size]
        self._matrix = self._rows[:size]
        self._order: NDArray[np.intp] | None = None


def _dot_products(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return dot products without BLAS, whose threads wait for each other: 50 times as slow on a busy machine."""
    import numpy as np

    return np.einsum("ij,j->i", rows, query)


def _grow(array: NDArray[Any], size: int) -> NDArray[Any]:
    import numpy as np

    larger = np.empty((size + size // 4, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
