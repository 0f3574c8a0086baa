"""The script of every chunk, in memory, and cosines that are comparable across scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from memoriter.index import _files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._database import Database
    from memoriter.types import ScriptBaselines

_ROOM = 1024
_Float = TypeVar("_Float", "np.float32", "np.float64")


class ChunkScripts:
    """One byte for each chunk id ever assigned; only new ids are read, because chunks never change."""

    def __init__(self, connection: Database) -> None:
        import numpy as np

        self._connection = connection
        self._numbers: dict[str, int] = {}
        self._numbers_by_id = np.zeros(0, dtype=np.uint8)
        self._newest_id = 0

    @property
    def names(self) -> Sequence[str]:
        """Script names, by their numbers; grows as `numbers_of` meets new scripts."""
        return tuple(self._numbers)

    def numbers_of(self, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the script number of each chunk."""
        if ids.size and ids.max() > self._newest_id:
            self._load_new()
        return self._numbers_by_id[ids]

    def _load_new(self) -> None:
        import numpy as np

        newest = _files.newest_id(self._connection)
        if newest >= self._numbers_by_id.size:
            grown = np.zeros(newest + newest // 4 + _ROOM, dtype=np.uint8)
            grown[: self._numbers_by_id.size] = self._numbers_by_id
            self._numbers_by_id = grown
        statement = "SELECT id, script FROM chunks WHERE id BETWEEN ? AND ?"
        rows = self._connection.execute(statement, (self._newest_id + 1, newest))
        for chunk_id, script in cast("Iterable[tuple[int, str]]", rows):
            self._numbers_by_id[chunk_id] = self._numbers.setdefault(script, len(self._numbers))
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
