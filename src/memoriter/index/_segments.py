"""The codes of a vector set as the index file keeps them: in segments that are written once and never changed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, cast

from memoriter.errors import IndexDamaged
from memoriter.index import _binary_quantization, _cache, _files
from memoriter.index._connection import counter, set_counter
from memoriter.index._errors import REBUILD
from memoriter.index._sums import BrokenCodes, blob_sum

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._cache import VectorSet
    from memoriter.index._database import Database
    from memoriter.index._oversampling import Measured

LARGEST = 4096
"""Codes in one segment at most."""
_SAMPLE = 4096
"""Vectors that the means are taken from: their error is then a hundredth of the vectors' own spread."""
_FEW = 64
"""Vectors that may be added to the smallest set before it is centred again."""
_ALL = (
    "SELECT chunks.id, known.id, known.key, known.sum, known.vector FROM embedding_cache AS known NOT INDEXED"
    " CROSS JOIN chunks ON chunks.key = known.key WHERE known.set_id = ?"
)
_SOME = (
    "SELECT chunks.id, known.id, known.key, known.sum, known.vector FROM json_each(?) AS wanted"
    " CROSS JOIN chunks ON chunks.id = wanted.value"
    " CROSS JOIN embedding_cache AS known ON known.set_id = ? AND known.key = chunks.key"
)


@dataclass(frozen=True, slots=True)
class CodeMeans:
    """What the codes of a set were made with, and how they must be used."""

    epoch: int
    """Grows when all codes are made again."""
    vectors: int
    """How many there were then."""
    measured: int
    """How many there were when `oversampling` was measured; 0: never."""
    oversampling: int
    recall: float
    means: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BinaryCodes:
    """Codes of n chunks, by chunk id."""

    ids: NDArray[np.int64]
    places: NDArray[np.int64]
    """Where the vectors are: ids in `embedding_cache`."""
    factors: NDArray[np.float16]
    """(2, n)"""
    bits: NDArray[np.uint64]
    """(words, n)"""

    def at(self, chosen: NDArray[np.intp] | NDArray[np.bool_]) -> BinaryCodes:
        """Some of them, or all in another order."""
        return BinaryCodes(self.ids[chosen], self.places[chosen], self.factors[:, chosen], self.bits[:, chosen])

    def without(self, ids: NDArray[np.int64]) -> BinaryCodes:
        """Those of other chunks."""
        return self.at(~among(self.ids, ids)) if ids.size else self


def ids_of(chunks: Iterable[int]) -> NDArray[np.int64]:
    """Ids as an array, ascending, each once."""
    import numpy as np

    return np.array(sorted(set(chunks)), dtype=np.int64)


