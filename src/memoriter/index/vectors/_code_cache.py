"""What the codes engine keeps in memory: the codes of a vector set, and vectors that it read, in quarter precision."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from memoriter.index._connection import counter
from memoriter.index.vectors import _binary_quantization, _segments
from memoriter.index.vectors._engines import SLACK
from memoriter.index.vectors._segments import id_array, is_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._connection import Database
    from memoriter.index.vectors._cache import VectorSet
    from memoriter.index.vectors._segments import BinaryCodes


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
