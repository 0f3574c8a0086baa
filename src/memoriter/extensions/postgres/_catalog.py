"""The memories of a schema: what they hold, and how one is deleted."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

from memoriter.errors import IndexBusy, IndexUnavailable, UsageError
from memoriter.extensions.postgres._rights import DOING, right_of
from memoriter.extensions.postgres._schema import partitions
from memoriter.extensions.postgres._server import Server
from memoriter.extensions.postgres._tenants import IS_MEMBER
from memoriter.records import StoredIndex

if TYPE_CHECKING:
    from memoriter.extensions.postgres._server import Connection
    from memoriter.extensions.postgres._settings import ServerSettings

READING_MILLISECONDS = 1_000
"""How long a memory that is being compacted may delay the list."""
LOCK_MILLISECONDS = 500
"""How long searches of other memories may delay one try; less than the second after which the server ends a statement.

Deleting tables locks those of all memories for a moment.
"""
TRIES = 20


def list_spaces(settings: ServerSettings) -> list[StoredIndex]:
    """Return the memories that the user may read, by name. Nothing is created.

    Raises:
        IndexUnavailable: the server does not answer, or something is missing there.
        MissingPackage: the extra `postgres` is not installed.
    """
    server = Server(settings)
    try:
        if not server.prepare(create=False):
            return []
        with server.connection() as connection:
            rows = connection.execute(
                f"SELECT id, name, pg_get_userbyid(owner), edition, epoch FROM spaces WHERE edition > 0"  # noqa: S608 (fixed text)
                f" AND {IS_MEMBER} ORDER BY name"
            ).fetchall()
            return [_listed(connection, row) for row in rows]
    finally:
        server.close()


def _listed(connection: Connection, row: tuple[Any, ...]) -> StoredIndex:
    import psycopg

    space, name, owner, edition, epoch = row
    passages = vectors = size = None
    here = f"space = {space} AND edition = {edition}"
    statement = (
        f"SELECT (SELECT coalesce(sum(chunks), 0) FROM files WHERE {here})::bigint,"  # noqa: S608 (fixed text and numbers)
        f" (SELECT count(*) FROM vectors WHERE {here}),"
        " (SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name)::bigint"
    )
    with suppress(psycopg.errors.LockNotAvailable), connection.transaction():
        connection.execute("SELECT set_config('lock_timeout', %s, true)", (str(READING_MILLISECONDS),))
        ((passages, vectors, size),) = connection.execute(statement.encode(), (partitions(space),)).fetchall()
    return StoredIndex(name, owner, passages, vectors, size, epoch / 1e6 if epoch else None)


def drop_space(settings: ServerSettings, name: str) -> None:
    """Delete a memory with its tables, in one transaction. Notes are not touched.

    Raises:
        IndexBusy: another process uses the memory, or searches of others left no moment to delete its tables.
        IndexUnavailable: the server does not answer, or it is a replica.
        UsageError: there is no such memory that the user may delete.
    """
    server = Server(settings)
    try:
        if not server.prepare(create=False) or not _may_drop(server, name):
            raise UsageError(
                f"{server.name} has no memory {name!r} that you may delete.",
                remedy="Run `memoriter store list` for the names, or ask a member of the role that owns it.",
            )
        if server.is_replica:
            raise IndexUnavailable(
                f"{server.name} is a replica, which can only be read.",
                remedy="Name the primary server in memorySearch.store.postgres.",
            )
        with ExitStack() as rights:
            for kind in DOING:
                right = right_of(server, name, kind, "Wait until it is done, or stop it.")
                rights.enter_context(right.hold(0.0))
            _drop(server, name)
    finally:
        server.close()


def _may_drop(server: Server, name: str) -> bool:
    statement = f"SELECT 1 FROM spaces WHERE name = %s AND {IS_MEMBER}"  # noqa: S608 (fixed text)
    with server.connection() as connection:
        return connection.execute(statement, (name,)).fetchone() is not None


def _drop(server: Server, name: str) -> None:
    import psycopg

    for attempt in range(TRIES):
        if attempt:
            time.sleep(0.1)
        try:
            with server.connection() as connection, connection.transaction():
                connection.execute("SELECT set_config('lock_timeout', %s, true)", (str(LOCK_MILLISECONDS),))
                connection.execute(
                    "DELETE FROM editions WHERE space = (SELECT id FROM spaces WHERE name = %s)", (name,)
                )
                connection.execute("SELECT drop_space(%s)", (name,))
        except IndexUnavailable as error:
            if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected):
                raise
        else:
            return
    raise IndexBusy(
        f"Other processes searched {server.name} all the time, so the tables of {name!r} could not be deleted.",
        remedy="Run the command again. Nothing was deleted.",
    )
