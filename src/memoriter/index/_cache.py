"""Vector sets and the store of full-precision vectors. Writers expect an open transaction."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import EmbeddingError
from memoriter.ids import fingerprint
from memoriter.index import _files
from memoriter.index._connection import increment
from memoriter.index._sums import BrokenVectors, vector_sums
from memoriter.index._text import storable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._database import Database
    from memoriter.types import ModelSpec


LENGTH_ERROR = 1e-3
"""How far the square of a vector's length may be from 1: float32 rounds a thousand times better."""


@dataclass(frozen=True, slots=True)
class VectorSet:
    """Vectors that may be compared with each other."""

    id: int
    fingerprint: str
    dimensions: int


_HAVING = "FROM chunks CROSS JOIN embedding_cache AS known ON known.set_id = ? AND known.key = chunks.key"
_SOME = (
    "SELECT chunks.id, known.id, known.key, known.sum, known.vector FROM json_each(?) AS wanted"
    " CROSS JOIN chunks ON chunks.id = wanted.value"
    " CROSS JOIN embedding_cache AS known ON known.set_id = ? AND known.key = chunks.key"
)
# A fresh index has its vectors in the order they were made, with few that nobody needs: reading them in that order is
# a third faster than jumping from key to key.
ALL_IN_ORDER = (
    "SELECT chunks.id, known.id, known.key, known.sum, known.vector FROM embedding_cache AS known NOT INDEXED"
    " CROSS JOIN chunks ON chunks.key = known.key WHERE known.set_id = ?"
)
ALL_BY_KEY = ALL_IN_ORDER.replace("NOT INDEXED", "")
_NEED = (
    "NOT EXISTS (SELECT 1 FROM embedding_cache AS known WHERE known.set_id = :set AND known.key = chunks.key)"
    " AND NOT EXISTS (SELECT 1 FROM failures WHERE failures.set_id = :set AND failures.key = chunks.key)"
)


def find_set(connection: Database, spec: ModelSpec) -> VectorSet | None:
    """The registered set of this model, checked against the length of its vectors."""
    name = fingerprint(spec)
    row = cast(
        "tuple[int, int] | None",
        connection.execute("SELECT id, dimensions FROM sets WHERE fingerprint = ?", (name,)).get,
    )
    if row is None:
        return None
    if row[1] != spec.dimensions:
        raise EmbeddingError(
            f"The vectors of {spec.model!r} in the index have {row[1]} dimensions, the model gives {spec.dimensions}",
            remedy="Name the model's dimensions in the configuration, or run `memoriter index --force`.",
        )
    return VectorSet(row[0], name, row[1])


def register(connection: Database, spec: ModelSpec, *, now: float) -> None:
    """Make room for the vectors of a model; nothing happens to a set that exists."""
    if spec.dimensions < 1:
        raise EmbeddingError(
            f"{spec.model!r} gives vectors of {spec.dimensions} dimensions", remedy="Choose another model."
        )
    description = json.dumps(asdict(spec), sort_keys=True)
    connection.execute(
        "INSERT INTO sets(fingerprint, dimensions, spec, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (fingerprint(spec), spec.dimensions, description, now),
    )


def store(connection: Database, of: VectorSet, keys: Sequence[bytes], rows: NDArray[np.float32], *, now: float) -> int:
    """Keep vectors under their keys, over what was there, and forget that they once failed; how many were there."""
    pairs = list(zip(keys, map(bytes, rows), strict=True))
    sums = vector_sums(keys, rows)
    places = [(of.id, key) for key in keys]
    exists = "SELECT 1 FROM embedding_cache WHERE set_id = ? AND key = ?"
    replaced = sum(connection.execute(exists, place).get is not None for place in places)
    connection.executemany(
        "INSERT INTO embedding_cache(set_id, key, used_at, vector, sum) VALUES (?, ?, ?, ?, ?) ON CONFLICT(set_id, key)"
        " DO UPDATE SET used_at = excluded.used_at, vector = excluded.vector, sum = excluded.sum",
        [(of.id, key, now, vector, total) for (key, vector), total in zip(pairs, sums, strict=True)],
    )
    connection.executemany("DELETE FROM failures WHERE set_id = ? AND key = ?", places)
    if replaced:
        increment(connection, "overwritten", replaced)
    return replaced


def taken(connection: Database, ids: Sequence[int], *, now: float) -> None:
    """Note that chunks took their vectors from the cache, in every set."""
    if not ids:
        return
    connection.execute(
        "UPDATE embedding_cache SET used_at = :now WHERE used_at < :now AND id IN"
        " (SELECT known.id FROM chunks CROSS JOIN sets"
        " CROSS JOIN embedding_cache AS known ON known.set_id = sets.id AND known.key = chunks.key"
        " WHERE chunks.id BETWEEN :first AND :last)",
        {"now": now, "first": ids[0], "last": ids[-1]},
    )


def fail(connection: Database, of: VectorSet, key: bytes, message: str, *, now: float) -> None:
    """Note that the model refused a text, so that it is not asked again."""
    connection.execute(
        "INSERT OR REPLACE INTO failures(set_id, key, message, failed_at) VALUES (?, ?, ?, ?)",
        (of.id, key, storable(message), now),
    )


