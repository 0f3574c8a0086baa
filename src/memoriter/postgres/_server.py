"""Connections to a PostgreSQL server: the pool, the schema, and errors of the server as errors of the index."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from memoriter.environment import host_name, program_name
from memoriter.errors import IndexBusy, IndexDamaged, IndexUnavailable, sentence
from memoriter.extras import require
from memoriter.postgres._schema import VERSION, shared_statements
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Generator

    import psycopg
    from psycopg_pool import ConnectionPool

    Connection = psycopg.Connection[tuple[Any, ...]]

OLDEST_SERVER = 150_000
"""PostgreSQL 15."""
OLDEST_VECTOR = (0, 8)
"""The version of pgvector from which a filtered search goes on until it has found enough."""
CONNECT_SECONDS = 5
"""Seconds to wait for the server at each connection."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the store is."""

    dsn: str = field(default="", repr=False)
    """A connection string of libpq or an address; empty: its environment variables and defaults."""
    service: str = ""
    """The name of a service of libpq's service file."""
    password: str = field(default="", repr=False)
    """The password of the user; empty: the one of `dsn`, of libpq's environment variables or of its password file."""
    schema: str = "memoriter"
    pool_size: int = 4
    """The most connections for reading and writing; a right to index needs one more."""
    statement_timeout_ms: int = 30_000


