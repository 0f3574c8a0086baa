"""Vectors read earlier by a long-lived process, in a quarter of their size: precise enough to select candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.index._ranking import SLACK

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

MOST_BYTES = 512 * 1024 * 1024
"""The maximum memory for vectors, in bytes; vectors beyond it are read each time."""
_STEPS = 127
_MAX_ERROR = 6.0 / 12**0.5
"""Rounding is off by up to half a step, evenly, in each dimension: this many steps are six deviations of the product
with a unit vector, whatever the dimensions."""
_ROOM = 1024


class QuarterPrecision:
    """One byte per dimension and a scale for each vector, by its number; filled on demand."""

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
        numbers, rows = numbers[fits], rows[fits]
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
        rows[used], scales[used] = self._rows[used], self._scales[used]
        self._rows, self._scales = rows, scales
