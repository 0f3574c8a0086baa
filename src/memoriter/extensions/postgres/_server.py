"""Connections to a PostgreSQL server: the pool, the schema, and errors of the server as errors of the index."""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager
from getpass import getuser
from typing import TYPE_CHECKING, Any, cast

from memoriter.environment import host_name, program_name, variables
from memoriter.errors import IndexUnavailable, sentence
from memoriter.extensions.postgres._requirements import (
    check_creation,
    check_extension,
    check_role,
    check_sessions,
    no_extension,
    no_schema,
)
from memoriter.extensions.postgres._schema import VERSION, check_columns, quoted, restore_vectors, shared_statements
from memoriter.extensions.postgres._tenants import check_usage, enter_owner, tenant_statements
from memoriter.extensions.postgres._translation import first_line, translated
from memoriter.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from psycopg.pq.abc import PGconn

    from memoriter.extensions.postgres._connections import LimitedConnection, Pool
    from memoriter.extensions.postgres._settings import ServerSettings

    Connection = LimitedConnection

OLDEST_SERVER = 150_000
"""PostgreSQL 15."""
OLDEST_VECTOR = (0, 8)
"""The version of pgvector from which a filtered search goes on until it has found enough."""
CONNECT_SECONDS = 5
"""Seconds to wait for the server at each connection, and for a free one of the pool."""


