"""The script of every chunk, in memory, and cosines that can be compared across scripts."""

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
    """One byte for each chunk id that was ever given; only new ids are read, since no chunk ever changes."""

    def __init__(self, connection: Database) -> None:
        import numpy as np

        self._connection = connection
        self._numbers: dict[str, int] = {}
        self._of = np.zeros(0, dtype=np.uint8)
        self._known = 0

    @property
    def names(self) -> Sequence[str]:
        """By their numbers; grows with what `of` is asked for."""
        return tuple(self._numbers)

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """A number for the script of each chunk."""
        if ids.size and ids.max() > self._known:
            self._follow()
        return self._of[ids]

    def _follow(self) -> None:
        import numpy as np

        newest = _files.newest_id(self._connection)
        if newest >= self._of.size:
            grown = np.zeros(newest + newest // 4 + _ROOM, dtype=np.uint8)
            grown[: self._of.size] = self._of
            self._of = grown
        statement = "SELECT id, script FROM chunks WHERE id BETWEEN ? AND ?"
        found = self._connection.execute(statement, (self._known + 1, newest))
        for chunk_id, script in cast("Iterable[tuple[int, str]]", found):
            self._of[chunk_id] = self._numbers.setdefault(script, len(self._numbers))
        self._known = newest


class StandardizedCosines:
    """How far cosines with one question stand out in the script of their chunk, in deviations: higher is better."""

    def __init__(self, scripts: ChunkScripts, levels: ScriptBaselines) -> None:
        self._scripts = scripts
        self._levels = levels

    @property
    def named(self) -> Sequence[str]:
        """The scripts that have a level of their own."""
        return [script for script in self._levels if script]

    @property
    def steepest(self) -> float:
        """How much a cosine's rounding error can grow."""
        return 1 / min(deviation for _, deviation in self._levels.values())

    def numbers(self, ids: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Of the scripts of chunks, as `scores` wants them."""
        return self._scripts.of(ids)

    def scores(self, cosines: NDArray[_Float], numbers: NDArray[np.uint8]) -> NDArray[_Float]:
        """Of chunks whose scripts have these numbers, as precise as the cosines."""
        import numpy as np

        levels = [self._levels.get(script, self._levels[""]) for script in self._scripts.names]
        unrelated, deviations = np.array(levels, dtype=cosines.dtype).reshape(-1, 2).T
        return cast("NDArray[_Float]", (cosines - unrelated[numbers]) / deviations[numbers])
