"""What all vector engines share: their Protocol, names and exact cosines with their order; and the engine `exact`.

Every engine returns the same results, because the cosines and their order are computed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from memoriter.errors import BadVector
from memoriter.index import _content
from memoriter.index._connection import counter
from memoriter.index._content import condition
from memoriter.index.vectors import _cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._connection import Database
    from memoriter.index.vectors._binary_quantization import Measurement
    from memoriter.index.vectors._cache import VectorSet
    from memoriter.types import Filters, ScriptBaselines


EngineName = Literal["auto", "exact", "codes"]
ENGINES: tuple[EngineName, ...] = ("auto", "exact", "codes")
"""`exact` compares every vector. `codes` compares only the vectors that 1-bit codes select, enough to
find 99 % of the true nearest; with few chunks it compares all. `auto` is `exact` for small corpora, else `codes`,
unless codes were measured to find less."""

MOST_COMPARED = 16_384
"""Up to this many chunks, `auto` compares every vector; at 10,000 that is faster than codes (`just bench`) and misses
nothing."""
LARGEST_MATRIX = 256 * 1024 * 1024
"""Bytes of vectors that `auto` holds in memory rather than miss more than 1 % of the nearest with codes."""


class VectorEngine(Protocol):
    """Finds the chunks of one vector set near a query; the caller computes the scores from the stored vectors."""

    @property
    def size(self) -> int:
        """The number of vectors, as far as they are loaded."""
        ...

    @property
    def measured(self) -> Measurement | None:
        """The measured oversampling; None if all chunks are compared exactly."""
        ...

    def loaded(self, version: int) -> bool:
        """Return whether the engine is up to date with the index."""
        ...

    def catch_up(self, version: int) -> None:
        """Bring the engine up to date with the index; cheap while `version` stays the same."""
        ...

    def candidates(
        self, query: NDArray[np.float32], limit: int, filters: Filters, standardized: StandardizedCosines | None
    ) -> NDArray[np.int64]:
        """Return the chunks with the best `limit` for a unit query, and everything within rounding of the last one.

        The best have the highest cosines or, with `standardized`, stand out most in their script.
        """
        ...

    def fetch(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the chunks that have a vector, ascending, and the vectors: (n,) and (n, dims)."""
        ...


SLACK = 1e-5
"""Far above the rounding error of a float32 dot product of unit vectors: no top result is lost before the exact scores
are known."""


