"""The codes engine: a scan over 1-bit codes in memory selects the few vectors that are read and compared exactly.

The codes of a vector set stay in memory, and so do the vectors that were read, in quarter precision.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from memoriter.index import _content
from memoriter.index._connection import counter, snapshot, transaction
from memoriter.index._content import condition
from memoriter.index.vectors import _binary_quantization, _cache, _engines, _segments
from memoriter.index.vectors._engines import SLACK
from memoriter.index.vectors._segments import id_array, is_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._connection import Database
    from memoriter.index.vectors._cache import VectorSet
    from memoriter.index.vectors._engines import StandardizedCosines
    from memoriter.index.vectors._segments import BinaryCodes, CodeMeans
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

        positions = self._codes.positions(id_array(ids))
        places = self._codes.places[positions]
        found_places, rows = _cache.vectors_by_id(self._connection, self._set, id_array(places.tolist()))
        # Another process that deletes a chunk at this moment may delete its vector too.
        exists = is_in(places, found_places)
        return self._codes.ids[positions[exists]], rows[np.searchsorted(found_places, places[exists])]

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

        _, rows = self.fetch(_random_ids(self._codes.ids[~self._codes.excluded], _binary_quantization.QUERIES))
        queries = _binary_quantization.sample_queries(rows, code_means.means)
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
        return near[_top(scores, count)]

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


def _random_ids(ids: NDArray[np.int64], count: int) -> Sequence[int]:
    """Return up to `count` random ids, each at most once, ascending; the same for the same ids."""
    import numpy as np

    chosen = np.random.default_rng(0).choice(ids.size, size=min(count, ids.size), replace=False)
    return list(map(int, ids[np.sort(chosen)]))


def _top(scores: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` highest scores, in no order."""
    import numpy as np

    return np.arange(scores.size) if scores.size <= count else np.argpartition(-scores, count - 1)[:count]


MOST_BYTES = 512 * 1024 * 1024
"""The maximum memory for vectors, in bytes; vectors beyond it are read each time."""
_STEPS = 127
_MAX_ERROR = 6.0 / 12**0.5
"""Rounding is off by up to half a step, evenly, in each dimension: this many steps are six deviations of the product
with a unit vector, whatever the dimensions."""
_ROOM = 1024
"""The minimum number of free places, so that later additions move nothing."""


