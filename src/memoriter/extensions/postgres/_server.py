"""Connections to a PostgreSQL server: the pool, the schema, and errors of the server as errors of the index."""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager
from getpass import getuser
from typing import TYPE_CHECKING, Any, cast

from memoriter.environment import host_name, program_name, variables
from memoriter.errors import IndexBusy, IndexDamaged, IndexUnavailable, sentence
from memoriter.extensions.postgres._requirements import (
    check_creation,
    check_extension,
    check_role,
    check_sessions,
    check_usage,
    no_extension,
    no_schema,
)
from memoriter.extensions.postgres._schema import (
    VERSION,
    check_columns,
    enter_owner,
    quoted,
    restore_vectors,
    shared_statements,
    tenant_statements,
)
from memoriter.extras import require
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    import psycopg
    from psycopg.pq.abc import PGconn

    from memoriter.extensions.postgres._connections import Connection, Pool


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
    role: str = ""
    """The role whose members may use a space; empty: the user of the connection, or the role that owns it already."""


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

    def _configure(self, connection: Connection) -> None:
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

    def _check_version(self, connection: Connection) -> None:
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

    def _find_vectors(self, connection: Connection, *, create: bool) -> None:
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


def _register(connection: Connection, types: Iterable[tuple[str, int, int]]) -> None:
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


NO_ANSWER = (
    "Check that it runs and that memorySearch.store.postgres names it; that it accepts the user and the password, and"
    " has free connections. Then try again."
)
_DATABASE = (
    "Let an administrator run `CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8';` there, or name another"
    " database in memorySearch.store.postgres.dsn."
)
_CONNECTIONS = (
    "End other programs that use it, lower memorySearch.store.postgres.poolSize, or let an administrator raise"
    " max_connections."
)
_USER = "Correct memorySearch.store.postgres.dsn, or let an administrator create the role."
_SSL = "Correct sslmode and the certificates in memorySearch.store.postgres.dsn, or let an administrator allow SSL."
_ACCESS = "Let an administrator add a line for this host, user and database to pg_hba.conf, or name another server."
_SERVICE = "Correct the service file, or name another service in memorySearch.store.postgres.service."
REFUSALS = (
    (
        r"password authentication failed|no password supplied",
        "The server of {} does not accept the password.",
        "Set memorySearch.store.postgres.password, or correct the password file of libpq.",
    ),
    (
        r'database "(?P<name>.*)" does not exist',
        "The server of {} has no such database.",
        _DATABASE,
    ),
    (r'role ".*" does not exist', "The server of {} does not have the user.", _USER),
    (
        r"too many clients|connection slots are reserved|too many connections",
        "The server of {} has no free connection.",
        _CONNECTIONS,
    ),
    (r"pg_hba\.conf", "The server of {} does not let this host, user or database in.", _ACCESS),
    (
        r"invalid sslmode value",
        "The address of {} has an unknown sslmode.",
        "Write sslmode=verify-full, or another value of libpq, in memorySearch.store.postgres.dsn.",
    ),
    (
        r"definition of service .* not found",
        "The service file does not have the service of {}.",
        "Add it to ~/.pg_service.conf, or name another one in memorySearch.store.postgres.service.",
    ),
    (r"service file", "The service file of {} cannot be read.", _SERVICE),
    (r"SSL|certificate", "A connection to {} cannot be encrypted as the settings demand.", _SSL),
)
"""Parts of libpq's messages, each with what it means, which names the server, and the remedy. The first that fits."""
_STARTING = re.compile("starting up|shutting down|recovery mode|not yet accepting")


def translated(error: psycopg.Error, name: str, settings: ServerSettings) -> IndexUnavailable:
    """Return the error of the index for one of the server, or of the way to it."""
    import psycopg
    from psycopg_pool import PoolTimeout

    from memoriter.extensions.postgres._connections import OutOfTime

    match error:
        case PoolTimeout():
            return IndexBusy(
                f"All {settings.pool_size} connections of this process to {name} are in use.",
                remedy="Try again, or raise memorySearch.store.postgres.poolSize.",
            )
        case OutOfTime() if error.deadline is not None:
            message = f"The server of {name} did not answer within the time of the search."
            return IndexUnavailable(message, remedy=NO_ANSWER)
        case OutOfTime():
            message = f"The server of {name} did not answer within {error.seconds:.1f} s."
            return IndexUnavailable(message, remedy=NO_ANSWER)
        case psycopg.errors.QueryCanceled():
            return IndexUnavailable(
                f"A statement on {name} took longer than {settings.statement_timeout_ms / 1000:g} s.",
                remedy="Try again, or raise memorySearch.store.postgres.statementTimeoutMs.",
            )
        case _:
            return _of_statement(error, name, settings.schema)


def _of_statement(error: psycopg.Error, name: str, schema: str) -> IndexUnavailable:
    """Return the error of a statement that the server refused, or whose connection broke."""
    from psycopg import InterfaceError, OperationalError, errors

    reason = sentence(first_line(error))
    match error:
        case errors.InsufficientPrivilege():
            return IndexUnavailable(
                f"The user of {name} lacks a right: {reason}",
                remedy=f"Let the owner of the schema {schema!r} grant it, or name another schema.",
            )
        case errors.DiskFull():
            return IndexUnavailable(
                f"The disk of {name} is full.", remedy="Free some disk space; nothing that was finished is lost."
            )
        case errors.ReadOnlySqlTransaction():
            return IndexUnavailable(
                f"The server {name} can only be read: it is a replica, or its settings forbid writing.",
                remedy="Name the primary server and a user who may write in memorySearch.store.postgres.",
            )
        case (
            errors.UndefinedTable()
            | errors.UndefinedColumn()
            | errors.UndefinedFunction()
            | errors.UndefinedObject()
            | errors.InvalidSchemaName()
        ):
            return IndexDamaged(
                f"The tables of {name} are not those of memoriter: {reason}",
                remedy="Restore them from a backup, or name another schema in memorySearch.store.postgres.schema.",
            )
        case OperationalError() | InterfaceError():
            return _of_connection(error, name)
        case _:
            message = f"The server {name} refused a statement: {reason}"
            return IndexUnavailable(message, remedy="Run `memoriter doctor`.")


def _of_connection(error: psycopg.Error, name: str) -> IndexUnavailable:
    """Return the error of a connection that could not be made, or broke."""
    text = str(error)
    if error.sqlstate is None or error.sqlstate.startswith(("08", "28", "3D", "53")):
        for part, message, remedy in REFUSALS:
            if found := re.search(part, text):
                line = next(line for line in text.splitlines() if re.search(part, line))
                names = {key: quoted(value) for key, value in found.groupdict().items()}
                whole = f"{message.format(name).removesuffix('.')}: {sentence(line.strip())}"
                return IndexUnavailable(whole, remedy=remedy.format(**names))
    if "connection to server" in text and "FATAL:" in text and not _STARTING.search(text):
        return IndexUnavailable(
            f"The server of {name} refused the connection: {sentence(first_line(error))}", remedy=NO_ANSWER
        )
    return IndexUnavailable(f"The server of {name} does not answer: {sentence(first_line(error))}", remedy=NO_ANSWER)


def first_line(error: BaseException) -> str:
    """Return the first line of the message of an error."""
    return str(error).strip().partition("\n")[0]
