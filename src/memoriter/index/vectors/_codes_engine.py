"""The codes engine: a scan over 1-bit codes in memory selects the few vectors that are read and compared exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.index import _content
from memoriter.index._connection import snapshot, transaction
from memoriter.index._content import condition
from memoriter.index.vectors import _binary_quantization, _cache, _engines, _segments
from memoriter.index.vectors._code_cache import CodeCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._connection import Database
    from memoriter.index.vectors._cache import VectorSet
    from memoriter.index.vectors._engines import EngineName, StandardizedCosines
    from memoriter.index.vectors._segments import CodeMeans
    from memoriter.types import Filters

COMPARE_ALL = 2048
"""Up to this many chunks, all are compared exactly: codes would save nothing."""
_ESTIMATES_PER_VECTOR = 8
"""Codes whose cosines are estimated, for each vector that is read. With half as many, `just bench` finds less than 99 %
of the nearest among 100,000."""
_MAX_FILTERS = 8
"""The number of filters whose chunks are cached."""


def needs_settling(connection: Database, vector_set: VectorSet) -> bool:
    """Return whether the next search would have to make or measure codes; cheap, and without NumPy."""
    if _segments.is_outdated(connection, vector_set):
        return True
    vectors = _segments.count_codes(connection, vector_set)
    return vectors > COMPARE_ALL and _binary_quantization.is_due(
        _segments.measured_vectors(connection, vector_set), vectors
    )


class CodesEngine:
    """Reads 68 bytes a chunk once, then a few vectors a query; `oversampling` is measured so that 99 % are found."""

    name: EngineName = "codes"

    def __init__(self, connection: Database, vector_set: VectorSet) -> None:
        self._connection = connection
        self._set = vector_set
        self._version = -1
        self._codes = CodeCache(connection, vector_set)
        self._code_means: CodeMeans | None = None
        self._filter_ids: dict[Filters, tuple[int, NDArray[np.int64]]] = {}
        self._filter_masks: tuple[int, dict[Filters, NDArray[np.bool_]]] = (-1, {})
        self._script_cache: tuple[int, NDArray[np.uint8], NDArray[np.float64]] | None = None

    @property
    def size(self) -> int:
        """The number of chunks that have a code."""
        return self._codes.size

    @property
    def measured(self) -> _binary_quantization.Measurement | None:
        """The measured oversampling; None while all chunks are compared exactly."""
        code_means = self._code_means
        if code_means is None or not code_means.measured or self.size <= COMPARE_ALL:
            return None
        return _binary_quantization.Measurement(code_means.oversampling, code_means.recall)

    def loaded(self, version: int) -> bool:
        """Return whether the codes are those of `version`."""
        return self._version == version

    def catch_up(self, version: int) -> None:
        if self._version == version:
            return
        if _segments.is_outdated(self._connection, self._set):
            with transaction(self._connection):
                _segments.reconcile(self._connection, self._set)
        self._load()
        if (
            self._code_means
            and self.size > COMPARE_ALL
            and _binary_quantization.is_due(self._code_means.measured, self.size)
        ):
            self._measure(self._code_means)
        self._version = version

    def candidates(
        self, query: NDArray[np.float32], limit: int, filters: Filters, standardized: StandardizedCosines | None
    ) -> NDArray[np.int64]:
        import numpy as np

        if self._code_means is None:
            return np.empty(0, dtype=np.int64)
        oversampling = self._code_means.oversampling if self._code_means.measured else _binary_quantization.STEPS[-1]
        count = _binary_quantization.breadth(oversampling, limit)
        excluded = self._excluded(filters)
        allowed = excluded.size - int(np.count_nonzero(excluded))
        if self.size <= COMPARE_ALL or allowed <= count:
            return self._codes.ids[~excluded]
        near = self._nearest(self._code_means, query, count, excluded, standardized)
        return self._codes.ids[near[self._best(query, near, limit, standardized)]]

    def fetch(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        import numpy as np

        positions = self._codes.positions(_segments.id_array(ids))
        places = self._codes.places[positions]
        found_places, rows = _cache.vectors_by_id(self._connection, self._set, _segments.id_array(places.tolist()))
        # Another process that deletes a chunk at this moment may delete its vector too.
        exists = _segments.is_in(places, found_places)
        return self._codes.ids[positions[exists]], rows[np.searchsorted(found_places, places[exists])]

    def ids(self) -> NDArray[np.int64]:
        return self._codes.ids[~self._codes.excluded]

    def _load(self) -> None:
        try:
            with snapshot(self._connection):
                self._code_means = _segments.read_code_means(self._connection, self._set)
                if self._code_means is not None:
                    self._codes.refresh(self._code_means.epoch)
        except BaseException:
            # A change that was read only in part would give wrong results: read everything again.
            self._codes = CodeCache(self._connection, self._set)
            self._filter_masks = (-1, {})
            self._script_cache = None
            raise

    def _measure(self, code_means: CodeMeans) -> None:
        def search(query: NDArray[np.float32], count: int) -> NDArray[np.float64]:
            _, rows = self.fetch(
                self._codes.ids[self._nearest(code_means, query, count, self._codes.excluded, None)].tolist()
            )
            return _engines.cosines(rows, query)

        _, rows = self.fetch(_engines.random_ids(self.ids(), _binary_quantization.QUERIES, seed=0))
        queries = _binary_quantization.sample_queries(rows, code_means.means, seed=0)
        measured = _binary_quantization.measure(self._connection, self._set, queries, search)
        with transaction(self._connection):
            _segments.save_measurement(self._connection, self._set, code_means.epoch, measured, vectors=self.size)
        self._load()

    def _nearest(
        self,
        code_means: CodeMeans,
        query: NDArray[np.float32],
        count: int,
        excluded: NDArray[np.bool_],
        standardized: StandardizedCosines | None,
    ) -> NDArray[np.intp]:
        """Return the positions of the `count` chunks with the best estimated cosines."""
        residual = query - code_means.means
        bits = self._codes.bits
        groups = None if standardized is None else self._groups(code_means, query, standardized)
        near = _binary_quantization.nearest(bits, excluded, residual, count * _ESTIMATES_PER_VECTOR, groups)
        scores = _binary_quantization.estimates(bits[:, near], self._codes.factors[:, near], residual)
        if standardized is not None and groups is not None:
            scores = standardized.scores(scores + code_means.means @ query, groups.numbers[near])
        return near[_engines.top(scores, count)]

    def _best(
        self, query: NDArray[np.float32], near: NDArray[np.intp], limit: int, standardized: StandardizedCosines | None
    ) -> NDArray[np.intp]:
        """Return which of these positions may belong to the best, judged by their vectors in quarter precision."""
        cosines, error = self._codes.quarter_precision.cosines(
            self._codes.places[near], query, lambda places: _cache.vectors_by_id(self._connection, self._set, places)
        )
        if standardized is None:
            return _engines.near_top(cosines, limit, slack=2 * error)
        scores = standardized.scores(cosines, standardized.numbers(self._codes.ids[near]))
        return _engines.near_top(scores, limit, slack=2 * error * standardized.steepest)

    def _groups(
        self, code_means: CodeMeans, query: NDArray[np.float32], standardized: StandardizedCosines
    ) -> _binary_quantization.Groups:
        """Return how far a chunk stands out in its script at each distance."""
        import numpy as np

        if self._script_cache is None or self._script_cache[0] != self._codes.state:
            numbers = standardized.numbers(self._codes.ids)
            self._script_cache = (
                self._codes.state,
                numbers,
                _binary_quantization.mean_factors(self._codes.factors, numbers),
            )
        _, numbers, factors = self._script_cache
        cosines = _binary_quantization.expected_estimates(factors, query - code_means.means) + code_means.means @ query
        scores = standardized.scores(cosines, np.arange(len(cosines), dtype=np.uint8)[:, None])
        return _binary_quantization.Groups(numbers, _binary_quantization.ranks(scores))

    def _excluded(self, filters: Filters) -> NDArray[np.bool_]:
        """Return which positions a filter excludes; cached until positions change."""
        import numpy as np

        if filters.empty:
            return self._codes.excluded
        if self._filter_masks[0] != self._codes.state or len(self._filter_masks[1]) >= _MAX_FILTERS:
            self._filter_masks = self._codes.state, {}
        masks = self._filter_masks[1]
        if filters not in masks:
            masks[filters] = np.ones(self._codes.ids.size, dtype=np.bool_)
            masks[filters][self._codes.positions(self._matching_ids(filters))] = False
        return masks[filters]

    def _matching_ids(self, filters: Filters) -> NDArray[np.int64]:
        """Return every chunk that passes a filter, ascending. Chunks never change, so only new ones are checked."""
        import numpy as np

        if filters not in self._filter_ids and len(self._filter_ids) >= _MAX_FILTERS:
            self._filter_ids.clear()
        checked, ids = self._filter_ids.get(filters, (0, np.empty(0, dtype=np.int64)))
        newest = _content.newest_id(self._connection)
        if newest > checked:
            where, values = condition(filters)
            statement = f"SELECT chunks.id FROM chunks WHERE {where} AND chunks.id BETWEEN ? AND ?"  # noqa: S608 (fixed text; values are bound)
            rows = self._connection.execute(statement, (*values, checked + 1, newest))
            new_ids = np.fromiter((chunk_id for (chunk_id,) in rows), dtype=np.int64)
            ids = np.append(ids, np.sort(new_ids))
        self._filter_ids[filters] = newest, ids
        return ids
