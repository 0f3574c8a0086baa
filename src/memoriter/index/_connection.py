"""SQLite connections: settings, page checksums, transactions, errors, the kind of a file, and named values in it.

`Database` is the part of `apsw.Connection` that the index uses, with types: its own stubs name types that Python 3.11
lacks.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import time
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast
from urllib.parse import quote

from memoriter.errors import IndexBusy, IndexDamaged, IndexUnavailable, sentence
from memoriter.folding import contains, holds_phrase
from memoriter.index._schema import APPLICATION_ID, PAGE_SIZE, VERSION, path_matches
from memoriter.permissions import make_private_file

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

log = logging.getLogger("memoriter.index")

BUSY_MS = 10_000
"""How long a statement waits for another process' short transaction."""
INCREMENTAL = 2
"""The mode of `auto_vacuum` in which free pages are released on request."""

_WAL_FORMAT = 2
"""Byte 18 of a database in write-ahead-log mode."""
_LEAST_SHM_BYTES = 32 * 1024
"""The size of the smallest index of a log (`-shm`). A full disk leaves a shorter one, which nobody can use."""

_ABANDONED: list[Database] = []
"""Connections of a parent process, kept so that they are never closed."""

FileKind = Literal["ours", "other", "empty", "foreign", "damaged"]
"""What a file is; `other`: an index of another version of memoriter."""
_VFS = "cksmvfs"
"""SQLite's `cksumvfs` extension, which is part of apsw's wheels. It verifies every page that is read."""
CHECKSUM_BYTES = 8
"""Bytes at the end of each page that hold its checksum."""
_LIBRARY_SUFFIXES = (".so", ".dylib", ".dll")


SqlValue = str | int | float | bytes | None


