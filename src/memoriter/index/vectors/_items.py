"""The vectors of items, which the ranking compares with a query after the engines have proposed chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from memoriter.index.files import _files
from memoriter.index.store._connection import counter, set_counter
from memoriter.index.store._schema import LONG_ITEMS
from memoriter.index.vectors._cache import OF_ITEMS_ALONE, WAITING, verify
from memoriter.index.vectors._stored_vectors import decode, vector_sums
from memoriter.short_vectors import full_bytes, short_bytes, shorten
from memoriter.types import Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index.store._connection import Database
    from memoriter.index.vectors._cache import VectorSet

_WAITING = WAITING.replace("chunks.key", "items.key")
_VECTORS = (
    "SELECT items.chunk, known.id, known.key, known.sum, known.vector, items.script, items.first"
    " FROM json_each(?) AS wanted"
    " CROSS JOIN items ON items.chunk = wanted.value"
    " CROSS JOIN embedding_cache AS known ON known.set_id = ? AND known.key = items.key"
)

_LONG = (
    "SELECT known.id, known.key, known.sum, known.vector FROM embedding_cache AS known NOT INDEXED"  # noqa: S608 (fixed text)
    f" WHERE known.id BETWEEN ? AND ? AND known.set_id = ? AND length(known.vector) = ? AND {OF_ITEMS_ALONE}"
)
SHORTENED_AT_ONCE = 4_096
"""Vectors of an earlier version that one transaction looks at; about a tenth of a second."""


def missing(connection: Database, vector_set: VectorSet, *, limit: int) -> dict[bytes, str]:
    """Return up to `limit` texts of items without a vector by key, in the order of their chunks."""
    columns = f"items.key, items.first, items.last, {_files.CHUNK}"
    statement = (
        f"SELECT {columns} FROM items CROSS JOIN chunks ON chunks.id = items.chunk"  # noqa: S608 (fixed text)
        f" WHERE items.chunk > :complete AND {_WAITING} ORDER BY items.chunk, items.first"
    )
    texts: dict[bytes, str] = {}
    rows = connection.execute(statement, {"complete": _complete(connection, vector_set), "set": vector_set.id})
    for key, first, last, *passage in cast("Iterable[tuple[Any, ...]]", rows):
        if len(texts) >= limit:
            break
        if key not in texts:
            texts[key] = _files.make_chunk(*passage).contextual_item(Item(first, last))
    return texts


def count_waiting(connection: Database, vector_set: VectorSet) -> tuple[int, int]:
    """Return the number of items that wait for a vector, and of chunks that have such items but wait for no own."""
    statement = (
        f"SELECT count(*), count(DISTINCT iif({WAITING}, NULL, items.chunk))"  # noqa: S608 (fixed text)
        f" FROM items CROSS JOIN chunks ON chunks.id = items.chunk WHERE items.chunk > :complete AND {_WAITING}"
    )
    values = {"complete": _complete(connection, vector_set), "set": vector_set.id}
    return cast("tuple[int, int]", connection.execute(statement, values).get)


def note_complete(connection: Database, vector_set: VectorSet) -> None:
    """Record up to which chunk no item waits for a vector, so that only later chunks are looked at.

    A chunk never changes, new ones have higher ids, and a vector in use is never evicted. Expects an open transaction.
    """
    set_counter(connection, f"items:{vector_set.id}", _find_complete(connection, vector_set))


def is_complete_noted(connection: Database, vector_set: VectorSet) -> bool:
    """Return whether `note_complete` has nothing to record."""
    return _find_complete(connection, vector_set) == _complete(connection, vector_set)


def _find_complete(connection: Database, vector_set: VectorSet) -> int:
    """Return a chunk up to which no item waits for a vector."""
    complete = _complete(connection, vector_set)
    statement = f"SELECT chunk FROM items WHERE chunk > :complete AND {_WAITING} ORDER BY chunk LIMIT 1"  # noqa: S608 (fixed text)
    first = connection.execute(statement, {"complete": complete, "set": vector_set.id}).get
    return max(complete, _files.newest_id(connection) if first is None else int(first) - 1)


def _complete(connection: Database, vector_set: VectorSet) -> int:
    return counter(connection, f"items:{vector_set.id}")


def vectors_of_chunks(
    connection: Database, vector_set: VectorSet, ids: Sequence[int]
) -> tuple[list[int], list[int], list[str], NDArray[np.float32]]:
    """Return the vectors of the items of chunks: (n chunk ids, n first lines, n scripts, (n, dims)).

    Raises:
        BrokenVectors: some vectors do not match their checksums.
    """
    import numpy as np

    cursor = connection.execute(_VECTORS, (_files.id_list(ids), vector_set.id))
    rows = cast("list[tuple[int, int, bytes, int | None, bytes, str, int]]", cursor.fetchall())
    if not rows:
        return [], [], [], np.empty((0, vector_set.dimensions), dtype=np.float32)
    chunks, vector_ids, keys, sums, blobs, scripts, lines = zip(*rows, strict=True)
    return list(chunks), list(lines), list(scripts), verify(vector_ids, keys, sums, blobs, vector_set)


def shorten_next(connection: Database) -> bool:
    """Shorten the next vectors that an earlier version stored, and return whether more wait.

    Expects an open transaction. Damaged vectors stay as they are.
    """
    last = counter(connection, LONG_ITEMS)
    if last <= 0:
        return False
    first = max(0, last - SHORTENED_AT_ONCE) + 1
    for set_id, dimensions in connection.execute("SELECT id, dimensions FROM sets").fetchall():
        size = full_bytes(dimensions)
        if size == short_bytes(dimensions):
            continue
        rows = cast(
            "list[tuple[int, bytes, int | None, bytes]]",
            connection.execute(_LONG, (first, last, set_id, size)).fetchall(),
        )
        decoded = decode([row[1] for row in rows], [row[3] for row in rows], dimensions)
        sound = [place for place, row in enumerate(rows) if row[2] in {None, decoded.sums[place]}]
        if sound:
            blobs = shorten(decoded.rows[sound])
            sums = vector_sums([rows[place][1] for place in sound], blobs)
            connection.executemany(
                "UPDATE embedding_cache SET vector = ?, sum = ? WHERE id = ?",
                ((bytes(blob), total, rows[place][0]) for place, blob, total in zip(sound, blobs, sums, strict=True)),
            )
    set_counter(connection, LONG_ITEMS, first - 1)
    return first > 1
