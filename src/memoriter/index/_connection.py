"""SQLite connections, their settings, and the kind of a file."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from memoriter.index import _checksums
from memoriter.index._filters import holds_phrase, path_matches
from memoriter.index._schema import APPLICATION_ID, PAGE_SIZE, VERSION
from memoriter.permissions import make_private_file

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from memoriter.index._database import Database


BUSY_MS = 10_000
"""How long a statement waits for another process' short transaction."""
INCREMENTAL = 2
"""The mode of `auto_vacuum` in which free pages are released on request."""

_ATTEMPTS = 3
"""The most attempts to read one state. Other processes may change the vectors meanwhile, but not each time."""
_T = TypeVar("_T")

_ABANDONED: list[Database] = []
"""Connections of a parent process, kept so that they are never closed."""

FileKind = Literal["ours", "old", "empty", "newer", "foreign", "damaged"]


def connect(path: Path, *, network: bool, create: bool = False, trusted: bool = True) -> Database:
    """Open and tune an existing database, or create it if `create` is set; `apsw` errors pass through.

    Only the owner can read a new file; SQLite gives its logs the permissions of the database. If the file is not
    `trusted`, its kind is checked first, and a foreign file stays as it is.
    """
    import apsw

    if create:
        make_private_file(path)
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = cast("Database", apsw.Connection(str(path), flags=flags, vfs=_checksums.vfs()))
    try:
        if create:
            _checksums.begin(connection)
        connection.set_busy_timeout(BUSY_MS)
        connection.create_scalar_function("path_matches", path_matches, 2, deterministic=True)
        connection.create_scalar_function("holds_phrase", holds_phrase, 3, deterministic=True)
        if trusted or file_kind(connection) in {"ours", "old", "empty"}:
            _tune(connection, network=network)
    except BaseException:
        connection.close()
        raise
    return connection


def _tune(connection: Database, *, network: bool) -> None:
    import apsw

    # Both affect only a new file; an existing file keeps its settings. Setting `auto_vacuum` always writes the first
    # page, which costs a process that only reads more than its search: the file no longer matches its seal.
    connection.pragma("page_size", PAGE_SIZE)
    if connection.pragma("auto_vacuum") != INCREMENTAL:
        connection.pragma("auto_vacuum", INCREMENTAL)
    mode = "delete" if network else "wal"
    if connection.pragma("journal_mode") != mode:
        # Another process that has the file open prevents the change; that is slower, but correct.
        with suppress(apsw.BusyError, apsw.LockedError):
            connection.pragma("journal_mode", mode)
    connection.pragma("synchronous", 1)
    connection.pragma("secure_delete", 1)
    connection.pragma("temp_store", 2)
    # No memory map: if another program truncates the file, the process would be killed instead of getting an error.
    connection.pragma("cache_size", -32 * 1024)
    connection.pragma("journal_size_limit", 16 * 1024 * 1024)


def file_kind(connection: Database) -> FileKind:
    """Return the kind of the file, from its header and its table list; `apsw` errors pass through."""
    application = int(connection.pragma("application_id"))
    version = int(connection.pragma("user_version"))
    tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables and application in {0, APPLICATION_ID}:
        return "empty"
    if application != APPLICATION_ID:
        return "foreign"
    if version > VERSION:
        return "newer"
    if version < 1 or not {"meta", "files", "chunks", "chunks_fts", "embedding_cache"} <= tables:
        return "damaged"
    return "ours" if version == VERSION else "old"


def abandon(connection: Database) -> None:
    """Keep a connection that a forked process has from its parent, so that it is never used or closed again.

    Its SQLite locks belong to the parent, and closing it would disturb the parent.
    """
    _ABANDONED.append(connection)


class WriteInSnapshotError(Exception):
    """A write began while a snapshot was open, which only reads."""


@contextmanager
def snapshot(connection: Database) -> Generator[None]:
    """Run several reads on one state of the file. Snapshots may be nested."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def at_one_state(connection: Database, read: Callable[[], _T]) -> _T:
    """Return the result of `read`, all of whose reads see one state of the file.

    A read that has to prepare or repair vectors needs to write; then it runs once outside of a snapshot before.
    """
    for _ in range(_ATTEMPTS):
        with suppress(WriteInSnapshotError), snapshot(connection):
            return read()
        read()
    return read()


@contextmanager
def transaction(connection: Database) -> Generator[None]:
    """Run statements in one transaction; it takes the write lock at once, so that it cannot fail half-way.

    Raises:
        WriteInSnapshotError: a snapshot is open.
    """
    if connection.in_transaction:
        raise WriteInSnapshotError
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Some failures (a full disk) end the transaction by themselves.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def counter(connection: Database, name: str) -> int:
    """Return the value of a counter; 0 if it was never set."""
    value = connection.execute("SELECT value FROM counters WHERE name = ?", (name,)).get
    return int(value or 0)


def set_counter(connection: Database, name: str, value: int) -> None:
    connection.execute(
        "INSERT INTO counters(name, value) VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


def increment(connection: Database, name: str, by: int = 1) -> int:
    """Increase a counter and return its previous value."""
    before = counter(connection, name)
    set_counter(connection, name, before + by)
    return before


def vacuum_and_checkpoint(connection: Database) -> None:
    """Release free pages if more than a quarter of the file is free, and empty the log unless a process reads it."""
    import apsw

    with suppress(apsw.BusyError, apsw.LockedError):
        if int(connection.pragma("freelist_count")) * 4 > int(connection.pragma("page_count")):
            connection.execute("PRAGMA incremental_vacuum").fetchall()
        connection.set_busy_timeout(0)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.set_busy_timeout(BUSY_MS)