class QuarterPrecision:
    """Vectors in a quarter of their size, precise enough to select candidates, by their numbers.

    Each is one byte per dimension and a scale; filled on demand.
    """

    def __init__(self, dimensions: int) -> None:
        import numpy as np

        self._max_rows = MOST_BYTES // dimensions
        self._rows = np.zeros((0, dimensions), dtype=np.int8)
        self._scales = np.zeros(0, dtype=np.float32)

    def cosines(
        self,
        numbers: NDArray[np.int64],
        query: NDArray[np.float32],
        read: Callable[[NDArray[np.int64]], tuple[NDArray[np.int64], NDArray[np.float32]]],
    ) -> tuple[NDArray[np.float32], float]:
        """Return the cosine with each vector, (n,), and their maximum error; -2 if `read` does not find a vector."""
        import numpy as np

        self._reserve(int(numbers.max(initial=-1)) + 1)
        stored = numbers < self._scales.size
        stored[stored] = self._scales[numbers[stored]] > 0
        cosines = np.full(numbers.size, -2, dtype=np.float32)
        if not stored.all():
            order = np.argsort(numbers)
            read_numbers, rows = read(numbers[order][~stored[order]])
            places = order[np.searchsorted(numbers, read_numbers, sorter=order)]
            cosines[places] = np.einsum("ij,j->i", rows, query)
            self._keep(read_numbers, rows)
        stored_numbers = numbers[stored]
        scales = self._scales[stored_numbers]
        cosines[stored] = np.einsum("ij,j->i", self._rows[stored_numbers].astype(np.float32), query) * scales
        return cosines, _MAX_ERROR * float(scales.max(initial=0)) + SLACK

    def forget(self, numbers: NDArray[np.int64]) -> None:
        """Read these vectors again when they are next needed."""
        self._scales[numbers[numbers < self._scales.size]] = 0

    def _keep(self, numbers: NDArray[np.int64], rows: NDArray[np.float32]) -> None:
        import numpy as np

        fits = numbers < self._scales.size
        numbers = numbers[fits]
        rows = rows[fits]
        scales = np.maximum(np.abs(rows).max(axis=1, initial=0), 1e-9) / _STEPS
        self._rows[numbers] = np.rint(rows / scales[:, None])
        self._scales[numbers] = scales

    def _reserve(self, size: int) -> None:
        """Allocate memory up to this number, within the limit; pages that are never written cost nothing."""
        import numpy as np

        size = min(size, self._max_rows)
        if size <= self._scales.size:
            return
        capacity = min(size + size // 4 + _ROOM, self._max_rows)
        rows = np.zeros((capacity, self._rows.shape[1]), dtype=np.int8)
        scales = np.zeros(capacity, dtype=np.float32)
        used = np.flatnonzero(self._scales)
        rows[used] = self._rows[used]
        scales[used] = self._scales[used]
        self._rows = rows
        self._scales = scales


class CodeCache:
    """Codes in ascending order of chunk id. Deleted ones stay in place, excluded, until they are a quarter of all."""

    def __init__(self, connection: Database, vector_set: VectorSet) -> None:
        self._connection = connection
        self._set = vector_set
        self._loaded_state: tuple[int, int] | None = None
        self.quarter_precision = QuarterPrecision(vector_set.dimensions)
        """Vectors that were read before, by their ids in `embedding_cache`."""
        self._segments = dict[int, "NDArray[np.int64]"]()
        self._last_tombstone = 0
        self.state = 0
        """Changes whenever positions do."""
        self._size = self._dead = 0
        self._arrays: tuple[NDArray[Any], ...] = ()
        self._allocate(0)

    @property
    def size(self) -> int:
        """The number of chunks that have a code."""
        return self._size - self._dead

    @property
    def ids(self) -> NDArray[np.int64]:
        """The chunk ids of all positions, including excluded ones."""
        return self._arrays[0][: self._size]

    @property
    def places(self) -> NDArray[np.int64]:
        return self._arrays[1][: self._size]

    @property
    def excluded(self) -> NDArray[np.bool_]:
        return self._arrays[2][: self._size]

    @property
    def factors(self) -> NDArray[np.float16]:
        return self._arrays[3][:, : self._size]

    @property
    def bits(self) -> NDArray[np.uint64]:
        return self._arrays[4][:, : self._size]

    def positions(self, ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the positions of the ascending ids that have a code."""
        import numpy as np

        if not self._size:
            return np.empty(0, dtype=np.intp)
        places = np.minimum(np.searchsorted(self.ids, ids), self._size - 1)
        return places[(self.ids[places] == ids) & ~self.excluded[places]]

    def refresh(self, epoch: int) -> None:
        """Read what is new in the file; expects one snapshot of it."""
        state = epoch, counter(self._connection, "overwritten")
        present = _segments.segment_ids(self._connection, self._set)
        if state != self._loaded_state:
            self._segments = {}
            self._last_tombstone = 0
            self._loaded_state = state
            self.quarter_precision = QuarterPrecision(self._set.dimensions)
            self._allocate(_segments.count_codes(self._connection, self._set))
        tombstones = _segments.tombstones(self._connection, after=self._last_tombstone)
        gone = self._segments.keys() - set(present)
        fresh = [segment for segment in present if segment not in self._segments]
        if not (tombstones or gone or fresh):
            return
        self._last_tombstone = max([self._last_tombstone, *(tombstone for tombstone, _, _ in tombstones)])
        dead_by_segment = dict[int, list[int]]()
        for _, segment, chunk in tombstones:
            dead_by_segment.setdefault(segment, []).append(chunk)
        newly_dead = [
            chunk for segment in dead_by_segment.keys() & self._segments.keys() for chunk in dead_by_segment[segment]
        ]
        parts = {segment: _segments.read(self._connection, self._set, segment) for segment in fresh}
        added = {segment: part.without(id_array(dead_by_segment.get(segment, ()))) for segment, part in parts.items()}
        self._replace_segments(
            [self._segments.pop(segment) for segment in gone], list(added.values()), id_array(newly_dead)
        )
        self._segments |= {segment: part.ids for segment, part in added.items()}
        self.state += 1

    def _replace_segments(
        self, gone: Sequence[NDArray[np.int64]], added: Sequence[BinaryCodes], dead: NDArray[np.int64]
    ) -> None:
        """Replace segments by others; a chunk that is in both has not changed."""
        import numpy as np

        if gone:
            before = np.concatenate(gone)
            after = np.concatenate([np.empty(0, dtype=np.int64), *(part.ids for part in added)])
            dead = np.append(dead, before[~is_in(before, after)])
            added = [part.without(before) for part in added]
        dead_positions = self.positions(np.sort(dead))
        self.excluded[dead_positions] = True
        self._dead += dead_positions.size
        for part in _non_overlapping([part for part in added if part.ids.size]):
            self._append(part)
        if self._dead * 4 > self._size:
            self._drop_excluded()

    def _append(self, codes: BinaryCodes) -> None:
        import numpy as np

        start = int(np.searchsorted(self.ids, codes.ids[:1])[0])
        end = self._size + codes.ids.size
        self._reserve(end)
        # An unused id in `embedding_cache` may have been given to another vector.
        self.quarter_precision.forget(codes.places)
        excluded = np.zeros(codes.ids.size, dtype=np.bool_)
        added: tuple[NDArray[Any], ...] = (codes.ids, codes.places, excluded, codes.factors, codes.bits)
        # Only codes after the first new id move; with ascending ids, none does.
        order = np.argsort(np.append(self.ids[start:], codes.ids), kind="stable") if start < self._size else None
        for array, new in zip(self._arrays, added, strict=True):
            array[..., self._size : end] = new
            if order is not None:
                array[..., start:end] = array[..., start:end][..., order]
        self._size = end

    def _drop_excluded(self) -> None:
        alive = ~self.excluded
        for array in self._arrays:
            array[..., : self.size] = array[..., : self._size][..., alive]
        self._size = self.size
        self._dead = 0

    def _reserve(self, size: int) -> None:
        if size <= self._arrays[0].size:
            return
        old = self._arrays
        kept = self._size
        dead = self._dead
        self._allocate(size)
        for array, previous in zip(self._arrays, old, strict=True):
            array[..., :kept] = previous[..., :kept]
        self._size = kept
        self._dead = dead

    def _allocate(self, size: int) -> None:
        """Allocate empty arrays for `size` codes and some more; pages that are never written cost nothing."""
        import numpy as np

        capacity = size + size // 4 + _ROOM
        self._arrays = (
            np.empty(capacity, dtype=np.int64),
            np.empty(capacity, dtype=np.int64),
            np.empty(capacity, dtype=np.bool_),
            np.empty((2, capacity), dtype="<f2"),
            np.empty((_binary_quantization.columns(self._set.dimensions), capacity), dtype="<u8"),
        )
        self._size = self._dead = 0
        self.state += 1


def _non_overlapping(parts: Sequence[BinaryCodes]) -> Sequence[BinaryCodes]:
    """Return the same codes in consecutive parts; parts that do not overlap are not copied."""
    ordered = sorted(parts, key=lambda part: int(part.ids[0]))
    if all(one.ids[-1] < other.ids[0] for one, other in pairwise(ordered)):
        return ordered
    return [_segments.merge_codes(ordered)]
