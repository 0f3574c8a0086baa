"""What is stored of vectors, by model and key, as another store takes it over."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memoriter.ids import spec_of
from memoriter.index.vectors._stored_vectors import decode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index.store._connection import Database
    from memoriter.index.vectors._cache import VectorSet
    from memoriter.types import ModelSpec


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
