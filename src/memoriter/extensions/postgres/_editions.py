"""Spaces and their editions: a rebuild fills a new edition, and publishes it in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.errors import IndexUnavailable, sentence
from memoriter.extensions.postgres import _vectors
from memoriter.extensions.postgres._files import Place
from memoriter.extensions.postgres._requirements import FOREIGN, find_space
from memoriter.extensions.postgres._schema import TABLES, partitions
from memoriter.extensions.postgres._server import first_line
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from memoriter.extensions.postgres._connections import Connection
    from memoriter.extensions.postgres._server import Server
    from memoriter.types import ModelSpec

COPIED = ("batch:", "background:", "forgetting")
"""The settings that a rebuild takes along, by how their names start: what was paid for or measured, or must be done."""


def enter(server: Server, name: str, *, repair: bool = False) -> int:
    """Return the number of a space; create it if it does not exist, and with `repair` its tables that are missing.

    Raises IndexUnavailable: it belongs to a role of which the user is not a member, or there is no such role.
    """
    import psycopg

    role = server.settings.role
    with server.connection() as connection:
        if server.is_replica and connection.execute("SELECT to_regclass('spaces')").fetchone() == (None,):
            raise _missing_on(server, name)
        known = find_space(connection, server.name, name, role)
        if known is not None and known.has_content and known.as_wanted and not repair:
            return known.id
        if server.is_replica:
            raise _missing_on(server, name)
        try:
            with connection.transaction():
                ((space,),) = connection.execute("SELECT open_space(%s, %s)", (name, role)).fetchall()
                ((edition,),) = connection.execute("SELECT edition FROM spaces WHERE id = %s", (space,)).fetchall()
                if not edition:
                    edition = create(connection, int(space))
                    connection.execute("UPDATE spaces SET edition = %s WHERE id = %s", (edition, space))
                return int(space)
        except psycopg.errors.InsufficientPrivilege as error:
            raise IndexUnavailable(
                f"{server.name} refuses the memory {name!r}: {sentence(first_line(error))}",
                remedy=FOREIGN,
            ) from error


def replica_notices(server: Server) -> tuple[Diagnostic, ...]:
    """Return the diagnostic of a server that can only be read."""
    if not server.is_replica:
        return ()
    message = f"{server.name} can only be read, as replicas can, so the index does not include new changes."
    return (Diagnostic("index_read_only", message, "Let a host with the primary server index the notes."),)


def _missing_on(replica: Server, name: str) -> IndexUnavailable:
    """Return the error of a space that a replica does not have, or not yet."""
    return IndexUnavailable(
        f"The replica {replica.name} has no index of {name!r}.",
        remedy="Run `memoriter index` with the primary server in memorySearch.store.postgres.dsn.",
    )


def create(connection: Connection, space: int, *, after: int = 0) -> int:
    """Create an empty edition, whose chunks get ids after those of another one."""
    row: Any = connection.execute(
        "INSERT INTO editions(space, newest) SELECT %s, coalesce((SELECT newest FROM editions WHERE id = %s), 0)"
        " RETURNING id",
        (space, after),
    ).fetchone()
    return int(row[0])


def copy_vectors(connection: Connection, place: Place, fresh: int, *, left_out: ModelSpec | None = None) -> None:
    """Copy the vectors of an edition and the settings about them to another one, except those of `left_out`."""
    active = _vectors.find_set(connection, left_out, *place) if left_out is not None else None
    connection.execute(
        "INSERT INTO sets(space, edition, id, fingerprint, dimensions, spec, created_at) OVERRIDING SYSTEM VALUE"
        " SELECT space, %s, id, fingerprint, dimensions, spec, created_at FROM sets"
        " WHERE space = %s AND edition = %s",
        (fresh, *place),
    )
    connection.execute(
        "INSERT INTO vectors(space, edition, set, key, used_at, script, vector, short)"
        " SELECT space, %s, set, key, used_at, script, vector, short FROM vectors"
        " WHERE space = %s AND edition = %s AND set <> %s",
        (fresh, *place, -1 if active is None else active.id),
    )
    connection.execute(
        "INSERT INTO meta(space, edition, key, value) SELECT space, %s, key, value FROM meta"
        " WHERE space = %s AND edition = %s AND key ^@ ANY(%s)",
        (fresh, *place, list(COPIED)),
    )


def begin_anew(server: Server, space: int) -> None:
    """Publish an empty edition with the vectors of the one that serves."""
    with server.connection() as connection, connection.transaction():
        ((edition,),) = connection.execute("SELECT edition FROM spaces WHERE id = %s FOR UPDATE", (space,)).fetchall()
        old = Place(space, int(edition))
        fresh = create(connection, space, after=old.edition)
        copy_vectors(connection, old, fresh)
        connection.execute("UPDATE spaces SET edition = %s WHERE id = %s", (fresh, space))


def drop(server: Server, place: Place) -> None:
    """Delete an edition that no reader uses any more."""
    with server.connection() as connection, server.unlimited(connection), connection.transaction():
        for table in TABLES:
            connection.execute(f"DELETE FROM {table} WHERE space = %s AND edition = %s".encode(), place)  # noqa: S608 (fixed text)
        connection.execute("DELETE FROM editions WHERE id = %s", (place.edition,))


def drop_leftovers(server: Server, space: int) -> None:
    """Delete what a rebuild that was killed has left. The caller has the right to index."""
    with server.connection() as connection:
        rows = connection.execute(
            "SELECT editions.id FROM editions JOIN spaces ON spaces.id = editions.space"
            " WHERE spaces.id = %s AND editions.id <> spaces.edition",
            (space,),
        ).fetchall()
    for (edition,) in rows:
        drop(server, Place(space, int(edition)))


def vacuum(server: Server, space: int, how: str = "") -> None:
    """Let the server reuse the room of deleted rows; `how` are options of VACUUM in parentheses."""
    with server.connection() as connection, server.unlimited(connection):
        for table in partitions(space):
            connection.execute(f"VACUUM {how} {table}".encode())


def size_on_disk(server: Server, space: int) -> int:
    """Return the bytes of the tables of a space and of their indexes."""
    statement = "SELECT sum(pg_total_relation_size(name::regclass))::bigint FROM unnest(%s::text[]) AS name"
    with server.connection() as connection:
        ((size,),) = connection.execute(statement, (partitions(space),)).fetchall()
    return int(size)


def analyze(server: Server, space: int) -> None:
    """Let the server look at the tables whose size decides how it joins them."""
    with server.connection() as connection, server.unlimited(connection):
        for table in ("chunks", "items", "vectors"):
            connection.execute(f"ANALYZE {table}_of_{space}".encode())
