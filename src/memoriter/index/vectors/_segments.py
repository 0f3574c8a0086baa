"""Binary codes of a vector set in the index file, stored in segments that are written once and never changed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, cast

from memoriter.index import _content
from memoriter.index._connection import counter, set_counter
from memoriter.index.vectors import _binary_quantization, _cache
from memoriter.index.vectors._cache import decode
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._connection import Database
    from memoriter.index.vectors._binary_quantization import Measurement
    from memoriter.index.vectors._cache import VectorSet

MAX_CODES = 4096
"""The maximum number of codes in a segment."""
_SAMPLE = 4096
"""Vectors that the means are computed from: the error of the means is then a hundredth of the vectors' own spread."""
_MIN_GROWTH = 64
"""Vectors that may be added to the smallest set before its means are computed again."""
_ALL_VECTORS = (
    "SELECT chunks.id, known.id, known.vector FROM embedding_cache AS known NOT INDEXED"
    " CROSS JOIN chunks ON chunks.key = known.key WHERE known.set_id = ?"
)
_VECTORS_OF_CHUNKS = (
    "SELECT chunks.id, known.id, known.vector FROM json_each(?) AS wanted"
    " CROSS JOIN chunks ON chunks.id = wanted.value"
    " CROSS JOIN embedding_cache AS known ON known.set_id = ? AND known.key = chunks.key"
)


@dataclass(frozen=True, slots=True)
class CodeMeans:
    """The means that the codes of a set were made with, and the measured oversampling."""

    epoch: int
    """Incremented whenever all codes are made again."""
    vectors: int
    """The number of vectors when the codes were made."""
    measured: int
    """The number of vectors when `oversampling` was measured; 0: never."""
    oversampling: int
    recall: float
    means: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BinaryCodes:
    """The codes of n chunks, ordered by chunk id."""

    ids: NDArray[np.int64]
    places: NDArray[np.int64]
    """Ids of the vectors in `embedding_cache`."""
    factors: NDArray[np.float16]
    """(2, n)"""
    bits: NDArray[np.uint64]
    """(words, n)"""

    def at(self, chosen: NDArray[np.intp] | NDArray[np.bool_]) -> BinaryCodes:
        """Return the codes at the given positions, in that order."""
        return BinaryCodes(self.ids[chosen], self.places[chosen], self.factors[:, chosen], self.bits[:, chosen])

    def without(self, ids: NDArray[np.int64]) -> BinaryCodes:
        """Return the codes of all chunks except `ids`."""
        return self.at(~is_in(self.ids, ids)) if ids.size else self


def id_array(chunks: Iterable[int]) -> NDArray[np.int64]:
    """Return ids as an array, ascending and without duplicates."""
    import numpy as np

    return np.array(sorted(set(chunks)), dtype=np.int64)