def clear_failures(connection: Database, of: VectorSet) -> None:
    connection.execute("DELETE FROM failures WHERE set_id = ?", (of.id,))


def chunks_with(connection: Database, keys: Iterable[bytes]) -> list[int]:
    """The chunks whose vectors are stored under these keys."""
    found = (connection.execute("SELECT id FROM chunks WHERE key = ?", (key,)).fetchall() for key in set(keys))
    return sorted(cast("int", known) for rows in found for (known,) in rows)


def referenced(connection: Database, keys: Iterable[bytes]) -> set[bytes]:
    """Those of the keys that chunks refer to."""
    statement = "SELECT 1 FROM chunks WHERE key = ? LIMIT 1"
    return {key for key in set(keys) if connection.execute(statement, (key,)).get}


def missing(connection: Database, of: VectorSet, *, limit: int, since: int) -> tuple[int, dict[bytes, str]]:
    """Texts that wait for a vector, by key, from chunk `since` on; and the first chunk that waits (or the next id)."""
    first = _files.newest_id(connection) + 1
    texts: dict[bytes, str] = {}
    columns = f"chunks.id, chunks.key, {_files.CHUNK}"
    statement = f"SELECT {columns} FROM chunks WHERE chunks.id >= :since AND {_NEED} ORDER BY chunks.id"  # noqa: S608 (fixed text)
    for chunk_id, key, *passage in cast(
        "Iterable[tuple[Any, ...]]", connection.execute(statement, {"since": since, "set": of.id})
    ):
        first = min(first, chunk_id)
        if len(texts) >= limit:
            break
        if key not in texts:
            texts[key] = _files.chunk(*passage).contextual
    return first, texts


