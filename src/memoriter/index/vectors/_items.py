"""The vectors of items, which the ranking compares with a query after the engines have proposed chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from memoriter.index.files import _files
from memoriter.index.store._connection import counter, set_counter
from memoriter.index.vectors._cache import WAITING
from memoriter.index.vectors._stored_vectors import decode
from memoriter.types import Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index.store._connection import Database
    from memoriter.index.vectors._cache import VectorSet

_WAITING = WAITING.replace("chunks.key", "items.key")
_VECTORS = (
    "SELECT items.chunk, known.vector, items.script, items.first"
    " FROM json_each(?) AS wanted"
    " CROSS JOIN items ON items.chunk = wanted.value"
    " CROSS JOIN embedding_cache AS known ON known.set_id = ? AND known.key = items.key"
)


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
    """Return the vectors of the items of chunks: (n chunk ids, n first lines, n scripts, (n, dims))."""
    import numpy as np

    cursor = connection.execute(_VECTORS, (_files.id_list(ids), vector_set.id))
    rows = cast("list[tuple[int, bytes, str, int]]", cursor.fetchall())
    if not rows:
        return [], [], [], np.empty((0, vector_set.dimensions), dtype=np.float32)
    chunks, blobs, scripts, lines = zip(*rows, strict=True)
    return list(chunks), list(lines), list(scripts), decode(blobs, vector_set.dimensions)
