"""What is stored of vectors, by model and key, as another store takes it over."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memoriter.extensions.postgres._vectors import decode
from memoriter.ids import spec_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.postgres._files import Place
    from memoriter.extensions.postgres._server import Connection
    from memoriter.extensions.postgres._vectors import VectorSet
    from memoriter.types import ModelSpec

_OF_SET = "space = %s AND edition = %s AND set = %s"


def models(connection: Connection, place: Place) -> dict[ModelSpec, int]:
    """Return the models that have vectors or refused texts, with the number of their vectors."""
    of_set = "of.space = sets.space AND of.edition = sets.edition AND of.set = sets.id"
    statement = (
        "SELECT spec::text, vectors FROM (SELECT sets.id, sets.spec,"  # noqa: S608 (fixed text)
        f" (SELECT count(*) FROM vectors AS of WHERE {of_set}) AS vectors,"
        f" EXISTS (SELECT 1 FROM failures AS of WHERE {of_set}) AS refused"
        " FROM sets WHERE space = %s AND edition = %s) AS counted WHERE vectors > 0 OR refused ORDER BY id"
    )
    rows = cast("Iterable[tuple[str, int]]", connection.execute(statement.encode(), place))
    return {spec_of(spec): vectors for spec, vectors in rows}


def stored(
    connection: Connection, vectors: VectorSet, after: bytes, limit: int
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Return up to `limit` vectors by ascending key, those after a key: (n keys, (n, dims))."""
    statement = (
        f"SELECT key, coalesce(short, vector_send(vector)) FROM vectors WHERE {_OF_SET} AND key > %s"  # noqa: S608 (fixed text)
        " ORDER BY key LIMIT %s"
    )
    rows = connection.execute(statement.encode(), (*vectors.key, after, limit), binary=True).fetchall()
    return [bytes(key) for key, _ in rows], decode([blob for _, blob in rows], vectors.dimensions)


def having(connection: Connection, vectors: VectorSet, keys: Collection[bytes]) -> set[bytes]:
    """Return those of the keys that have a vector."""
    statement = f"SELECT key FROM vectors WHERE {_OF_SET} AND key = ANY(%s)"  # noqa: S608 (fixed text)
    return {bytes(key) for (key,) in connection.execute(statement.encode(), (*vectors.key, list(keys)))}


def refused(connection: Connection, vectors: VectorSet) -> dict[bytes, str]:
    """Return why the model refused texts, by key."""
    statement = f"SELECT key, message FROM failures WHERE {_OF_SET} ORDER BY key"  # noqa: S608 (fixed text)
    return {bytes(key): str(message) for key, message in connection.execute(statement.encode(), vectors.key)}