def is_in(ids: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each id is one of `others`. `np.isin` would import much of NumPy on its first call."""
    import numpy as np

    if not others.size:
        return np.zeros(ids.size, dtype=np.bool_)
    ordered = np.sort(others)
    return ordered[np.minimum(np.searchsorted(ordered, ids), others.size - 1)] == ids


def merge_codes(parts: Sequence[BinaryCodes]) -> BinaryCodes:
    """Return all codes of the parts (at least one) in one object, ordered by chunk id."""
    import numpy as np

    codes = BinaryCodes(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.places for part in parts]),
        np.concatenate([part.factors for part in parts], axis=1),
        np.concatenate([part.bits for part in parts], axis=1),
    )
    return codes.at(np.argsort(codes.ids, kind="stable"))


# reading


def read_code_means(connection: Database, vector_set: VectorSet) -> CodeMeans | None:
    """Return how the codes of the set were made; None if it has no codes."""
    import numpy as np

    row = connection.execute(
        "SELECT epoch, vectors, measured, oversampling, recall, means FROM code_sets WHERE set_id = ?", (vector_set.id,)
    ).get
    if row is None:
        return None
    epoch, vectors, measured, oversampling, recall, means = cast("tuple[int, int, int, int, float, bytes]", row)
    return CodeMeans(epoch, vectors, measured, oversampling, recall, np.frombuffer(means, dtype="<f4"))


def measured_vectors(connection: Database, vector_set: VectorSet) -> int:
    """Return the number of vectors when the oversampling was measured; 0: never."""
    return int(connection.execute("SELECT measured FROM code_sets WHERE set_id = ?", (vector_set.id,)).get or 0)


def exists(connection: Database, vector_set: VectorSet) -> bool:
    return connection.execute("SELECT 1 FROM code_sets WHERE set_id = ?", (vector_set.id,)).get is not None


def is_outdated(connection: Database, vector_set: VectorSet) -> bool:
    """Return whether `reconcile` has something to do."""
    vectors = connection.execute("SELECT vectors FROM code_sets WHERE set_id = ?", (vector_set.id,)).get
    if vectors is None or counter(connection, _counter_name(vector_set)) != counter(connection, "content"):
        return True
    return _means_outgrown(int(vectors), count_codes(connection, vector_set))


def _means_outgrown(before: int, now: int) -> bool:
    return now >= 2 * before + _MIN_GROWTH


def count_codes(connection: Database, vector_set: VectorSet) -> int:
    """Return the number of chunks that have a code."""
    stored = connection.execute(
        "SELECT coalesce(sum(size), 0) FROM code_segments WHERE set_id = ?", (vector_set.id,)
    ).get
    dead = connection.execute(
        "SELECT count(*) FROM code_segments AS held CROSS JOIN code_tombs ON segment = held.id WHERE set_id = ?",
        (vector_set.id,),
    ).get
    return int(stored) - int(dead)


def segment_ids(connection: Database, vector_set: VectorSet) -> list[int]:
    """Return the ids of all segments of the set."""
    return [
        int(each) for (each,) in connection.execute("SELECT id FROM code_segments WHERE set_id = ?", (vector_set.id,))
    ]


def tombstones(connection: Database, *, after: int) -> list[tuple[int, int, int]]:
    """Return (tombstone, segment, chunk) of deleted chunks in all sets, newer than tombstone `after`, oldest first."""
    statement = "SELECT id, segment, chunk FROM code_tombs WHERE id > ? ORDER BY id"
    return cast("list[tuple[int, int, int]]", connection.execute(statement, (after,)).fetchall())


def read(connection: Database, vector_set: VectorSet, segment: int) -> BinaryCodes:
    """Return all codes of a segment, including those of deleted chunks."""
    import numpy as np

    row = connection.execute("SELECT size, ids, places, factors, codes FROM code_segments WHERE id = ?", (segment,)).get
    size, ids, places, factors, bits = cast("tuple[int, bytes, bytes, bytes, bytes]", row)
    words = _binary_quantization.columns(vector_set.dimensions)
    return BinaryCodes(
        np.frombuffer(ids, dtype="<i8"),
        np.frombuffer(places, dtype="<i8"),
        np.frombuffer(factors, dtype="<f2").reshape(2, size),
        np.frombuffer(bits, dtype="<u8").reshape(words, size),
    )


# writing: each function expects an open transaction


def apply_change(connection: Database, vector_set: VectorSet, change: _content.StoredChange, *, before: int) -> None:
    """Apply a write that started from the content counter `before`, unless the codes are outdated or do not exist."""
    if counter(connection, _counter_name(vector_set)) != before or not exists(connection, vector_set):
        return
    _add_tombstones(connection, vector_set, id_array(change.gone))
    _add_codes(connection, vector_set, change.added)
    _mark_current(connection, vector_set)


def reconcile(connection: Database, vector_set: VectorSet) -> None:
    """Bring the codes up to date with the vectors, whatever other processes did; compute new means if that is due."""
    if not is_outdated(connection, vector_set):
        return
    embedded = id_array(_cache.embedded_chunks(connection, vector_set))
    code_means = read_code_means(connection, vector_set)
    overwritten = counter(connection, f"{_counter_name(vector_set)}:overwritten") != counter(connection, "overwritten")
    if code_means is None or overwritten or _means_outgrown(code_means.vectors, embedded.size):
        _encode_all(connection, vector_set, code_means.epoch + 1 if code_means else 1, embedded.size)
    else:
        coded = _coded_chunks(connection, vector_set)
        _add_tombstones(connection, vector_set, coded[~is_in(coded, embedded)])
        _add_codes(connection, vector_set, embedded[~is_in(embedded, coded)].tolist())
    _mark_current(connection, vector_set)


def rewrite_dead_segments(connection: Database, vector_set: VectorSet) -> None:
    """Rewrite every segment that still contains the code of a deleted chunk."""
    statement = (
        "SELECT DISTINCT held.id FROM code_segments AS held JOIN code_tombs ON segment = held.id WHERE set_id = ?"
    )
    for (segment,) in connection.execute(statement, (vector_set.id,)).fetchall():
        # Rewriting one segment may have merged another one into it.
        if connection.execute("SELECT 1 FROM code_segments WHERE id = ?", (segment,)).get is not None:
            _write_merged(connection, vector_set, _remove_segment(connection, vector_set, int(segment)))


def save_measurement(
    connection: Database, vector_set: VectorSet, epoch: int, measurement: Measurement, *, vectors: int
) -> None:
    """Store the measured oversampling; do nothing if the codes were made again meanwhile."""
    statement = "UPDATE code_sets SET measured = ?, oversampling = ?, recall = ? WHERE set_id = ? AND epoch = ?"
    connection.execute(statement, (vectors, measurement.oversampling, measurement.recall, vector_set.id, epoch))


def _encode_all(connection: Database, vector_set: VectorSet, epoch: int, vectors: int) -> None:
    import numpy as np

    _, rows = _cache.vectors_of_chunks(connection, vector_set, _cache.sample_chunks(connection, vector_set, _SAMPLE))
    means = rows.mean(axis=0) if len(rows) else np.zeros(vector_set.dimensions, dtype=np.float32)
    connection.execute(
        "DELETE FROM code_tombs WHERE segment IN (SELECT id FROM code_segments WHERE set_id = ?)", (vector_set.id,)
    )
    connection.execute("DELETE FROM code_segments WHERE set_id = ?", (vector_set.id,))
    connection.execute(
        "INSERT INTO code_sets(set_id, epoch, vectors, measured, oversampling, recall, means)"
        " VALUES (?, ?, ?, 0, 0, 0, ?) ON CONFLICT(set_id) DO UPDATE SET"
        " epoch = excluded.epoch, vectors = excluded.vectors, measured = 0, means = excluded.means",
        (vector_set.id, epoch, vectors, means.astype("<f4").tobytes()),
    )
    for part in _encode_rows(connection, vector_set, means, _ALL_VECTORS, (vector_set.id,)):
        _write(connection, vector_set, part)


def _encode_rows(
    connection: Database,
    vector_set: VectorSet,
    means: NDArray[np.float32],
    statement: str,
    values: tuple[str | int, ...],
) -> Iterator[BinaryCodes]:
    """Yield the codes of the rows that a statement returns, a segment at a time.

    The statement returns (chunk id, vector id, vector).
    """
    import numpy as np

    cursor = connection.execute(statement, values)
    while rows := cast("list[tuple[int, int, bytes]]", list(islice(cursor, MAX_CODES))):
        ids, places, blobs = zip(*rows, strict=True)
        bits, factors = _binary_quantization.encode(decode(blobs, vector_set.dimensions), means)
        codes = BinaryCodes(np.array(ids, dtype=np.int64), np.array(places, dtype=np.int64), factors, bits)
        yield codes.at(np.argsort(codes.ids))


def _add_codes(connection: Database, vector_set: VectorSet, ids: Sequence[int]) -> None:
    """Add the codes of the chunks that have a vector, and merge smaller segments so that there are few."""
    code_means = read_code_means(connection, vector_set) if ids else None
    if code_means is None:
        return
    for part in _encode_rows(
        connection, vector_set, code_means.means, _VECTORS_OF_CHUNKS, (_content.id_list(ids), vector_set.id)
    ):
        _write_merged(connection, vector_set, part)


def _write_merged(connection: Database, vector_set: VectorSet, part: BinaryCodes) -> None:
    while part.ids.size:
        statement = "SELECT id FROM code_segments WHERE set_id = ? AND size <= ? ORDER BY size LIMIT 1"
        smaller = connection.execute(statement, (vector_set.id, min(part.ids.size, MAX_CODES - part.ids.size))).get
        if smaller is None:
            _write(connection, vector_set, part)
            return
        part = merge_codes((part, _remove_segment(connection, vector_set, int(smaller))))


def _write(connection: Database, vector_set: VectorSet, part: BinaryCodes) -> None:
    blobs = [value.tobytes() for value in (part.ids, part.places, part.factors, part.bits)]
    connection.execute(
        "INSERT INTO code_segments(set_id, size, first, last, ids, places, factors, codes)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (vector_set.id, part.ids.size, int(part.ids.min()), int(part.ids.max()), *blobs),
    )


def _add_tombstones(connection: Database, vector_set: VectorSet, gone: NDArray[np.int64]) -> None:
    """Mark the codes of chunks, ascending, as deleted; rewrite a segment if more than half of it is deleted."""
    import numpy as np

    if not gone.size:
        return
    overlapping = connection.execute(
        "SELECT id, size, ids FROM code_segments WHERE set_id = ? AND first <= ? AND last >= ?",
        (vector_set.id, int(gone[-1]), int(gone[0])),
    ).fetchall()
    for segment, size, blob in cast("Iterable[tuple[int, int, bytes]]", overlapping):
        chunks = np.frombuffer(blob, dtype="<i8")
        dead = [(segment, chunk) for chunk in chunks[is_in(chunks, gone)].tolist()]
        connection.executemany("INSERT INTO code_tombs(segment, chunk) VALUES (?, ?) ON CONFLICT DO NOTHING", dead)
        if dead and len(_dead_chunks(connection, segment)) * 2 > size:
            _write_merged(connection, vector_set, _remove_segment(connection, vector_set, segment))


def _remove_segment(connection: Database, vector_set: VectorSet, segment: int) -> BinaryCodes:
    """Delete a segment and return the codes of its live chunks."""
    codes = read(connection, vector_set, segment)
    alive = codes.without(id_array(_dead_chunks(connection, segment)))
    connection.execute("DELETE FROM code_tombs WHERE segment = ?", (segment,))
    connection.execute("DELETE FROM code_segments WHERE id = ?", (segment,))
    return alive


def _dead_chunks(connection: Database, segment: int) -> list[int]:
    rows = connection.execute("SELECT chunk FROM code_tombs WHERE segment = ?", (segment,))
    return [cast("int", chunk) for (chunk,) in rows]


def _coded_chunks(connection: Database, vector_set: VectorSet) -> NDArray[np.int64]:
    """Return every live chunk that has a code, ascending."""
    import numpy as np

    tombs = connection.execute(
        "SELECT segment, chunk FROM code_tombs JOIN code_segments ON code_segments.id = segment WHERE set_id = ?",
        (vector_set.id,),
    )
    dead: dict[int, list[int]] = {}
    for segment, chunk in cast("Iterable[tuple[int, int]]", tombs):
        dead.setdefault(segment, []).append(chunk)
    parts: list[NDArray[np.int64]] = []
    segments = connection.execute("SELECT id, ids FROM code_segments WHERE set_id = ?", (vector_set.id,))
    for segment, blob in cast("Iterable[tuple[int, bytes]]", segments):
        chunks = np.frombuffer(blob, dtype="<i8")
        parts.append(chunks[~is_in(chunks, id_array(dead.get(segment, [])))])
    return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *parts]))


def _counter_name(vector_set: VectorSet) -> str:
    return f"codes:{vector_set.id}"


def _mark_current(connection: Database, vector_set: VectorSet) -> None:
    set_counter(connection, _counter_name(vector_set), counter(connection, "content"))
    set_counter(connection, f"{_counter_name(vector_set)}:overwritten", counter(connection, "overwritten"))
