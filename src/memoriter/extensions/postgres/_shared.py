"""Vectors that other memories of the same owner have, so that a text is embedded once for a whole team.

Only memories that belong to the same role are looked at, and the server itself gives no rows of those that the user may
not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.extensions.postgres._vectors import VectorSet, decode, fit_to_chunks, literal_place
from memoriter.ids import fingerprint
from memoriter.short_vectors import shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoriter.extensions.postgres._server import Connection
    from memoriter.types import ModelSpec

MOST_MEMORIES = 32
"""Other memories that are looked at: those that were indexed last."""
LOCK_MILLISECONDS = 1_000
"""How long a memory that is being compacted may delay the indexing of another one."""


def other_sets(connection: Connection, spec: ModelSpec | None, space: int, role: str) -> list[VectorSet]:
    """Return the vectors of a model in other memories of the same owner, those first that were indexed last.

    A memory that does not exist yet has the number 0; `role` would own it then, or the user if that is empty.
    """
    if spec is None:
        return []
    new_owner = "to_regrole(quote_ident(coalesce(nullif(%s, ''), session_user)))"
    owner = f"coalesce((SELECT owner FROM spaces WHERE id = %s), {new_owner})"  # noqa: S608 (fixed text)
    others = connection.execute(
        f"SELECT id, edition FROM spaces WHERE owner = {owner} AND id <> %s AND edition > 0"  # noqa: S608 (fixed text)
        " ORDER BY epoch DESC, id DESC LIMIT %s",
        (space, role, space, MOST_MEMORIES),
    ).fetchall()
    if not others:
        return []
    spaces, editions = ([int(row[column]) for row in others] for column in (0, 1))
    statement = (
        "SELECT sets.space, sets.edition, sets.id, sets.dimensions FROM sets"
        " JOIN unnest(%s::integer[], %s::bigint[]) WITH ORDINALITY AS others(space, edition, place)"
        " ON others.space = sets.space AND others.edition = sets.edition"
        # The server then looks at the partitions of these memories alone.
        " WHERE sets.space = ANY(%s) AND sets.fingerprint = %s AND sets.dimensions = %s ORDER BY others.place"
    )
    values = (spaces, editions, spaces, fingerprint(spec), spec.dimensions)
    rows = _rows_unless_locked(connection, statement, values)
    return [VectorSet(*map(int, row)) for row in rows]


def held(connection: Connection, others: Sequence[VectorSet], keys: Collection[bytes]) -> set[bytes]:
    """Return those of the keys that have a vector in one of the sets; none while one of them is being compacted."""
    if not others or not keys:
        return set()
    statement = f"SELECT DISTINCT key FROM ({_rows_of(others)}) AS found"  # noqa: S608 (fixed text and numbers)
    rows = _rows_unless_locked(connection, statement, [list(keys)] * len(others))
    return {bytes(key) for (key,) in rows}


def take(
    connection: Connection, vectors: VectorSet, others: Sequence[VectorSet], keys: Collection[bytes], *, now: float
) -> set[bytes]:
    """Copy the vectors of keys that chunks or items refer to, in the form in which they are kept; return those keys.

    The connection is in a transaction. Of several sets that have a vector, the first one is preferred.
    """
    if not others or not keys:
        return set()
    place = vectors.key[:2]
    referred = " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE space = %s AND edition = %s AND key = found.key)"  # noqa: S608 (fixed text)
        for table in ("chunks", "items")
    )
    statement = (
        "INSERT INTO vectors(space, edition, set, key, used_at, vector, short)"  # noqa: S608 (fixed text and numbers)
        " SELECT DISTINCT ON (found.key) %s::integer, %s::bigint, %s::integer, found.key, %s::double precision,"
        f" found.vector, found.short FROM ({_rows_of(others)}) AS found WHERE {referred}"
        " ORDER BY found.key, found.vector IS NULL, found.place ON CONFLICT DO NOTHING RETURNING key"
    )
    values = (*vectors.key, now, *([list(keys)] * len(others)), *place, *place)
    taken = {bytes(key) for (key,) in _rows_unless_locked(connection, statement, values)}
    if not taken:
        return taken
    of_chunks = "SELECT DISTINCT key FROM chunks WHERE space = %s AND edition = %s AND key = ANY(%s)"
    in_chunks = {bytes(key) for (key,) in connection.execute(of_chunks, (*place, list(taken)))}
    fit_to_chunks(connection, *place, in_chunks)
    _shorten(connection, vectors, taken - in_chunks)
    return taken


def _rows_of(others: Sequence[VectorSet]) -> str:
    """Return a query for the vectors of keys in sets; each set takes the keys as a value."""
    return " UNION ALL ".join(
        f"SELECT {place} AS place, key, vector, short FROM vectors AS known"  # noqa: S608 (fixed text and numbers)
        f" WHERE {literal_place(other)} AND known.key = ANY(%s::bytea[])"
        for place, other in enumerate(others)
    )


def _shorten(connection: Connection, vectors: VectorSet, keys: Collection[bytes]) -> None:
    """Give vectors that only items have the short form."""
    import numpy as np

    place = "space = %s AND edition = %s AND set = %s"
    statement = f"SELECT key, vector_send(vector) FROM vectors WHERE {place} AND key = ANY(%s) AND vector IS NOT NULL"  # noqa: S608 (fixed text)
    rows = connection.execute(statement.encode(), (*vectors.key, list(keys)), binary=True).fetchall()
    if not rows:
        return
    blobs = shorten(np.ascontiguousarray(decode([blob for _, blob in rows], vectors.dimensions)))
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE vectors SET vector = NULL, short = %b WHERE {place} AND key = %s".encode(),  # noqa: S608 (fixed text)
            [(bytes(blob), *vectors.key, key) for (key, _), blob in zip(rows, blobs, strict=True)],
        )


def _rows_unless_locked(connection: Connection, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a statement; none if a table stays locked, as one that is being compacted does."""
    import psycopg

    try:
        with connection.transaction():
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (str(LOCK_MILLISECONDS),))
            rows = connection.execute(statement.encode(), values).fetchall()
            connection.execute("SELECT set_config('lock_timeout', '0', true)")
            return rows
    except psycopg.errors.LockNotAvailable:
        return []
