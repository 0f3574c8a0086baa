"""Vector sets and their stored vectors: those of chunks in full precision, those of items alone in the short form.

Functions that write expect an open transaction.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import EmbeddingError
from memoriter.ids import fingerprint, spec_of
from memoriter.index import _content
from memoriter.index._connection import increment, storable
from memoriter.records import SEEN_PER_SAMPLED, SKETCH_BYTES, TextPlace, sampled
from memoriter.short_vectors import full_bytes, read_stored, short_bytes, shorten
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._connection import Database
    from memoriter.types import ModelSpec


def encode(keys: Sequence[bytes], rows: NDArray[np.float32], short: Collection[bytes]) -> list[bytes]:
    """Return vectors as they are stored, those with a key in `short` in the short form."""
    import numpy as np

    blobs = list(map(bytes, np.ascontiguousarray(rows, dtype="<f4").view(np.uint8)))
    places = [place for place, key in enumerate(keys) if key in short]
    if places:
        for place, blob in zip(places, shorten(rows[places]), strict=True):
            blobs[place] = bytes(blob)
    return blobs


def decode(blobs: Sequence[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return stored vectors as they are compared, (n, dims). Each has the length of one of the two forms."""
    import numpy as np

    sizes = list(map(len, blobs))
    different = set(sizes)
    if len(different) == 1:
        return _decode_equal(blobs, sizes[0], dimensions)
    rows = np.empty((len(blobs), dimensions), dtype=np.float32)
    for size in different:
        places = [place for place, each in enumerate(sizes) if each == size]
        rows[places] = _decode_equal([blobs[place] for place in places], size, dimensions)
    return rows


def _decode_equal(blobs: Sequence[bytes], size: int, dimensions: int) -> NDArray[np.float32]:
    """Return stored vectors of one form."""
    import numpy as np

    stored = np.frombuffer(b"".join(blobs), dtype=np.uint8).reshape(len(blobs), size)
    return read_stored(stored, dimensions)


def known_sizes(dimensions: int) -> set[int]:
    """Return the bytes that a vector has in either form."""
    return {full_bytes(dimensions), short_bytes(dimensions)}


@dataclass(frozen=True, slots=True)
class VectorSet:
    """A set of vectors that may be compared with each other."""

    id: int
    fingerprint: str
    dimensions: int


_EMBEDDED = "FROM chunks CROSS JOIN embedding_cache AS known ON known.set_id = ? AND known.key = chunks.key"
_VECTORS_OF_CHUNKS = (
    "SELECT chunks.id, known.vector FROM json_each(?) AS wanted"
    " CROSS JOIN chunks ON chunks.id = wanted.value"
    " CROSS JOIN embedding_cache AS known ON known.set_id = ? AND known.key = chunks.key"
)
# A new index has its vectors in insertion order and few unused ones: reading them in that order is a third faster than
# looking up each key.
ALL_IN_ORDER = (
    "SELECT chunks.id, known.vector FROM embedding_cache AS known NOT INDEXED"
    " CROSS JOIN chunks ON chunks.key = known.key WHERE known.set_id = ?"
)
ALL_BY_KEY = ALL_IN_ORDER.replace("NOT INDEXED", "")
WAITING = (
    "NOT EXISTS (SELECT 1 FROM embedding_cache AS known WHERE known.set_id = :set AND known.key = chunks.key)"
    " AND NOT EXISTS (SELECT 1 FROM failures WHERE failures.set_id = :set AND failures.key = chunks.key)"
)
UNUSED = (
    "NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.key = known.key)"
    " AND NOT EXISTS (SELECT 1 FROM items WHERE items.key = known.key)"
)
"""An SQL condition on rows with a key, `known`: neither a chunk nor an item refers to it."""


OF_ITEMS_ALONE = (
    "EXISTS (SELECT 1 FROM items WHERE items.key = known.key)"
    " AND NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.key = known.key)"
)
"""An SQL condition on rows with a key, `known`: only items refer to it."""


def find_set(connection: Database, spec: ModelSpec) -> VectorSet | None:
    """Return the registered set of this model, or None.

    Raises:
        EmbeddingError: the set has vectors of another length.
    """
    name = fingerprint(spec)
    row = cast(
        "tuple[int, int] | None",
        connection.execute("SELECT id, dimensions FROM sets WHERE fingerprint = ?", (name,)).get,
    )
    if row is None:
        return None
    if row[1] != spec.dimensions:
        raise EmbeddingError(
            f"The vectors of {spec.model!r} in the index have {row[1]} dimensions, the model gives {spec.dimensions}.",
            remedy="Name the model's dimensions in the configuration, or run `memoriter index --force`.",
        )
    return VectorSet(row[0], name, row[1])