def among(ids: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the ids are among the others: `np.isin`, which imports much of NumPy on its first call."""
    import numpy as np

    if not others.size:
        return np.zeros(ids.size, dtype=np.bool_)
    ordered = np.sort(others)
    return ordered[np.minimum(np.searchsorted(ordered, ids), others.size - 1)] == ids


def joined(parts: Sequence[BinaryCodes]) -> BinaryCodes:
    """All codes of the parts, of which there is one at least, by chunk id."""
    import numpy as np

    codes = BinaryCodes(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.places for part in parts]),
        np.concatenate([part.factors for part in parts], axis=1),
        np.concatenate([part.bits for part in parts], axis=1),
    )
    return codes.at(np.argsort(codes.ids, kind="stable"))


# reading


def centre(connection: Database, of: VectorSet) -> CodeMeans | None:
    """How the codes of the set were made; `None` when there are none."""
    import numpy as np

    row = connection.execute(
        "SELECT epoch, vectors, measured, oversampling, recall, means FROM code_sets WHERE set_id = ?", (of.id,)
    ).get
    if row is None:
        return None
    epoch, vectors, measured, oversampling, recall, means = cast("tuple[int, int, int, int, float, bytes]", row)
    if len(means) != of.dimensions * 4:
        raise BrokenCodes
    return CodeMeans(epoch, vectors, measured, oversampling, recall, np.frombuffer(means, dtype="<f4"))


def measured(connection: Database, of: VectorSet) -> int:
    """How many vectors there were when the oversampling was measured; 0: never."""
    return int(connection.execute("SELECT measured FROM code_sets WHERE set_id = ?", (of.id,)).get or 0)


def exist(connection: Database, of: VectorSet) -> bool:
    return connection.execute("SELECT 1 FROM code_sets WHERE set_id = ?", (of.id,)).get is not None


def due(connection: Database, of: VectorSet) -> bool:
    """Whether `reconcile` has something to do."""
    then = connection.execute("SELECT vectors FROM code_sets WHERE set_id = ?", (of.id,)).get
    if then is None or counter(connection, _stamp(of)) != _files.changes(connection):
        return True
    return _outgrown(int(then), count(connection, of))


def _outgrown(then: int, now: int) -> bool:
    return now >= 2 * then + _FEW


def count(connection: Database, of: VectorSet) -> int:
    """Chunks that have a code."""
    held = connection.execute("SELECT coalesce(sum(size), 0) FROM code_segments WHERE set_id = ?", (of.id,)).get
    dead = connection.execute(
        "SELECT count(*) FROM code_segments AS held CROSS JOIN code_tombs ON segment = held.id WHERE set_id = ?",
        (of.id,),
    ).get
    return int(held) - int(dead)


def segments(connection: Database, of: VectorSet) -> list[int]:
    """Every segment of the set."""
    return [int(each) for (each,) in connection.execute("SELECT id FROM code_segments WHERE set_id = ?", (of.id,))]


def tombs(connection: Database, *, after: int) -> list[tuple[int, int, int]]:
    """(tomb, segment, chunk) of codes of all sets whose chunks have gone since tomb `after`, oldest first."""
    statement = "SELECT id, segment, chunk FROM code_tombs WHERE id > ? ORDER BY id"
    return cast("list[tuple[int, int, int]]", connection.execute(statement, (after,)).fetchall())


def read(connection: Database, of: VectorSet, segment: int) -> BinaryCodes:
    """Everything in a segment, the dead too."""
    import numpy as np

    row = connection.execute(
        "SELECT size, sum, ids, places, factors, codes FROM code_segments WHERE id = ?", (segment,)
    ).get
    size, total, *blobs = cast("tuple[int, int | None, bytes, bytes, bytes, bytes]", row)
    if total is not None and total != blob_sum(blobs):
        raise BrokenCodes
    words = _binary_quantization.columns(of.dimensions)
    if [len(blob) for blob in blobs] != [size * 8, size * 8, size * 4, size * words * 8]:
        raise IndexDamaged("The index holds codes of a wrong length", remedy=REBUILD)
    ids, places, factors, bits = blobs
    return BinaryCodes(
        np.frombuffer(ids, dtype="<i8"),
        np.frombuffer(places, dtype="<i8"),
        np.frombuffer(factors, dtype="<f2").reshape(2, size),
        np.frombuffer(bits, dtype="<u8").reshape(words, size),
    )


# writing: each expects an open transaction


def follow(connection: Database, of: VectorSet, change: _files.StoredChange, *, before: int) -> None:
    """Take over a write that started from the content counter `before`, unless the codes are behind or do not exist."""
    if counter(connection, _stamp(of)) != before or not exist(connection, of):
        return
    _bury(connection, of, ids_of(change.gone))
    _add(connection, of, change.added)
    _stamped(connection, of)


def reconcile(connection: Database, of: VectorSet) -> None:
    """Make the codes those of the vectors, whatever others did meanwhile; centre them again if that is due."""
    if not due(connection, of):
        return
    wanted = ids_of(_cache.having(connection, of))
    known = centre(connection, of)
    overwritten = counter(connection, f"{_stamp(of)}:overwritten") != counter(connection, "overwritten")
    if known is None or overwritten or _outgrown(known.vectors, wanted.size):
        _make_all(connection, of, known.epoch + 1 if known else 1, wanted.size)
    else:
        held = _held(connection, of)
        _bury(connection, of, held[~among(held, wanted)])
        _add(connection, of, wanted[~among(wanted, held)].tolist())
    _stamped(connection, of)


def rewrite_dead(connection: Database, of: VectorSet) -> None:
    """Write every segment anew that still holds a code whose chunk has gone."""
    statement = (
        "SELECT DISTINCT held.id FROM code_segments AS held JOIN code_tombs ON segment = held.id WHERE set_id = ?"
    )
    for (segment,) in connection.execute(statement, (of.id,)).fetchall():
        # Taking one up may have taken in another one.
        if connection.execute("SELECT 1 FROM code_segments WHERE id = ?", (segment,)).get is not None:
            _put(connection, of, _taken(connection, of, int(segment)))


def remember(connection: Database, of: VectorSet, epoch: int, found: Measured, *, vectors: int) -> None:
    """Note how the codes must be used; nothing happens when they were made again meanwhile."""
    statement = "UPDATE code_sets SET measured = ?, oversampling = ?, recall = ? WHERE set_id = ? AND epoch = ?"
    connection.execute(statement, (vectors, found.oversampling, found.recall, of.id, epoch))


def drop(connection: Database, of: VectorSet) -> None:
    """Forget the codes of a set, so that the next `reconcile` makes all of them again."""
    connection.execute(
        "DELETE FROM code_tombs WHERE segment IN (SELECT id FROM code_segments WHERE set_id = ?)", (of.id,)
    )
    connection.execute("DELETE FROM code_segments WHERE set_id = ?", (of.id,))
    statement = "UPDATE code_sets SET epoch = epoch + 1, vectors = 0, means = zeroblob(?) WHERE set_id = ?"
    connection.execute(statement, (of.dimensions * 4, of.id))
    set_counter(connection, f"{_stamp(of)}:overwritten", -1)
    set_counter(connection, _stamp(of), -1)


def _make_all(connection: Database, of: VectorSet, epoch: int, vectors: int) -> None:
    import numpy as np

    _, rows = _cache.vectors_of(connection, of, _cache.sampled(connection, of, _SAMPLE))
    means = rows.mean(axis=0) if len(rows) else np.zeros(of.dimensions, dtype=np.float32)
    connection.execute(
        "DELETE FROM code_tombs WHERE segment IN (SELECT id FROM code_segments WHERE set_id = ?)", (of.id,)
    )
    connection.execute("DELETE FROM code_segments WHERE set_id = ?", (of.id,))
    connection.execute(
        "INSERT INTO code_sets(set_id, epoch, vectors, measured, oversampling, recall, means)"
        " VALUES (?, ?, ?, 0, 0, 0, ?) ON CONFLICT(set_id) DO UPDATE SET"
        " epoch = excluded.epoch, vectors = excluded.vectors, measured = 0, means = excluded.means",
        (of.id, epoch, vectors, means.astype("<f4").tobytes()),
    )
    for part in _encoded(connection, of, means, _ALL, (of.id,)):
        _write(connection, of, part)


def _encoded(
    connection: Database, of: VectorSet, means: NDArray[np.float32], statement: str, values: tuple[str | int, ...]
) -> Iterator[BinaryCodes]:
    """Codes of what a statement over (chunk id, vector's id, key, checksum, vector) finds, a segment at a time."""
    import numpy as np

    cursor = connection.execute(statement, values)
    while found := cast("list[_cache.Stored]", list(islice(cursor, LARGEST))):
        ids, places = [row[0] for row in found], [row[1] for row in found]
        bits, factors = _binary_quantization.encode(_cache.checked(found, of), means)
        codes = BinaryCodes(np.array(ids, dtype=np.int64), np.array(places, dtype=np.int64), factors, bits)
        yield codes.at(np.argsort(codes.ids))


def _add(connection: Database, of: VectorSet, ids: Sequence[int]) -> None:
    """Make codes of those chunks that have a vector, taking in smaller segments so that there are few."""
    known = centre(connection, of) if ids else None
    if known is None:
        return
    for part in _encoded(connection, of, known.means, _SOME, (_files.id_list(ids), of.id)):
        _put(connection, of, part)


def _put(connection: Database, of: VectorSet, part: BinaryCodes) -> None:
    while part.ids.size:
        statement = "SELECT id FROM code_segments WHERE set_id = ? AND size <= ? ORDER BY size LIMIT 1"
        smaller = connection.execute(statement, (of.id, min(part.ids.size, LARGEST - part.ids.size))).get
        if smaller is None:
            _write(connection, of, part)
            return
        part = joined((part, _taken(connection, of, int(smaller))))


def _write(connection: Database, of: VectorSet, part: BinaryCodes) -> None:
    blobs = [value.tobytes() for value in (part.ids, part.places, part.factors, part.bits)]
    connection.execute(
        "INSERT INTO code_segments(set_id, size, first, last, ids, places, factors, codes, sum)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (of.id, part.ids.size, int(part.ids.min()), int(part.ids.max()), *blobs, blob_sum(blobs)),
    )


def _bury(connection: Database, of: VectorSet, gone: NDArray[np.int64]) -> None:
    """Mark the codes of chunks, ascending, as dead; a segment of which half is dead is written again without them."""
    import numpy as np

    if not gone.size:
        return
    near = connection.execute(
        "SELECT id, size, ids FROM code_segments WHERE set_id = ? AND first <= ? AND last >= ?",
        (of.id, int(gone[-1]), int(gone[0])),
    ).fetchall()
    for segment, size, blob in cast("Iterable[tuple[int, int, bytes]]", near):
        held = np.frombuffer(blob, dtype="<i8")
        dead = [(segment, chunk) for chunk in held[among(held, gone)].tolist()]
        connection.executemany("INSERT INTO code_tombs(segment, chunk) VALUES (?, ?) ON CONFLICT DO NOTHING", dead)
        if dead and len(_dead(connection, segment)) * 2 > size:
            _put(connection, of, _taken(connection, of, segment))


def _taken(connection: Database, of: VectorSet, segment: int) -> BinaryCodes:
    """Remove a segment and return what lives in it."""
    codes = read(connection, of, segment)
    alive = codes.without(ids_of(_dead(connection, segment)))
    connection.execute("DELETE FROM code_tombs WHERE segment = ?", (segment,))
    connection.execute("DELETE FROM code_segments WHERE id = ?", (segment,))
    return alive


def _dead(connection: Database, segment: int) -> list[int]:
    found = connection.execute("SELECT chunk FROM code_tombs WHERE segment = ?", (segment,))
    return [cast("int", chunk) for (chunk,) in found]


def _held(connection: Database, of: VectorSet) -> NDArray[np.int64]:
    """Every chunk with a living code, ascending."""
    import numpy as np

    found = connection.execute("SELECT id, ids FROM code_segments WHERE set_id = ?", (of.id,)).fetchall()
    parts: list[NDArray[np.int64]] = []
    for segment, blob in cast("Iterable[tuple[int, bytes]]", found):
        held = np.frombuffer(blob, dtype="<i8")
        parts.append(held[~among(held, ids_of(_dead(connection, segment)))])
    return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *parts]))


def _stamp(of: VectorSet) -> str:
    return f"codes:{of.id}"


def _stamped(connection: Database, of: VectorSet) -> None:
    set_counter(connection, _stamp(of), _files.changes(connection))
    set_counter(connection, f"{_stamp(of)}:overwritten", counter(connection, "overwritten"))
