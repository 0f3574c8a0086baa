"""Reading an index that cannot be written: its folder is read-only, or the disk has no room for a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from memoriter.index import _checksums
from memoriter.index._connection import file_kind
from memoriter.index._errors import told
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.index._database import Database


def may_be_read(error: Exception) -> bool:
    """Whether a file that this error kept us from opening may still be read."""
    return type(error).__name__ in {"CantOpenError", "ReadOnlyError", "IOError", "FullError", "PermissionsError"}


def connect_reading(path: Path) -> Database | None:
    """A connection that only reads; None where that could miss what is in the log, or the file is not an index of ours.

    SQLite is told that the file never changes, so that it needs neither log nor locks. A log that holds something was
    left by a process that died, and only one that may write can take it in.
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


def reason_of(path: Path, error: Exception) -> Diagnostic:
    """What a person is told of an index that is only read."""
    found = told(path, error)
    message = f"{found.message}; it is only read, so what changed since it was written is not found"
    return Diagnostic("index_read_only", f"{message}.", found.remedy)