class Server:
    """A schema on a server."""

    def __init__(self, settings: ServerSettings) -> None:
        """Name a server; nothing is connected yet."""
        self.settings = settings
        self._pool: ConnectionPool[Connection] | None = None
        self.vector_type = ""
        """The type `vector` with its schema, once `prepare` has run."""
        self.is_replica = False
        """Whether it is a standby server, which can only be read; known once `prepare` has run."""

    @property
    def name(self) -> str:
        """The server and the schema for messages, without user and password."""
        from psycopg.conninfo import conninfo_to_dict

        parts = conninfo_to_dict(self._conninfo)
        place = str(parts.get("host") or parts.get("service") or os.environ.get("PGHOST") or "local")
        database = parts.get("dbname") or os.environ.get("PGDATABASE") or "postgres"
        return f"{place}/{database}:{self.settings.schema}"

    @property
    def _conninfo(self) -> str:
        import psycopg
        from psycopg.conninfo import make_conninfo

        given: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "client_encoding": "UTF8"}
        if self.settings.service:
            given["service"] = self.settings.service
        if self.settings.password:
            given["password"] = self.settings.password
        given["application_name"] = f"memoriter {program_name()} {host_name()} {os.getpid()}"[:63]
        try:
            return make_conninfo(self.settings.dsn, **given)
        except psycopg.ProgrammingError as error:
            message = f"memorySearch.store.postgres.dsn is not a connection string: {sentence(error)}"
            raise IndexUnavailable(message, remedy="See docs/postgres.md for examples.") from None

    def connect(self) -> Connection:
        """Return a new connection outside the pool. Raises IndexUnavailable."""
        import psycopg

        with self.translating():
            connection = psycopg.connect(self._conninfo, autocommit=True)
            self._configure(connection)
            return connection

    def _configure(self, connection: Connection) -> None:
        path = f'"{self.settings.schema}", public'
        connection.execute("SELECT set_config('search_path', %s, false)", (path,))
        connection.execute(
            "SELECT set_config('statement_timeout', %s, false)", (str(self.settings.statement_timeout_ms),)
        )
        connection.execute("SELECT set_config('jit', 'off', false)")
        if self.vector_type:
            from pgvector.psycopg import register_vector

            register_vector(connection)

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """Lend a connection of the pool, in autocommit mode. Raises IndexUnavailable."""
        with self.translating():
            if self._pool is None:
                require("postgres", "memorySearch.store.driver postgres")
                from psycopg_pool import ConnectionPool

                self._pool = ConnectionPool(
                    self._conninfo,
                    min_size=0,
                    max_size=self.settings.pool_size,
                    kwargs={"autocommit": True},
                    configure=self._configure,
                    check=ConnectionPool.check_connection,
                    timeout=CONNECT_SECONDS,
                    open=True,
                )
            with self._pool.connection() as connection:
                yield connection

    def close(self) -> None:
        """Close all connections of the pool."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def prepare(self, *, create: bool) -> bool:
        """Check the server and its schema, and return whether the schema exists; `create` makes it on a primary server.

        Raises:
            IndexUnavailable: the server, its version, pgvector or a right is missing; the remedy names the statement.
        """
        require("postgres", "memorySearch.store.driver postgres")
        with self.connect() as connection, self.translating():
            if connection.info.server_version < OLDEST_SERVER:
                found = connection.info.server_version // 10_000
                raise IndexUnavailable(
                    f"The server {self.name} is PostgreSQL {found}, which is too old.",
                    remedy="Use PostgreSQL 15 or newer.",
                )
            self.is_replica = connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
            create = create and not self.is_replica
            self.vector_type = self._vector_type(connection, create=create)
            exists = connection.execute(
                "SELECT to_regclass(format('%%I.schema_version', %s::text)) IS NOT NULL", (self.settings.schema,)
            ).fetchone() == (True,)
            if not exists and not create:
                return False
            if not exists:
                self._create(connection)
            self._check_version(connection)
            return True

    def _vector_type(self, connection: Connection, *, create: bool) -> str:
        import psycopg

        find = (
            "SELECT quote_ident(n.nspname), e.extversion FROM pg_extension e"
            " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
        )
        row = connection.execute(find).fetchone()
        statement = "CREATE EXTENSION vector;"
        if row is None and create:
            try:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
            except psycopg.Error as error:
                raise IndexUnavailable(
                    f"The database of {self.name} has no extension pgvector: {sentence(_first_line(error))}",
                    remedy=f"Install pgvector on the server, and let its administrator run: {statement}",
                ) from error
            row = connection.execute(find).fetchone()
        if row is None:
            raise IndexUnavailable(
                f"The database of {self.name} has no extension pgvector.", remedy=f"Run there: {statement}"
            )
        schema, version = cast("tuple[str, str]", row)
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VECTOR:
            raise IndexUnavailable(
                f"The database of {self.name} has pgvector {version}, which is too old.",
                remedy="Install pgvector 0.8 or newer, and run there: ALTER EXTENSION vector UPDATE;",
            )
        return f"{schema}.vector"

    def _create(self, connection: Connection) -> None:
        import psycopg

        schema = '"' + self.settings.schema.replace('"', '""') + '"'
        try:
            with connection.transaction():
                # Of two processes that come first, one waits here, and finds all tables.
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"create {schema}",))
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
                for statement in shared_statements(self.vector_type):
                    connection.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege as error:
            user = connection.info.user
            raise IndexUnavailable(
                f"The user {user!r} may not create the schema {schema} of {self.name}: {sentence(_first_line(error))}",
                remedy=f'Let an administrator run: CREATE SCHEMA {schema} AUTHORIZATION "{user}";',
            ) from error

    def _check_version(self, connection: Connection) -> None:
        row = connection.execute("SELECT max(version) FROM schema_version").fetchone()
        version = int(cast("tuple[int | None]", row)[0] or 0)
        if version > VERSION:
            raise IndexUnavailable(
                f"The schema of {self.name} has version {version}; this memoriter knows versions up to {VERSION}.",
                remedy="Update memoriter: pip install --upgrade memoriter.",
            )

    @contextmanager
    def translating(self) -> Generator[None]:
        """Turn errors of the server into `IndexBusy`, `IndexDamaged` or `IndexUnavailable`, each with a remedy."""
        import psycopg
        from psycopg_pool import PoolTimeout

        try:
            yield
        except PoolTimeout as error:
            raise IndexBusy(
                f"No connection to {self.name} was free or could be made within {CONNECT_SECONDS} s.",
                remedy="Check that the server runs, or raise memorySearch.store.postgres.poolSize.",
            ) from error
        except psycopg.errors.QueryCanceled as error:
            seconds = self.settings.statement_timeout_ms / 1000
            raise IndexUnavailable(
                f"A statement on {self.name} took longer than {seconds:g} s.",
                remedy="Try again, or raise memorySearch.store.postgres.statementTimeoutMs.",
            ) from error
        except psycopg.errors.DiskFull as error:
            raise IndexUnavailable(
                f"The disk of {self.name} is full.", remedy="Free some disk space; nothing that was finished is lost."
            ) from error
        except psycopg.errors.ReadOnlySqlTransaction as error:
            raise IndexUnavailable(
                f"{self.name} can only be read; it may be a replica.", remedy="Name the primary server in the dsn."
            ) from error
        except (
            psycopg.errors.UndefinedTable,
            psycopg.errors.UndefinedColumn,
            psycopg.errors.InvalidSchemaName,
        ) as error:
            raise IndexDamaged(
                f"The tables of {self.name} are not those of memoriter: {sentence(_first_line(error))}",
                remedy="Run `memoriter index --force`.",
            ) from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise IndexUnavailable(
                f"The server of {self.name} does not answer: {sentence(_first_line(error))}",
                remedy="Check that it runs and that memorySearch.store.postgres names it.",
            ) from error
        except psycopg.Error as error:
            raise IndexUnavailable(
                f"{self.name} refused a statement: {sentence(_first_line(error))}", remedy="Run `memoriter doctor`."
            ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