class Server:
    """A schema on a server. Several threads may share it; a forked process gets connections of its own."""

    def __init__(self, settings: ServerSettings) -> None:
        """Name a server; nothing is connected yet. Raises MissingPackage."""
        require("postgres", "memorySearch.store.driver postgres")
        self.settings = settings
        self.lost_connections = 0
        """How often a connection broke; what was read before may have been lost on a server that took over."""
        self.vector_type = ""
        """The type `vector` with its schema, once `prepare` has run."""
        self.is_replica = False
        """Whether it can only be read, as a standby server can; known once `prepare` has run."""
        self._vector_schema = "public"
        self._types = list[tuple[str, int, int]]()
        self._pool: Pool | None = None
        self._used = "", ""
        """Host and database of the last connection; the host is empty if it is a socket in a folder."""
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The server and the schema for messages, without user and password; exact after an attempt to connect."""
        parts = self._parts()
        environ = variables()
        host, database = self._used
        place = str(parts.get("host") or host or parts.get("service") or environ.get("PGHOST") or "local")
        database = database or str(parts.get("dbname") or environ.get("PGDATABASE") or "")
        if not database and not parts.get("service"):
            database = str(parts.get("user") or environ.get("PGUSER") or getuser())
        return f"{place}/{database}:{self.settings.schema}" if database else f"{place}:{self.settings.schema}"

    def _note_place(self, connection: PGconn | None) -> None:
        """Remember host and database of a connection, which may come from the service file or the user's name."""
        if connection is not None and (database := connection.db.decode(errors="replace")):
            host = connection.host.decode(errors="replace")
            self._used = "" if host.startswith(("/", "@")) else host, database

    def _parts(self) -> dict[str, Any]:
        """Return the parameters of a connection. Raises IndexUnavailable, without any part of the connection string."""
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        from memoriter.extensions.postgres._connections import ALIVE

        given: dict[str, Any] = {"client_encoding": "UTF8"}
        if self.settings.service:
            given["service"] = self.settings.service
        if self.settings.password:
            given["password"] = self.settings.password
        given["application_name"] = f"memoriter {program_name()} {host_name()} {os.getpid()}"[:63]
        if self.settings.dsn and self.settings.service:
            raise IndexUnavailable(
                "The settings memorySearch.store.postgres.dsn and memorySearch.store.postgres.service are both set.",
                remedy="Remove one of them; a dsn can name a service, too: service=NAME dbname=DATABASE.",
            )
        if _has_stray_at_sign(self.settings.dsn):
            raise IndexUnavailable(
                "The address in memorySearch.store.postgres.dsn is not valid: it has an @ where none is allowed.",
                remedy="Write special characters of user and password as %40 (@), %2F (/), %3A (:) or %3F (?).",
            )
        try:
            return {**ALIVE, **conninfo_to_dict(self.settings.dsn, **given)}
        except psycopg.ProgrammingError:  # its message quotes parts of the string, even of a password
            raise IndexUnavailable(
                "The value of memorySearch.store.postgres.dsn is not a connection string.",
                remedy="Write postgresql://USER@HOST:PORT/DATABASE, or host=HOST dbname=DATABASE user=USER.",
            ) from None

    @property
    def _conninfo(self) -> str:
        from psycopg.conninfo import make_conninfo

        return make_conninfo("", **{"connect_timeout": CONNECT_SECONDS, **self._parts()})

    def connect(self) -> Connection:
        """Return a new connection outside the pool. Raises IndexUnavailable."""
        from memoriter.extensions.postgres._connections import connect, seconds_left

        with self.translating():
            hosts = str(self._parts().get("host", "")).count(",") + 1
            connection = connect(self._conninfo, seconds=seconds_left(CONNECT_SECONDS * hosts) / hosts)
            self._configure(connection)
            return connection

    def _configure(self, connection: LimitedConnection) -> None:
        from memoriter.extensions.postgres._connections import SESSION, SLACK_SECONDS

        self._note_place(connection.pgconn)
        timeout = self.settings.statement_timeout_ms
        names = ", ".join(quoted(name) for name in dict.fromkeys((self.settings.schema, self._vector_schema)))
        values = {**SESSION, "search_path": names, "statement_timeout": str(timeout)}
        connection.execute(
            "SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS given(name, value)"
            # Older servers lack a setting; only some systems can notice that a client has gone while a statement runs.
            " WHERE current_setting(name, true) IS NOT NULL"
            " AND (name <> 'client_connection_check_interval' OR version() !~* 'mingw|visual')",
            (list(values), list(values.values())),
        )
        connection.limit = timeout / 1000 + SLACK_SECONDS
        _register(connection, self._types)
        connection.knows_vectors = bool(self._types)

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """Lend a connection of the pool, in autocommit mode. Raises IndexUnavailable."""
        from memoriter.extensions.postgres._connections import seconds_left

        with self.translating():
            pool = self._open_pool()
            connection = pool.take(seconds_left(CONNECT_SECONDS))
            try:
                if self._types and not connection.knows_vectors:  # the pool opened it before the types were found
                    self._configure(connection)
                yield connection
            finally:
                pool.give_back(connection)

    def _open_pool(self) -> Pool:
        from memoriter.extensions.postgres._connections import Pool

        with self._lock:
            if self._pool is not None and self._pool.inherited:
                self._pool.close()
                self._pool = None
            if self._pool is None:
                self._pool = Pool(self._conninfo, self._configure, self._count_lost, size=self.settings.pool_size)
            return self._pool

    def _count_lost(self) -> None:
        self.lost_connections += 1

    @contextmanager
    def unlimited(self, connection: Connection) -> Generator[None]:
        """Let statements of a connection take as long as they need, as those on whole tables do."""
        limit = connection.limit
        connection.limit = None
        try:
            connection.execute("SELECT set_config('statement_timeout', '0', false)")
            yield
        finally:
            connection.limit = limit
            if not connection.closed and connection.info.transaction_status.name in {"IDLE", "INTRANS"}:
                timeout = str(self.settings.statement_timeout_ms)
                connection.execute("SELECT set_config('statement_timeout', %s, false)", (timeout,))

    def close(self) -> None:
        """Close all connections of the pool."""
        pool = self._pool
        self._pool = None
        if pool is not None:
            pool.close()

    def prepare(self, *, create: bool) -> bool:
        """Check the server and its schema, and return whether the schema exists; `create` makes it on a primary server.

        Raises IndexUnavailable: the server, its version, pgvector or a right is missing; the remedy names the
        statement.
        """
        with self.connection() as connection:
            if connection.info.server_version < OLDEST_SERVER:
                found = connection.info.server_version // 10_000
                raise IndexUnavailable(
                    f"The server {self.name} is PostgreSQL {found}, which is too old.",
                    remedy="Use PostgreSQL 15 or newer.",
                )
            # A standby server is read-only, and so is a role or a database that an administrator forbids to write.
            read_only, process = connection.execute(
                "SELECT current_setting('transaction_read_only') = 'on', pg_backend_pid()"
            ).fetchall()[0]
            if process != connection.info.backend_pid:
                check_sessions(connection, self.connect, self.name)
            if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
                raise IndexUnavailable(
                    f"The database of {self.name} has the encoding {encoding}, which cannot hold every text.",
                    remedy="Let an administrator run `CREATE DATABASE memoriter TEMPLATE template0 ENCODING 'UTF8';`,"
                    " and name that database in memorySearch.store.postgres.dsn.",
                )
            self.is_replica = read_only
            create = create and not self.is_replica
            check_usage(connection, self.settings.schema, self.name)
            exists = connection.execute(
                "SELECT to_regclass(format('%%I.schema_version', %s::text)) IS NOT NULL", (self.settings.schema,)
            ).fetchone() == (True,)
            if not exists and not create:
                return False
            self._find_vectors(connection, create=create)
            if not exists:
                self._create(connection)  # a schema without tables is completed, too
            self._check_version(connection)
            return True

    def _check_version(self, connection: LimitedConnection) -> None:
        """Raise IndexUnavailable if the schema is that of another version of memoriter."""
        ((version,),) = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchall()
        if version > VERSION:
            raise IndexUnavailable(
                f"The schema of {self.name} has version {version}; the newest that is supported is {VERSION}.",
                remedy="Update memoriter.",
            )
        if version < VERSION:
            raise IndexUnavailable(
                f"The schema of {self.name} has version {version}; version {VERSION} is needed.",
                remedy="Name another schema in memorySearch.store.postgres.schema, and run `memoriter index`.",
            )

    def check_creation(self) -> None:
        """Raise IndexUnavailable if `prepare` could not create what is missing; nothing is created."""
        with self.connection() as connection:
            if self.settings.role:
                check_role(connection, self.name, self.settings.role)
            if not self.is_replica:
                check_extension(connection, self.name)
                check_creation(connection, self.settings.schema, self.name)

    def repair(self) -> None:
        """Make the extension, tables and columns that are missing.

        Raises:
            IndexUnavailable: it may not, or the server does not answer.
            IndexDamaged: a table has other columns; nothing is changed.
        """
        self.close()  # a connection knows the types of the extension by numbers, which are new if it was made again
        if self.prepare(create=True):
            with self.connection() as connection:
                check_columns(connection, self.settings.schema, self.name)
                self._create(connection)

    def _find_vectors(self, connection: LimitedConnection, *, create: bool) -> None:
        import psycopg

        find = (
            "SELECT n.nspname, e.extversion FROM pg_extension e"
            " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
        )
        row = connection.execute(find).fetchone()
        if row is None and create:
            try:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
            except psycopg.Error as error:
                installed = isinstance(error, psycopg.errors.InsufficientPrivilege)
                raise no_extension(self.name, installed=installed, reason=sentence(first_line(error))) from error
            row = connection.execute(find).fetchone()
        if row is None:
            raise no_extension(self.name, installed=True)
        schema, version = cast("tuple[str, str]", row)
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VECTOR:
            raise IndexUnavailable(
                f"The database of {self.name} has pgvector {version}, which is too old.",
                remedy="Install pgvector 0.8, and let an administrator run `ALTER EXTENSION vector UPDATE;` there.",
            )
        self._vector_schema = schema
        self.vector_type = f"{quoted(schema)}.vector"
        self._types = connection.execute(
            "SELECT typname, oid::bigint, typarray::bigint FROM pg_type"
            " WHERE typname = ANY('{vector,halfvec,sparsevec}') AND typnamespace = %s::regnamespace"
            " OR typname = 'bit' AND typnamespace = 'pg_catalog'::regnamespace",
            (quoted(schema),),
        ).fetchall()
        self._configure(connection)

    def _create(self, connection: Connection) -> None:
        import psycopg

        schema = quoted(self.settings.schema)
        try:
            with connection.transaction():
                # Of two processes that come first, one waits here, and finds all tables.
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"create {schema}",))
                # IF NOT EXISTS demands the right to create schemas even for one that is there.
                if connection.execute("SELECT to_regnamespace(%s) IS NULL", (schema,)).fetchone() == (True,):
                    connection.execute(f"CREATE SCHEMA {schema}".encode())
                enter_owner(connection)
                for statement in (*shared_statements(self.vector_type), *tenant_statements(schema)):
                    connection.execute(statement.encode())
                restore_vectors(connection, self.vector_type)
        except psycopg.errors.InsufficientPrivilege as error:
            reason = sentence(first_line(error))
            raise no_schema(connection, self.settings.schema, self.name, reason) from error

    @contextmanager
    def translating(self) -> Generator[None]:
        """Turn errors of the server into `IndexBusy`, `IndexDamaged` or `IndexUnavailable`, each with a remedy."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            self._note_place(error.pgconn)
            raise translated(error, self.name, self.settings) from error


def _has_stray_at_sign(dsn: str) -> bool:
    """Return whether an address has an @ that is not the one after user and password.

    libpq would read a part of the password as the host or the port, and quote it in its messages.
    """
    scheme, separator, rest = dsn.partition("://")
    if not separator or scheme not in {"postgres", "postgresql"}:
        return False
    authority = re.split(r"[/?]", rest, maxsplit=1)[0]
    return rest.count("@") > 1 or "@" in rest[len(authority) :]


def _register(connection: LimitedConnection, types: Iterable[tuple[str, int, int]]) -> None:
    """Let a connection convert vectors; `types` are the names and numbers of their types and arrays."""
    from pgvector.psycopg.bit import register_bit_info
    from pgvector.psycopg.halfvec import register_halfvec_info
    from pgvector.psycopg.sparsevec import register_sparsevec_info
    from pgvector.psycopg.vector import register_vector_info
    from psycopg.types import TypeInfo

    registering: dict[str, Callable[[Any, TypeInfo], None]] = {
        "bit": register_bit_info,
        "halfvec": register_halfvec_info,
        "sparsevec": register_sparsevec_info,
        "vector": register_vector_info,
    }
    for name, number, array in types:
        registering[name](connection, TypeInfo(name, number, array))
