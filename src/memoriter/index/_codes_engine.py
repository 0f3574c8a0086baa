"""The codes engine: a scan over 1-bit codes in memory chooses the few vectors that are read and compared exactly."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from memoriter.index import _binary_quantization, _cache, _files, _oversampling, _ranking, _segments
from memoriter.index._code_cache import CodeCache
from memoriter.index._connection import transaction
from memoriter.index._filters import condition

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._cache import VectorSet
    from memoriter.index._chunk_scripts import StandardizedCosines
    from memoriter.index._database import Database
    from memoriter.index._engines import EngineName
    from memoriter.index._segments import CodeMeans
    from memoriter.types import Filters

FEW = 2048
"""Chunks that are all compared exactly: there codes save nothing."""
_BREADTH = 8
"""Codes whose cosines are estimated for each vector that is looked at. With half as many `just bench` finds less than
99 % of the nearest among 100,000."""
_REMEMBERED = 8
"""Filters whose chunks are remembered."""


def unsettled(connection: Database, of: VectorSet) -> bool:
    """Whether the next search would have to make codes or to measure them; cheap, and without NumPy."""
    if _segments.due(connection, of):
        return True
    vectors = _segments.count(connection, of)
    return vectors > FEW and _oversampling.due(_segments.measured(connection, of), vectors)


class CodesEngine:
    """Reads 68 bytes a chunk once, then a few vectors a query; `oversampling` is measured so that 99 % are found."""

    name: EngineName = "codes"

    def __init__(self, connection: Database, of: VectorSet) -> None:
        self._connection = connection
        self._set = of
        self._version = -1
        self._held = CodeCache(connection, of)
        self._centre: CodeMeans | None = None
        self._allowed: dict[Filters, tuple[int, NDArray[np.int64]]] = {}
        self._masks: tuple[int, dict[Filters, NDArray[np.bool_]]] = (-1, {})
        self._in_scripts: tuple[int, NDArray[np.uint8], NDArray[np.float64]] | None = None

    @property
    def size(self) -> int:
        """Chunks that have a code."""
        return self._held.size

    @property
    def measured(self) -> _oversampling.Measured | None:
        """How many times the wanted chunks are compared exactly; `None` while all are."""
        known = self._centre
        if known is None or not known.measured or self.size <= FEW:
            return None
        return _oversampling.Measured(known.oversampling, known.recall)

    def loaded(self, version: int) -> bool:
        """Whether the codes are those of `version`."""
        return self._version == version

    def follow(self, change: _files.StoredChange, *, before: int) -> None:
        """Nothing to do: whichever engine serves, the segments follow every write."""

    def catch_up(self, version: int) -> None:
        if self._version == version:
            return
        if _segments.due(self._connection, self._set):
            with transaction(self._connection):
                _segments.reconcile(self._connection, self._set)
        self._load()
        if self._centre and self.size > FEW and _oversampling.due(self._centre.measured, self.size):
            self._measure(self._centre)
        self._version = version

    def candidates(
        self, query: NDArray[np.float32], limit: int, filters: Filters, levels: StandardizedCosines | None
    ) -> NDArray[np.int64]:
        import numpy as np

        if self._centre is None:
            return np.empty(0, dtype=np.int64)
        known = self._centre.oversampling if self._centre.measured else _oversampling.STEPS[-1]
        count = _oversampling.breadth(known, limit)
        excluded = self._excluded(filters)
        allowed = excluded.size - int(np.count_nonzero(excluded))
        if self.size <= FEW or allowed <= count:
            return self._held.ids[~excluded]
        near = self._nearest(self._centre, query, count, excluded, levels)
        return self._held.ids[near[self._best(query, near, limit, levels)]]

    def take(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        import numpy as np

        positions = self._held.positions(_segments.ids_of(ids))
        places = self._held.places[positions]
        found, rows = _cache.vectors_in(self._connection, self._set, _segments.ids_of(places.tolist()))
        # Whoever removes a chunk just now may remove its vector too.
        there = _segments.among(places, found)
        return self._held.ids[positions[there]], rows[np.searchsorted(found, places[there])]

    def ids(self) -> NDArray[np.int64]:
        return self._held.ids[~self._held.excluded]

    def _load(self) -> None:
        try:
            with _snapshot(self._connection):
                self._centre = _segments.centre(self._connection, self._set)
                if self._centre is not None:
                    self._held.follow(self._centre.epoch)
        except BaseException:
            # Half of a change is worse than none: read all of it again.
            self._held, self._masks, self._in_scripts = CodeCache(self._connection, self._set), (-1, {}), None
            raise

    def _measure(self, known: CodeMeans) -> None:
        def found(query: NDArray[np.float32], count: int) -> NDArray[np.float64]:
            _, rows = self.take(self._held.ids[self._nearest(known, query, count, self._held.excluded, None)].tolist())
            return _ranking.cosines(rows, query)

        _, rows = self.take(_ranking.drawn(self.ids(), _oversampling.QUERIES, seed=0))
        queries = _oversampling.queries(rows, known.means, seed=0)
        measured = _oversampling.measure(self._connection, self._set, queries, found)
        with transaction(self._connection):
            _segments.remember(self._connection, self._set, known.epoch, measured, vectors=self.size)
        self._load()

    def _nearest(
        self,
        known: CodeMeans,
        query: NDArray[np.float32],
        count: int,
        excluded: NDArray[np.bool_],
        levels: StandardizedCosines | None,
    ) -> NDArray[np.intp]:
        """Positions of the `count` chunks whose estimated cosines are the best."""
        rest, bits = query - known.means, self._held.bits
        groups = None if levels is None else self._groups(known, query, levels)
        near = _binary_quantization.nearest(bits, excluded, rest, count * _BREADTH, groups)
        scores = _binary_quantization.estimates(bits[:, near], self._held.factors[:, near], rest)
        if levels is not None and groups is not None:
            scores = levels.scores(scores + known.means @ query, groups.numbers[near])
        return near[_ranking.first(scores, count)]

    def _best(
        self, query: NDArray[np.float32], near: NDArray[np.intp], limit: int, levels: StandardizedCosines | None
    ) -> NDArray[np.intp]:
        """Which of the chunks at these positions may belong to the best, told from their vectors."""
        cosines, error = self._held.rough.cosines(
            self._held.places[near], query, lambda places: _cache.vectors_in(self._connection, self._set, places)
        )
        if levels is None:
            return _ranking.near_top(cosines, limit, slack=2 * error)
        scores = levels.scores(cosines, levels.numbers(self._held.ids[near]))
        return _ranking.near_top(scores, limit, slack=2 * error * levels.steepest)

    def _groups(
        self, known: CodeMeans, query: NDArray[np.float32], levels: StandardizedCosines
    ) -> _binary_quantization.Groups:
        """What a distance says in each script of how far a chunk stands out."""
        import numpy as np

        if self._in_scripts is None or self._in_scripts[0] != self._held.state:
            numbers = levels.numbers(self._held.ids)
            self._in_scripts = self._held.state, numbers, _binary_quantization.mean_factors(self._held.factors, numbers)
        _, numbers, factors = self._in_scripts
        cosines = _binary_quantization.expected(factors, query - known.means) + known.means @ query
        scores = levels.scores(cosines, np.arange(len(cosines), dtype=np.uint8)[:, None])
        return _binary_quantization.Groups(numbers, _binary_quantization.ranks(scores))

    def _excluded(self, filters: Filters) -> NDArray[np.bool_]:
        """What a filter leaves out, by position; remembered until positions change."""
        import numpy as np

        if filters.empty:
            return self._held.excluded
        if self._masks[0] != self._held.state or len(self._masks[1]) >= _REMEMBERED:
            self._masks = self._held.state, {}
        masks = self._masks[1]
        if filters not in masks:
            masks[filters] = np.ones(self._held.ids.size, dtype=np.bool_)
            masks[filters][self._held.positions(self._ids_of(filters))] = False
        return masks[filters]

    def _ids_of(self, filters: Filters) -> NDArray[np.int64]:
        """Every chunk that a filter lets through, ascending. Only new ones are looked at: no chunk ever changes."""
        import numpy as np

        if filters not in self._allowed and len(self._allowed) >= _REMEMBERED:
            self._allowed.clear()
        upto, ids = self._allowed.get(filters, (0, np.empty(0, dtype=np.int64)))
        newest = _files.newest_id(self._connection)
        if newest > upto:
            where, values = condition(filters)
            statement = f"SELECT chunks.id FROM chunks WHERE {where} AND chunks.id BETWEEN ? AND ?"  # noqa: S608 (fixed text; values are bound)
            found = self._connection.execute(statement, (*values, upto + 1, newest))
            more = np.fromiter((chunk_id for (chunk_id,) in found), dtype=np.int64)
            ids = np.append(ids, np.sort(more))
        self._allowed[filters] = newest, ids
        return ids


@contextmanager
def _snapshot(connection: Database) -> Generator[None]:
    """Several statements over one state of the file."""
    connection.execute("SAVEPOINT snapshot")
    try:
        yield
    finally:
        connection.execute("RELEASE snapshot")
