"""The store for the settings of memoriter, and the memories of its schema: what they hold, and how one is deleted."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING, Any

from memoriter.config import expand
from memoriter.environment import host_name
from memoriter.errors import IndexBusy, IndexUnavailable, UsageError
from memoriter.extensions.postgres._rights import DOING, Right
from memoriter.extensions.postgres._schema import IS_MEMBER, partitions
from memoriter.extensions.postgres._server import Server, ServerSettings
from memoriter.extensions.postgres._store import InspectedStore, PostgresStore
from memoriter.extensions.postgres.settings import KEY, PostgresSettings
from memoriter.records import StoredIndex
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.extensions.postgres._connections import Connection
    from memoriter.store import Store
    from memoriter.store_setup import StorePlace


@dataclass(frozen=True, slots=True)
class PostgresDriver:
    """Keeps the index on the server of the settings."""

    place: StorePlace

    def __call__(self, *, inspect: bool) -> Store:
        open_it = InspectedStore.inspect if inspect else PostgresStore.open
        store = open_it(self._server, self._space, clock=self.place.env.wall)
        if isinstance(store, PostgresStore):
            vector = self.place.settings.store.vector
            store.may_use_graphs = vector.enabled and vector.engine != "exact"
        return store

    def runs_in_background(self) -> bool:
        """Return whether a process holds `PostgresStore.background_lease` of the space. Nothing is created."""
        with closing(Server(self._server)) as server:
            return Right(server, self._space, "background", "").is_taken()

    def list_stored(self) -> list[StoredIndex]:
        """Return the memories of the server that its user may read."""
        return list_spaces(self._server)

    def drop_stored(self, name: str) -> None:
        drop_space(self._server, name)

    @property
    def _settings(self) -> PostgresSettings:
        return self.place.configuration.extension(KEY, PostgresSettings, agent=self.place.agent)

    @property
    def _server(self) -> ServerSettings:
        given = self._settings
        environ = self.place.env.environ
        return ServerSettings(
            dsn=expand(given.dsn or "", environ),
            service=given.service or "",
            password=expand(given.password or "", environ),
            schema=given.schema,
            role=given.role or "",
            pool_size=given.pool_size,
            statement_timeout_ms=given.statement_timeout_ms,
        )

    @property
    def _space(self) -> str:
        name = self._settings.workspace or f"{host_name()}:{self.place.workspace}"
        return f"{name}/{self.place.agent}"


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
    with closing(Server(settings)) as server:
        if not server.prepare(create=False):
            return []
        with server.connection() as connection:
            rows = connection.execute(
                f"SELECT id, name, pg_get_userbyid(owner), edition, epoch FROM spaces WHERE edition > 0"  # noqa: S608 (fixed text)
                f" AND {IS_MEMBER} ORDER BY name"
            ).fetchall()
            return [_listed(connection, row) for row in rows]


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
    with closing(Server(settings)) as server:
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
                rights.enter_context(Right(server, name, kind, "Wait until it is done, or stop it.").hold(0.0))
            _drop(server, name)


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
