"""Errors of a server as errors of the index, each with a remedy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoriter.errors import IndexBusy, IndexDamaged, IndexUnavailable, sentence
from memoriter.extensions.postgres._schema import quoted

if TYPE_CHECKING:
    import psycopg

    from memoriter.extensions.postgres._settings import ServerSettings

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