def register(connection: Database, spec: ModelSpec, *, now: float) -> None:
    """Register the vector set of a model; do nothing if it exists."""
    if spec.dimensions < 1:
        raise EmbeddingError(
            f"{spec.model!r} gives vectors of {spec.dimensions} dimensions.", remedy="Choose another model."
        )
    description = json.dumps(asdict(spec), sort_keys=True)
    connection.execute(
        "INSERT INTO sets(fingerprint, dimensions, spec, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (fingerprint(spec), spec.dimensions, description, now),
    )


def store(
    connection: Database, vector_set: VectorSet, keys: Sequence[bytes], rows: NDArray[np.float32], *, now: float
) -> int:
    """Store vectors under their keys, clear the recorded failures of these keys, and return how many were replaced."""
    blobs = encode(keys, rows, _keys_of_items_alone(connection, keys))
    places = [(vector_set.id, key) for key in keys]
    exists = "SELECT 1 FROM embedding_cache WHERE set_id = ? AND key = ?"
    replaced = sum(connection.execute(exists, place).get is not None for place in places)
    connection.executemany(
        "INSERT INTO embedding_cache(set_id, key, used_at, vector) VALUES (?, ?, ?, ?) ON CONFLICT(set_id, key)"
        " DO UPDATE SET used_at = excluded.used_at, vector = excluded.vector",
        [(vector_set.id, key, now, blob) for key, blob in zip(keys, blobs, strict=True)],
    )
    connection.executemany("DELETE FROM failures WHERE set_id = ? AND key = ?", places)
    if replaced:
        increment(connection, "overwritten", replaced)
    return replaced


def _keys_of_items_alone(connection: Database, keys: Sequence[bytes]) -> set[bytes]:
    """Return the keys that items refer to and no chunk does."""
    statement = f"SELECT 1 FROM (SELECT ? AS key) AS known WHERE {OF_ITEMS_ALONE}"  # noqa: S608 (fixed text)
    return {key for key in keys if connection.execute(statement, (key,)).get}


def mark_used(connection: Database, ids: Sequence[int], *, now: float) -> None:
    """Record, in every set, that chunks and their items use their cached vectors."""
    if not ids:
        return
    for table, column in (("chunks", "id"), ("items", "chunk")):
        connection.execute(
            "UPDATE embedding_cache SET used_at = :now WHERE used_at < :now AND id IN"  # noqa: S608 (fixed text)
            f" (SELECT known.id FROM {table} CROSS JOIN sets"
            f" CROSS JOIN embedding_cache AS known ON known.set_id = sets.id AND known.key = {table}.key"
            f" WHERE {table}.{column} BETWEEN :first AND :last)",
            {"now": now, "first": ids[0], "last": ids[-1]},
        )


def record_failure(connection: Database, vector_set: VectorSet, key: bytes, message: str, *, now: float) -> None:
    """Record that the model refused a text, so that it is not sent again."""
    connection.execute(
        "INSERT OR REPLACE INTO failures(set_id, key, message, failed_at) VALUES (?, ?, ?, ?)",
        (vector_set.id, key, storable(message), now),
    )


def clear_failures(connection: Database, vector_set: VectorSet) -> None:
    connection.execute("DELETE FROM failures WHERE set_id = ?", (vector_set.id,))
    connection.execute("DELETE FROM counters WHERE name GLOB 'items:*'")  # what `note_complete` of `_vectors` recorded


def chunks_of_keys(connection: Database, keys: Iterable[bytes]) -> list[int]:
    """Return the chunks whose own vectors are stored under these keys, ascending."""
    results = (connection.execute("SELECT id FROM chunks WHERE key = ?", (key,)).fetchall() for key in set(keys))
    return sorted(cast("int", chunk_id) for rows in results for (chunk_id,) in rows)


def referenced(connection: Database, keys: Iterable[bytes]) -> set[bytes]:
    """Return the keys that chunks or items refer to."""
    statement = "SELECT EXISTS (SELECT 1 FROM chunks WHERE key = :key) OR EXISTS (SELECT 1 FROM items WHERE key = :key)"
    return {key for key in set(keys) if connection.execute(statement, {"key": key}).get}


def keys_of_chunks(connection: Database) -> set[bytes]:
    """Return the keys of the vectors of all chunks and items."""
    return {bytes(key) for (key,) in connection.execute("SELECT key FROM chunks UNION SELECT key FROM items")}


