"""The codes of a vector set in memory, by chunk id, brought up to date by what is new in the file."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from memoriter.index import _binary_quantization, _segments
from memoriter.index._connection import counter
from memoriter.index._quarter_precision import QuarterPrecision
from memoriter.index._segments import among, ids_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._cache import VectorSet
    from memoriter.index._database import Database
    from memoriter.index._segments import BinaryCodes

_ROOM = 1024
"""Codes for which room is kept at least, so that what is added later moves nothing."""


class CodeCache:
    """Ids ascend. What has gone stays in its place, excluded, until it is a quarter of all."""

    def __init__(self, connection: Database, of: VectorSet) -> None:

        self._connection = connection
        self._set = of
        self._made: tuple[int, int] | None = None
        self.rough = QuarterPrecision(of.dimensions)
        """What was read of the vectors, by their places."""
        self._segments = dict[int, "NDArray[np.int64]"]()
        self._tomb = 0
        self.state = 0
        """Changes whenever positions do."""
        self._size = self._dead = 0
        self._arrays: tuple[NDArray[Any], ...] = ()
        self._put_aside(0)

    @property
    def size(self) -> int:
        """Chunks that have a code."""
        return self._size - self._dead

    @property
    def ids(self) -> NDArray[np.int64]:
        """Of all positions, the excluded ones too."""
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
        """Where those of the ascending ids are that have a code."""
        import numpy as np

        if not self._size:
            return np.empty(0, dtype=np.intp)
        places = np.minimum(np.searchsorted(self.ids, ids), self._size - 1)
        return places[(self.ids[places] == ids) & ~self.excluded[places]]

    def follow(self, epoch: int) -> None:
        """Read what is new in the file: expects one snapshot of it."""
        made = epoch, counter(self._connection, "overwritten")
        present = _segments.segments(self._connection, self._set)
        if made != self._made:
            self._segments, self._tomb, self._made = {}, 0, made
            self.rough = QuarterPrecision(self._set.dimensions)
            self._put_aside(_segments.count(self._connection, self._set))
        tombs = _segments.tombs(self._connection, after=self._tomb)
        gone = self._segments.keys() - set(present)
        fresh = [segment for segment in present if segment not in self._segments]
        if not (tombs or gone or fresh):
            return
        self._tomb = max([self._tomb, *(tomb for tomb, _, _ in tombs)])
        graves = dict[int, list[int]]()
        for _, segment, chunk in tombs:
            graves.setdefault(segment, []).append(chunk)
        buried = [chunk for segment in graves.keys() & self._segments.keys() for chunk in graves[segment]]
        parts = {segment: _segments.read(self._connection, self._set, segment) for segment in fresh}
        came = {segment: part.without(ids_of(graves.get(segment, ()))) for segment, part in parts.items()}
        self._exchange([self._segments.pop(segment) for segment in gone], list(came.values()), ids_of(buried))
        self._segments |= {segment: part.ids for segment, part in came.items()}
        self.state += 1

    def _exchange(
        self, gone: Sequence[NDArray[np.int64]], came: Sequence[BinaryCodes], dead: NDArray[np.int64]
    ) -> None:
        """Let segments come for others: a chunk that is in both has not changed."""
        import numpy as np

        if gone:
            before = np.concatenate(gone)
            after = np.concatenate([np.empty(0, dtype=np.int64), *(part.ids for part in came)])
            dead = np.append(dead, before[~among(before, after)])
            came = [part.without(before) for part in came]
        dying = self.positions(np.sort(dead))
        self.excluded[dying] = True
        self._dead += dying.size
        for part in _ascending([part for part in came if part.ids.size]):
            self._append(part)
        if self._dead * 4 > self._size:
            self._squeeze()

    def _append(self, codes: BinaryCodes) -> None:
        import numpy as np

        start = int(np.searchsorted(self.ids, codes.ids[:1])[0])
        end = self._size + codes.ids.size
        self._reserve(end)
        # A place that nobody needed may have got another vector.
        self.rough.forget(codes.places)
        excluded = np.zeros(codes.ids.size, dtype=np.bool_)
        added: tuple[NDArray[Any], ...] = (codes.ids, codes.places, excluded, codes.factors, codes.bits)
        # Only what lies behind the first new id moves: with ids that grow, nothing does.
        order = np.argsort(np.append(self.ids[start:], codes.ids), kind="stable") if start < self._size else None
        for array, new in zip(self._arrays, added, strict=True):
            array[..., self._size : end] = new
            if order is not None:
                array[..., start:end] = array[..., start:end][..., order]
        self._size = end

    def _squeeze(self) -> None:
        alive = ~self.excluded
        for array in self._arrays:
            array[..., : self.size] = array[..., : self._size][..., alive]
        self._size, self._dead = self.size, 0

    def _reserve(self, size: int) -> None:
        if size <= self._arrays[0].size:
            return
        old, kept = self._arrays, self._size
        dead = self._dead
        self._put_aside(size)
        for array, known in zip(self._arrays, old, strict=True):
            array[..., :kept] = known[..., :kept]
        self._size, self._dead = kept, dead

    def _put_aside(self, size: int) -> None:
        """Room for `size` codes and some more, with nothing in it; pages that are never written cost nothing."""
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


def _ascending(parts: Sequence[BinaryCodes]) -> Sequence[BinaryCodes]:
    """The same codes in parts that follow each other: as they are, which saves a copy, unless they overlap."""
    ordered = sorted(parts, key=lambda part: int(part.ids[0]))
    if all(one.ids[-1] < other.ids[0] for one, other in pairwise(ordered)):
        return ordered
    return [_segments.joined(ordered)]
