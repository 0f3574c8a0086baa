"""Vectors that a long-lived process has read before, in a quarter of their size: near enough to choose whom to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.index._ranking import SLACK

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

MOST_BYTES = 512 * 1024 * 1024
"""Room for so many bytes of vectors; what lies beyond is read each time."""
_STEPS = 127
_SURE = 6.0 / 12**0.5
"""Rounding is off by up to half a step, evenly, in each dimension: so many steps are six deviations of the product with
a unit vector, whatever the dimensions."""
_ROOM = 1024


class QuarterPrecision:
    """One byte a dimension and a scale for each vector, by its number; filled by what is asked for."""

    def __init__(self, dimensions: int) -> None:
        import numpy as np

        self._most = MOST_BYTES // dimensions
        self._rows = np.zeros((0, dimensions), dtype=np.int8)
        self._scales = np.zeros(0, dtype=np.float32)

    def cosines(
        self,
        numbers: NDArray[np.int64],
        query: NDArray[np.float32],
        read: Callable[[NDArray[np.int64]], tuple[NDArray[np.int64], NDArray[np.float32]]],
    ) -> tuple[NDArray[np.float32], float]:
        """With each of the vectors, (n,), and by how much these may be off; -2 for one that `read` does not find."""
        import numpy as np

        self._reserve(int(numbers.max(initial=-1)) + 1)
        held = numbers < self._scales.size
        held[held] = self._scales[numbers[held]] > 0
        cosines = np.full(numbers.size, -2, dtype=np.float32)
        if not held.all():
            order = np.argsort(numbers)
            found, rows = read(numbers[order][~held[order]])
            places = order[np.searchsorted(numbers, found, sorter=order)]
            cosines[places] = np.einsum("ij,j->i", rows, query)
            self._keep(found, rows)
        known = numbers[held]
        scales = self._scales[known]
        cosines[held] = np.einsum("ij,j->i", self._rows[known].astype(np.float32), query) * scales
        return cosines, _SURE * float(scales.max(initial=0)) + SLACK

    def forget(self, numbers: NDArray[np.int64]) -> None:
        """Read these again when they are asked for."""
        self._scales[numbers[numbers < self._scales.size]] = 0

    def _keep(self, numbers: NDArray[np.int64], rows: NDArray[np.float32]) -> None:
        import numpy as np

        fits = numbers < self._scales.size
        numbers, rows = numbers[fits], rows[fits]
        scales = np.maximum(np.abs(rows).max(axis=1, initial=0), 1e-9) / _STEPS
        self._rows[numbers] = np.rint(rows / scales[:, None])
        self._scales[numbers] = scales

    def _reserve(self, size: int) -> None:
        """Make room up to this number, if there may be so much; pages that are never written cost nothing."""
        import numpy as np

        size = min(size, self._most)
        if size <= self._scales.size:
            return
        capacity = min(size + size // 4 + _ROOM, self._most)
        rows = np.zeros((capacity, self._rows.shape[1]), dtype=np.int8)
        scales = np.zeros(capacity, dtype=np.float32)
        known = np.flatnonzero(self._scales)
        rows[known], scales[known] = self._rows[known], self._scales[known]
        self._rows, self._scales = rows, scales