def unit_query(query: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """Return the query scaled to length 1. Raises BadVector if its dimensions do not fit this set."""
    import numpy as np

    flat = np.asarray(query, dtype=np.float32).reshape(-1)
    if flat.size != dimensions:
        raise BadVector(f"The query vector has {flat.size} dimensions, the vectors in the index have {dimensions}.")
    return unit_rows(flat.reshape(1, -1), dimensions)[0]


def unit_rows(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """Return rows scaled to length 1, (n, dims) float32.

    Raises:
        BadVector: a row is not finite, zero or of another length.
    """
    import numpy as np

    rows = np.ascontiguousarray(vectors, dtype="<f4")
    if rows.ndim != 2 or rows.shape[1] != dimensions:
        raise BadVector(f"Vectors of shape {rows.shape} do not fit a set of {dimensions} dimensions.")
    # Use float64, in which the square of a float32 neither overflows nor underflows.
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise BadVector("A vector is zero or not finite.")
    if np.all(np.abs(lengths - 1) < 1e-6):
        return rows
    return (rows / lengths[:, None]).astype("<f4")


def cosines(rows: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return exact cosines of unit rows. Unlike a BLAS product, equal rows give equal results wherever they lie."""
    import numpy as np

    return np.multiply(rows, query, dtype=np.float64).sum(axis=1)


def best(ids: NDArray[np.int64], scores: NDArray[np.float64], limit: int) -> NDArray[np.intp]:
    """Return the positions of the highest scores, highest first; ties by id."""
    import numpy as np

    return np.lexsort((ids, -scores))[:limit]


def near_top(scores: NDArray[np.float32], limit: int, *, slack: float) -> NDArray[np.intp]:
    """Return the positions of all that may belong to the best `limit`, in no order; `slack` is their rounding error."""
    import numpy as np

    if scores.size <= limit:
        return np.arange(scores.size)
    last = np.partition(scores, scores.size - limit)[scores.size - limit]
    return np.flatnonzero(scores >= last - slack)


_ROOM = 1024
"""Rows reserved for later additions; pages that are never written cost nothing."""
_Float = TypeVar("_Float", "np.float32", "np.float64")


class ChunkScripts:
    """One byte for each chunk id since the oldest chunk; only new ids are read, because chunks never change.

    The ids of a file begin far above those of the file that it replaced, so they are counted from its oldest chunk.
    """

    def __init__(self, connection: Database) -> None:
        import numpy as np

        self._connection = connection
        self._numbers: dict[str, int] = {}
        self._numbers_by_id = np.zeros(0, dtype=np.uint8)
        self._oldest_id = 0
        """The oldest chunk when the first one was read; later chunks have higher ids."""
        self._newest_id = 0

    @property
    def names(self) -> Sequence[str]:
        """Script names, by their numbers; grows as `numbers_of` meets new scripts."""
        return tuple(self._numbers)

    def numbers_of(self, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the script number of each chunk."""
        if ids.size and ids.max() > self._newest_id:
            self._load_new()
        return self._numbers_by_id[ids - self._oldest_id]

    def _load_new(self) -> None:
        import numpy as np

        newest = _content.newest_id(self._connection)
        if not self._newest_id:
            self._oldest_id = int(self._connection.execute("SELECT min(id) FROM chunks").get or newest)
        used = newest - self._oldest_id + 1
        if used > self._numbers_by_id.size:
            grown = np.zeros(used + used // 4 + _ROOM, dtype=np.uint8)
            grown[: self._numbers_by_id.size] = self._numbers_by_id
            self._numbers_by_id = grown
        statement = "SELECT id, script FROM chunks WHERE id BETWEEN ? AND ?"
        rows = self._connection.execute(statement, (self._newest_id + 1, newest))
        for chunk_id, script in cast("Iterable[tuple[int, str]]", rows):
            self._numbers_by_id[chunk_id - self._oldest_id] = self._numbers.setdefault(script, len(self._numbers))
        self._newest_id = newest


class StandardizedCosines:
    """Converts cosines with a query to deviations above the baseline of each chunk's script: higher is better."""

    def __init__(self, scripts: ChunkScripts, baselines: ScriptBaselines) -> None:
        self._scripts = scripts
        self._baselines = baselines

    @property
    def named(self) -> Sequence[str]:
        """The scripts that have a baseline of their own."""
        return [script for script in self._baselines if script]

    @property
    def steepest(self) -> float:
        """The factor by which a cosine's rounding error can grow."""
        return 1 / min(deviation for _, deviation in self._baselines.values())

    def numbers(self, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the script numbers of chunks, for `scores`."""
        return self._scripts.numbers_of(ids)

    def scores(self, cosines: NDArray[_Float], numbers: NDArray[np.uint8]) -> NDArray[_Float]:
        """Return the standardized cosines of chunks with these script numbers, in the precision of the cosines."""
        import numpy as np

        baselines = [self._baselines.get(script, self._baselines[""]) for script in self._scripts.names]
        unrelated, deviations = np.array(baselines, dtype=cosines.dtype).reshape(-1, 2).T
        return cast("NDArray[_Float]", (cosines - unrelated[numbers]) / deviations[numbers])


_BATCH = 256
"""Vectors read at a time: few enough for the processor's cache, and loading never needs twice the memory."""
_MAX_FILTERS = 8
"""The number of filters whose chunks are cached while the index stays the same."""


class ExactEngine:
    """Compares the query with every vector: one matrix product."""

    def __init__(self, connection: Database, vector_set: VectorSet) -> None:
        import numpy as np

        self._connection = connection
        self._set = vector_set
        self._numbers: NDArray[np.uint8] | None = None
        self._version = -1
        self._overwritten: int = 0
        self.measured: Measurement | None = None
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
        chunks = _content.corpus(self._connection).chunks
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

        present = np.array(_content.all_ids(self._connection), dtype=np.int64)
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