def missing(connection: Database, vector_set: VectorSet, *, limit: int, since: int) -> tuple[int, dict[bytes, str]]:
    """Return the first waiting chunk (or the next id), and texts without a vector by key, starting at chunk `since`."""
    first = _content.newest_id(connection) + 1
    texts: dict[bytes, str] = {}
    columns = f"chunks.id, chunks.key, {_content.CHUNK}"
    statement = f"SELECT {columns} FROM chunks WHERE chunks.id >= :since AND {WAITING} ORDER BY chunks.id"  # noqa: S608 (fixed text)
    for chunk_id, key, *passage in cast(
        "Iterable[tuple[Any, ...]]", connection.execute(statement, {"since": since, "set": vector_set.id})
    ):
        first = min(first, chunk_id)
        if len(texts) >= limit:
            break
        if key not in texts:
            texts[key] = _content.make_chunk(*passage).contextual
    return first, texts


def missing_of(connection: Database, vector_set: VectorSet, ids: Collection[int], *, limit: int) -> dict[bytes, str]:
    """Return texts of chunks without a vector by key, of those with these ids, in their order."""
    columns = f"chunks.key, {_content.CHUNK}"
    statement = (
        f"SELECT {columns} FROM json_each(:ids) AS wanted JOIN chunks ON chunks.id = wanted.value"  # noqa: S608 (fixed text)
        f" WHERE {WAITING} ORDER BY wanted.key LIMIT :limit"
    )
    values = {"ids": json.dumps([int(each) for each in ids]), "set": vector_set.id, "limit": limit}
    rows = cast("Iterable[tuple[Any, ...]]", connection.execute(statement, values))
    return {key: _content.make_chunk(*passage).contextual for key, *passage in rows}