class Cursor(Protocol):
    """The rows of a statement, read on demand."""

    @property
    def get(self) -> Any:
        """The only column of the first row, or the row; None if there is no row."""
        ...

    def fetchall(self) -> list[tuple[Any, ...]]: ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Database(Protocol):
    """An open connection."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(
        self, statements: str, bindings: Sequence[SqlValue] | Mapping[str, SqlValue] | None = None, /
    ) -> Cursor: ...

    def executemany(self, statements: str, bindings: Iterable[Sequence[SqlValue]], /) -> Cursor: ...

    def pragma(self, name: str, value: str | int | None = None, /) -> Any: ...

    def reserve_bytes(self, schema: str | None = None, reserve: int = -1, /) -> int: ...

    def config(self, operation: int, value: int, /) -> Any: ...

    def set_busy_timeout(self, milliseconds: int, /) -> None: ...

    def create_scalar_function(
        self, name: str, function: Callable[..., SqlValue] | None, arguments: int, /, *, deterministic: bool
    ) -> None: ...

    def enable_load_extension(self, enable: bool, /) -> None: ...

    def load_extension(self, filename: str, /) -> None: ...

    def close(self) -> None: ...


def connect(path: Path, *, network: bool, create: bool = False, trusted: bool = True) -> Database:
    """Open and tune an existing database, or create it if `create` is set; `apsw` errors pass through.

    Only the owner can read a new file; SQLite gives its logs the permissions of the database. If the file is not
    `trusted`, its kind is checked first, and a foreign file stays as it is.
    """
    import apsw

    if create:
        make_private_file(path)
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = cast("Database", apsw.Connection(str(path), flags=flags, vfs=vfs()))
    try:
        if create:
            reserve_checksums(connection)
        connection.set_busy_timeout(BUSY_MS)
        add_functions(connection)
        if trusted or file_kind(connection) in {"ours", "empty"}:
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


def connect_read_only(path: Path) -> Database:
    """Return a read-only connection that creates no file and changes none; `apsw` errors pass through.

    SQLite reads a database in write-ahead-log mode in one of three ways. If the index of the log (`-shm`) exists,
    another process may be writing, and SQLite reads it without changing it. If there is only a log, its writer died,
    and SQLite keeps an index of it in memory; no other process can use the file meanwhile. If there is neither, the
    file is complete, and cannot change.
    """
    import apsw

    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    options = ""
    heap = False
    if _journal_format(path) == _WAL_FORMAT:
        heap = has_orphaned_log(path)
        if _is_shared(path):
            options = "?readonly_shm=1"
        elif heap:
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
        else:
            options = "?immutable=1"
    connection = cast("Database", apsw.Connection(f"file:{quote(str(path))}{options}", flags=flags, vfs=vfs()))
    try:
        connection.set_busy_timeout(BUSY_MS)
        if heap:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.pragma("locking_mode", "exclusive")
        connection.pragma("query_only", 1)
        connection.pragma("temp_store", 2)
        add_functions(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def has_orphaned_log(path: Path) -> bool:
    """Return whether a process that died left content in the log, which only a process that may write can merge."""
    return _bytes_of(path, "-wal") > 0 and not _is_shared(path)


def _is_shared(path: Path) -> bool:
    """Return whether there is an index of the log, through which processes share a database."""
    return _bytes_of(path, "-shm") >= _LEAST_SHM_BYTES


def _bytes_of(path: Path, suffix: str) -> int:
    companion = path.with_name(f"{path.name}{suffix}")
    return companion.stat().st_size if companion.exists() else 0


def _journal_format(path: Path) -> int:
    with path.open("rb") as file:
        header = file.read(20)
    return header[18] if len(header) == 20 else 0


def add_functions(connection: Database) -> None:
    """Add the functions to a connection."""
    connection.create_scalar_function("path_matches", path_matches, 2, deterministic=True)
    connection.create_scalar_function("holds_phrase", holds_phrase, 3, deterministic=True)
    connection.create_scalar_function("holds_text", contains, 2, deterministic=True)


def file_kind(connection: Database) -> FileKind:
    """Return the kind of the file, from its header and its table list; `apsw` errors pass through."""
    application = int(connection.pragma("application_id"))
    version = int(connection.pragma("user_version"))
    tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables and application in {0, APPLICATION_ID}:
        return "empty"
    if application != APPLICATION_ID:
        return "foreign"
    if version not in {0, VERSION}:
        return "other"
    return "ours" if version and {"meta", "files", "chunks", "chunks_fts", "embedding_cache"} <= tables else "damaged"


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


def vacuum_and_checkpoint(connection: Database) -> None:
    """Release free pages if more than a quarter of the file is free, and empty the log unless a process reads it."""
    import apsw

    with suppress(apsw.BusyError, apsw.LockedError):
        if int(connection.pragma("freelist_count")) * 4 > int(connection.pragma("page_count")):
            connection.execute("PRAGMA incremental_vacuum").fetchall()
        connection.set_busy_timeout(0)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.set_busy_timeout(BUSY_MS)


@cache
def vfs() -> str | None:
    """Return the name of the file system layer that verifies pages; None if apsw has no such extension.

    A file is verified if its pages have room for checksums. Any other file is read and written as it is.
    """
    import apsw

    library = _checksum_library()
    if library is None:
        return None
    names = apsw.vfs_names()
    try:
        with closing(apsw.Connection(":memory:")) as scratch:
            scratch.enable_load_extension(True)
            scratch.load_extension(library)
        # Loading makes the layer the default of the whole process; the application decides that.
        apsw.set_default_vfs(names[0])
    except (apsw.Error, ValueError):
        return None
    return _VFS if _VFS in apsw.vfs_names() else None


def reserve_checksums(connection: Database) -> None:
    """Reserve space for checksums in a database that is still empty, or in one that `VACUUM` rewrites next."""
    if vfs() is not None:
        connection.reserve_bytes("main", CHECKSUM_BYTES)


def has_checksums(connection: Database) -> bool:
    """Return whether the pages of this file have checksums that are verified."""
    return vfs() is not None and int(connection.pragma("checksum_verification") or 0) == 1


def _checksum_library() -> str | None:
    """Return the path of the extension, as `apsw.sqlite_extra.path` does, without the imports that it needs."""
    import apsw

    folder = Path(apsw.__file__).parent / "sqlite_extra_binaries"
    candidates = (folder / f"cksumvfs{suffix}" for suffix in _LIBRARY_SUFFIXES)
    return next((str(library) for library in candidates if library.exists()), None)


def identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the file at a path; None if there is no file."""
    try:
        stat = os.stat(path)  # noqa: PTH116 (asked at every query: a microsecond less)
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def storable(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@contextmanager
def logged(step: str) -> Generator[None]:
    """Log the duration of a step that changes or checks the file, or that it failed.

    The index has only a wall clock, which cannot measure.
    """
    started = time.perf_counter()
    try:
        yield
    except Exception as error:
        log.debug("%s: %s after %.1f ms", step, type(error).__name__, (time.perf_counter() - started) * 1000)
        raise
    log.debug("%s: %.1f ms", step, (time.perf_counter() - started) * 1000)


def get_meta(connection: Database, key: str) -> str | None:
    """Return a stored setting, or None."""
    value = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    return None if value is None else str(value)


def set_meta(connection: Database, key: str, value: str) -> None:
    """Store a setting."""
    statement = "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
    connection.execute(statement, (key, value))


def metas(connection: Database, prefix: str) -> dict[str, str]:
    """Return all stored settings whose names start with `prefix`, by name."""
    statement = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ? ORDER BY key"
    return {str(key): str(value) for key, value in connection.execute(statement, (len(prefix), prefix))}


def drop_meta(connection: Database, key: str) -> None:
    """Delete a setting; do nothing if it does not exist."""
    connection.execute("DELETE FROM meta WHERE key = ?", (key,))


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


REBUILD = "The notes contain everything to rebuild the index: run `memoriter index --force`."

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FREE_SPACE = "Free some disk space; nothing that was finished is lost."

_REMEDIES = {
    "BusyError": "Another process is writing; try again in a moment.",
    "LockedError": "Another process is writing; try again in a moment.",
    "ReadOnlyError": "Make the index and its folder writable, or set memorySearch.store.path.",
    "PermissionsError": "Make the index and its folder writable, or set memorySearch.store.path.",
    "AuthError": "Make the index and its folder writable, or set memorySearch.store.path.",
    "CantOpenError": "Check that the folder of the index exists and can be written, or set memorySearch.store.path.",
    "FullError": FREE_SPACE,
    "TooBigError": "A note is too large for one row; split it or leave it out with `.memoryignore`.",
    "IOError": "Check the disk that holds the index, and its free space; nothing that was finished is lost.",
}
_DB_MOVED = 1032
"""SQLITE_READONLY_DBMOVED."""
_SHORT_READ = 522
"""SQLITE_IOERR_SHORT_READ: the file ends before one of its pages."""
_BAD_PAGES = frozenset({8202, 8458})
"""SQLITE_IOERR_DATA, a page that does not match its checksum; SQLITE_IOERR_CORRUPTFS."""
_NO_SHM_SPACE = 4874
"""SQLITE_IOERR_SHMSIZE: no space for the few pages beside a log."""
_DAMAGE = frozenset(
    {"CorruptError", "NotADBError", "SQLError", "SchemaChangeError", "ConstraintError", "MismatchError", "FormatError"}
)
"""SQL is fixed and tested, so a statement that fails means that the tables have changed."""


@contextmanager
def translate_errors(path: Path) -> Generator[None]:
    """Turn every failure inside into `IndexBusy`, `IndexDamaged` or `IndexUnavailable`, each with a remedy."""
    import apsw

    try:
        yield
    except apsw.Error as error:
        raise to_index_error(path, error) from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise IndexDamaged(
            f"The index {str(path)!r} holds unreadable content: {sentence(error)}", remedy=REBUILD
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = FREE_SPACE if error.errno in _DISK_FULL else _REMEDIES["CantOpenError"]
        raise IndexUnavailable(f"The index {str(path)!r} cannot be used: {sentence(reason)}", remedy=remedy) from error


def is_damage(error: BaseException) -> bool:
    """Return whether an error of SQLite means that the content of the file is not what memoriter wrote."""
    if isinstance(error, IndexDamaged):
        return True
    return type(error).__name__ in _DAMAGE or getattr(error, "extendedresult", 0) in {_SHORT_READ, *_BAD_PAGES}


def to_index_error(path: Path, error: Exception) -> IndexUnavailable:
    """Return the index error for an error of SQLite, with a remedy."""
    kind = type(error).__name__
    if getattr(error, "extendedresult", 0) == _DB_MOVED:
        message = f"The index {str(path)!r} was moved or deleted while it was in use."
        return IndexUnavailable(message, remedy="Try again: the file that is there now will be opened.")
    if getattr(error, "extendedresult", 0) in _BAD_PAGES:
        message = f"The index {str(path)!r} is damaged: a page does not match its checksum."
        return IndexDamaged(message, remedy=REBUILD)
    number = f" ({getattr(error, 'extendedresult', 0)})" if kind == "IOError" else ""
    message = f"The index {str(path)!r} cannot be used: {sentence(f'{error}{number}')}"
    if is_damage(error):
        return IndexDamaged(f"The index {str(path)!r} is damaged: {sentence(error)}", remedy=REBUILD)
    if getattr(error, "extendedresult", 0) == _NO_SHM_SPACE:
        return IndexUnavailable(f"The index {str(path)!r} cannot be used: the disk is full.", remedy=FREE_SPACE)
    if kind in {"BusyError", "LockedError"}:
        return IndexBusy(message, remedy=_REMEDIES[kind])
    return IndexUnavailable(message, remedy=_REMEDIES.get(kind, REBUILD))
