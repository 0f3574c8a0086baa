"""Read-only access to an index that cannot be written: its folder is read-only, or the disk is full."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from memoriter.index import _checksums
from memoriter.index._connection import file_kind
from memoriter.index._errors import to_index_error
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.index._database import Database


def can_read(error: Exception) -> bool:
    """Return whether a file that could not be opened because of this error may still be readable."""
    return type(error).__name__ in {"CantOpenError", "ReadOnlyError", "IOError", "FullError", "PermissionsError"}


def connect_read_only(path: Path) -> Database | None:
    """Return a read-only connection; None if it could miss content of the log, or the file is not an index.

    SQLite treats the file as immutable, so that it needs neither log nor locks. A log with content was left by a
    process that died, and only a process that may write can merge it.
    """
    import apsw

    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        return None
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection: Database | None = None
    try:
        connection = cast(
            "Database", apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags, vfs=_checksums.vfs())
        )
        connection.pragma("temp_store", 2)
        if file_kind(connection) == "ours":
            return connection
    except apsw.Error:
        pass
    if connection is not None:
        connection.close()
    return None


def read_only_notice(path: Path, error: Exception) -> Diagnostic:
    """Return the diagnostic for an index that is open for reading only."""
    problem = to_index_error(path, error)
    message = f"{problem.message} It is only read, so what changed since it was written is not found."
    return Diagnostic("index_read_only", message, problem.remedy)