def read_batches(
    connection: Database, vector_set: VectorSet, statement: str, values: tuple[Any, ...], *, batch: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Yield the ids and vectors that a statement returns, up to `batch` rows at a time: (n,) and (n, dims).

    The statement returns (id, vector).
    """
    import numpy as np

    cursor = connection.execute(statement, values)
    while rows := cast("list[tuple[int, bytes]]", list(islice(cursor, batch))):
        ids, blobs = zip(*rows, strict=True)
        yield np.array(ids, dtype=np.int64), decode(blobs, vector_set.dimensions)


def vectors_of_chunks(
    connection: Database, vector_set: VectorSet, ids: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the chunks that have a vector, and their vectors: (n,) and (n, dims)."""
    return _read_once(connection, vector_set, _VECTORS_OF_CHUNKS, ids)


def vectors_by_id(
    connection: Database, vector_set: VectorSet, places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the stored vectors with these ascending vector ids, and the ids that exist: (n,) and (n, dims)."""
    statement = (
        "SELECT known.id, known.vector FROM json_each(?) AS wanted"
        " CROSS JOIN embedding_cache AS known"
        " ON known.id = wanted.value WHERE known.set_id = ?"
    )
    return _read_once(connection, vector_set, statement, places.tolist())


def _read_once(
    connection: Database, vector_set: VectorSet, statement: str, ids: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the ids and vectors that a statement over a list of ids and a set returns: (n,) and (n, dims)."""
    import numpy as np

    batches = read_batches(connection, vector_set, statement, (_content.id_list(ids), vector_set.id), batch=len(ids))
    return next(batches, (np.empty(0, dtype=np.int64), np.empty((0, vector_set.dimensions), dtype=np.float32)))


def sample_chunks(connection: Database, vector_set: VectorSet, count: int) -> list[int]:
    """Return up to `count` chunks with different texts, a few of each file, in the order of the hashes of the texts."""
    statement = (
        "SELECT chunks.id, min(files.path), substr(chunks.term_counts, 1, ?) FROM embedding_cache AS known"
        " CROSS JOIN chunks ON chunks.key = known.key CROSS JOIN files ON files.id = chunks.file"
        " WHERE known.set_id = ? GROUP BY known.key ORDER BY known.key LIMIT ?"
    )
    rows = connection.execute(statement, (SKETCH_BYTES, vector_set.id, SEEN_PER_SAMPLED * count))
    return sampled(map(TextPlace._make, cast("Iterable[tuple[int, str, bytes]]", rows)), count)


def embedded_chunks(connection: Database, vector_set: VectorSet) -> list[int]:
    """Return every chunk with a vector, ascending."""
    return sorted(
        cast("int", chunk_id) for (chunk_id,) in connection.execute(f"SELECT chunks.id {_EMBEDDED}", (vector_set.id,))
    )


def count_embedded(connection: Database, vector_set: VectorSet) -> int:
    """Return the number of chunks with a vector."""
    return int(connection.execute(f"SELECT count(*) {_EMBEDDED}", (vector_set.id,)).get)


def count_failed(connection: Database, vector_set: VectorSet) -> int:
    """Return the number of chunks whose text the model refused."""
    statement = "SELECT count(*) FROM failures CROSS JOIN chunks ON chunks.key = failures.key WHERE failures.set_id = ?"
    return int(connection.execute(statement, (vector_set.id,)).get)


def count_unused(connection: Database) -> int:
    """Return the number of vectors that no chunk or item refers to."""
    return int(connection.execute(f"SELECT count(*) FROM embedding_cache AS known WHERE {UNUSED}").get)  # noqa: S608 (fixed text)


def providers(connection: Database) -> set[str]:
    """Return the providers of the models whose vectors were ever stored here."""
    return {str(name) for (name,) in connection.execute("SELECT json_extract(spec, '$.provider') FROM sets")}


_ENTRIES_AND_MOST_BYTES = (
    "SELECT coalesce(sum(entries), 0), coalesce(sum(entries * dimensions * 4), 0) FROM"
    " (SELECT dimensions, (SELECT count(*) FROM embedding_cache WHERE set_id = sets.id) AS entries FROM sets)"
)


def evict(connection: Database, *, max_entries: int, max_bytes: int) -> int:
    """Delete unused vectors, least recently used first, until the store fits; return how many."""
    entries, size = cast("tuple[int, int]", connection.execute(_ENTRIES_AND_MOST_BYTES).get)
    if entries <= max_entries and size <= max_bytes:
        return 0
    # Reading the length of every vector takes longer.
    size = int(connection.execute("SELECT coalesce(sum(length(vector)), 0) FROM embedding_cache").get)
    idle = connection.execute(
        f"SELECT known.id, length(known.vector) FROM embedding_cache AS known WHERE {UNUSED}"  # noqa: S608 (fixed text)
        " ORDER BY known.used_at, known.id"
    )
    evicted: list[tuple[int]] = []
    for vector_id, length in cast("Iterable[tuple[int, int]]", idle):
        if entries <= max_entries and size <= max_bytes:
            break
        evicted.append((vector_id,))
        entries -= 1
        size -= length
    connection.executemany("DELETE FROM embedding_cache WHERE id = ?", evicted)
    return len(evicted)


def models(connection: Database) -> dict[ModelSpec, int]:
    """Return the models that have vectors or refused texts, with the number of their vectors."""
    statement = (
        "SELECT spec, (SELECT count(*) FROM embedding_cache WHERE set_id = sets.id) AS vectors FROM sets"
        " WHERE vectors OR EXISTS (SELECT 1 FROM failures WHERE set_id = sets.id) ORDER BY id"
    )
    rows = cast("Iterable[tuple[str, int]]", connection.execute(statement))
    return {spec_of(spec): vectors for spec, vectors in rows}


def stored(
    connection: Database, vector_set: VectorSet, after: bytes, limit: int
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Return up to `limit` vectors by ascending key, those after a key: (n keys, (n, dims))."""
    import numpy as np

    statement = "SELECT key, vector FROM embedding_cache WHERE set_id = ? AND key > ? ORDER BY key LIMIT ?"
    rows = cast("list[tuple[bytes, bytes]]", connection.execute(statement, (vector_set.id, after, limit)).fetchall())
    if not rows:
        return [], np.empty((0, vector_set.dimensions), dtype=np.float32)
    keys, blobs = zip(*rows, strict=True)
    return list(keys), decode(blobs, vector_set.dimensions)


def having(connection: Database, vector_set: VectorSet, keys: Collection[bytes]) -> set[bytes]:
    """Return those of the keys that have a vector."""
    statement = "SELECT 1 FROM embedding_cache WHERE set_id = ? AND key = ?"
    return {key for key in keys if connection.execute(statement, (vector_set.id, key)).get}


def refused(connection: Database, vector_set: VectorSet) -> dict[bytes, str]:
    """Return why the model refused texts, by key."""
    statement = "SELECT key, message FROM failures WHERE set_id = ? ORDER BY key"
    return dict(cast("list[tuple[bytes, str]]", connection.execute(statement, (vector_set.id,)).fetchall()))