def fetched(
    connection: Database, of: VectorSet, statement: str, values: tuple[Any, ...], *, batch: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """What a statement over (id, vector's id, key, checksum, vector) finds, `batch` rows at a time: (n,) and (n, dims).

    Raises:
        BrokenVectors: some of the vectors are not what was written.
    """
    import numpy as np

    cursor = connection.execute(statement, values)
    while rows := cast("list[Stored]", list(islice(cursor, batch))):
        ids = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
        yield ids, checked(rows, of)


Stored = tuple[int, int, bytes, int | None, bytes]
"""Any id, the vector's own id, its key, its checksum and its bytes."""


def checked(rows: Sequence[Stored], of: VectorSet) -> NDArray[np.float32]:
    """Return stored vectors, (n, dims), that are what was written. Raises BrokenVectors."""
    import numpy as np

    _, ids, keys, sums, vectors = zip(*rows, strict=True)
    blob = b"".join(vectors)
    if len(blob) != len(rows) * of.dimensions * 4 or len({*map(len, vectors)}) > 1:
        raise BrokenVectors([row for row, vector in zip(ids, vectors, strict=True) if len(vector) != of.dimensions * 4])
    found = np.frombuffer(blob, dtype="<f4").reshape(len(rows), of.dimensions)
    made = vector_sums(keys, found)
    if made != list(sums):
        broken = [row for row, was, now in zip(ids, sums, made, strict=True) if was is not None and was != now]
        if broken:
            raise BrokenVectors(broken)
    return found


def vectors_of(
    connection: Database, of: VectorSet, ids: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Those of the chunks that have a vector, and the vectors."""
    import numpy as np

    if not ids:
        return np.empty(0, dtype=np.int64), np.empty((0, of.dimensions), dtype=np.float32)
    batches = fetched(connection, of, _SOME, (_files.id_list(ids), of.id), batch=len(ids))
    return next(batches, (np.empty(0, dtype=np.int64), np.empty((0, of.dimensions), dtype=np.float32)))


def vectors_in(
    connection: Database, of: VectorSet, places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Those of the stored vectors, by their own ascending ids, that exist, and the vectors: (n,) and (n, dims)."""
    import numpy as np

    statement = (
        "SELECT known.id, known.id, known.key, known.sum, known.vector FROM json_each(?) AS wanted"
        " CROSS JOIN embedding_cache AS known"
        " ON known.id = wanted.value WHERE known.set_id = ?"
    )
    nothing = np.empty(0, dtype=np.int64), np.empty((0, of.dimensions), dtype=np.float32)
    if not places.size:
        return nothing
    values = (_files.id_list(places.tolist()), of.id)
    return next(fetched(connection, of, statement, values, batch=places.size), nothing)


def sampled(connection: Database, of: VectorSet, count: int) -> list[int]:
    """Chunks with different texts, one for each, in the order of the hashes of their texts."""
    statement = (
        "SELECT min(chunks.id) FROM embedding_cache AS known CROSS JOIN chunks ON chunks.key = known.key"
        " WHERE known.set_id = ? GROUP BY known.key ORDER BY known.key LIMIT ?"
    )
    return [cast("int", chunk_id) for (chunk_id,) in connection.execute(statement, (of.id, count))]


def having(connection: Database, of: VectorSet) -> list[int]:
    """Every chunk with a vector, ascending."""
    return sorted(cast("int", known) for (known,) in connection.execute(f"SELECT chunks.id {_HAVING}", (of.id,)))


def count_having(connection: Database, of: VectorSet) -> int:
    """How many chunks have a vector."""
    return int(connection.execute(f"SELECT count(*) {_HAVING}", (of.id,)).get)


def count_failed(connection: Database, of: VectorSet) -> int:
    """Chunks whose text the model refused."""
    statement = "SELECT count(*) FROM failures CROSS JOIN chunks ON chunks.key = failures.key WHERE failures.set_id = ?"
    return int(connection.execute(statement, (of.id,)).get)


def evict(connection: Database, *, max_entries: int, max_bytes: int) -> int:
    """Drop vectors that no chunk refers to, least recently used first, until the store fits; return how many."""
    held = cast(
        "list[tuple[int, int]]",
        connection.execute(
            "SELECT dimensions * 4, (SELECT count(*) FROM embedding_cache WHERE set_id = sets.id) FROM sets"
        ).fetchall(),
    )
    entries, size = sum(count for _, count in held), sum(length * count for length, count in held)
    if entries <= max_entries and size <= max_bytes:
        return 0
    idle = connection.execute(
        "SELECT known.id, sets.dimensions * 4 FROM sets JOIN embedding_cache AS known ON known.set_id = sets.id"
        " WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.key = known.key) ORDER BY known.used_at, known.id"
    )
    gone: list[tuple[int]] = []
    for vector_id, length in cast("Iterable[tuple[int, int]]", idle):
        if entries <= max_entries and size <= max_bytes:
            break
        gone.append((vector_id,))
        entries, size = entries - 1, size - length
    connection.executemany("DELETE FROM embedding_cache WHERE id = ?", gone)
    return len(gone)


def drop(connection: Database, of: VectorSet) -> None:
    """Forget every vector of a set."""
    connection.execute("DELETE FROM embedding_cache WHERE set_id = ?", (of.id,))
    increment(connection, "overwritten")


def carry_over(connection: Database, old: str, *, without: VectorSet | None = None) -> None:
    """Copy the vector sets of another index file into this empty one with what is known of them, in one transaction.

    Of the set `without` no vector is copied.
    """
    connection.execute("ATTACH ? AS old", (old,))
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "INSERT INTO main.sets(id, fingerprint, dimensions, spec, created_at)"
            " SELECT id, fingerprint, dimensions, spec, created_at FROM old.sets"
        )
        connection.execute(
            "INSERT INTO main.embedding_cache(id, set_id, key, used_at, vector, sum)"
            " SELECT id, set_id, key, used_at, vector, sum FROM old.embedding_cache WHERE set_id IS NOT ?",
            (without.id if without else None,),
        )
        connection.execute(
            "INSERT OR REPLACE INTO main.meta(key, value) SELECT key, value FROM old.meta"
            " WHERE key GLOB 'batch:*' OR key GLOB 'background:*' OR key = 'forgetting'"
        )
        _drop_broken(connection)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("DETACH old")


def _drop_broken(connection: Database) -> None:
    """Forget vectors that are not what was written, or not of length 1; what was measured with them goes too."""
    broken: list[int] = []
    for of, dimensions in connection.execute("SELECT id, dimensions FROM sets").fetchall():
        cursor = connection.execute("SELECT id, key, sum, vector FROM embedding_cache WHERE set_id = ?", (of,))
        found = cast("Iterator[tuple[int, bytes, int | None, bytes]]", iter(cursor))
        while some := list(islice(found, 4096)):
            broken += broken_in(some, dimensions)
    if broken:
        connection.executemany("DELETE FROM embedding_cache WHERE id = ?", [(row,) for row in broken])
        connection.execute("DELETE FROM meta WHERE key GLOB 'background:*'")


def broken_in(some: Sequence[tuple[int, bytes, int | None, bytes]], dimensions: int) -> list[int]:
    """Ids of the vectors that are damaged."""
    import numpy as np

    broken = [row for row, _, _, vector in some if len(vector) != 4 * dimensions]
    whole = [each for each in some if len(each[3]) == 4 * dimensions]
    rows = np.frombuffer(b"".join(vector for *_, vector in whole), dtype="<f4").reshape(-1, dimensions)
    with np.errstate(all="ignore"):
        good = np.abs(np.einsum("ij,ij->i", rows, rows, dtype=np.float64) - 1) < LENGTH_ERROR
    sums = vector_sums([key for _, key, _, _ in whole], rows)
    for (row, _, was, _), now, fine in zip(whole, sums, good.tolist(), strict=True):
        if not fine or was not in (None, now):
            broken.append(row)
    return broken


def drop_vectors(connection: Database, ids: Sequence[int]) -> None:
    """Forget damaged vectors, so that they are made again."""
    connection.executemany("DELETE FROM embedding_cache WHERE id = ?", [(row,) for row in ids])
    connection.execute("DELETE FROM meta WHERE key GLOB 'background:*'")
    increment(connection, "overwritten")
    increment(connection, "content")
