"""Detection of a file at an index's path that another program owns, without changing it or anything beside it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from memoriter.errors import IndexUnavailable
from memoriter.index.store._connection import connect_read_only, file_kind
from memoriter.index.store._generations import follow_links
from memoriter.index.store._schema import APPLICATION_ID
from memoriter.plain_file import open_plain

if TYPE_CHECKING:
    from memoriter.index.store._connection import Database

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_WAL_FORMAT = 2
"""Byte 18 of a database in write-ahead-log mode."""
_OWN_COMPANIONS = (".seal", ".lease")
"""Files that only memoriter puts beside an index."""


def is_foreign(path: Path) -> bool:
    """Return whether another program owns the file at the path of an index.

    A database of SQLite belongs to memoriter if it has memoriter's application id, or no tables yet. Any other file
    belongs to memoriter if a file of memoriter's is beside it: then it is a damaged index.
    """
    try:
        path = follow_links(Path(os.path.abspath(path)))  # noqa: PTH100 (`resolve` would follow our own link)
        if path.is_symlink():
            return False  # the link to a generation of ours
        with open_plain(path, follow=False) as file:
            header = file.read(_HEADER_BYTES)
    except (OSError, IndexUnavailable):
        return False
    if not header:
        return False
    if header.startswith(_MAGIC) and len(header) == _HEADER_BYTES:
        application = int.from_bytes(header[68:72], "big")
        return application != APPLICATION_ID and (application != 0 or _has_foreign_tables(path, header))
    return not _has_companion(path)


def _has_foreign_tables(path: Path, header: bytes) -> bool:
    """Return whether a database without an application id has tables; one that cannot be read counts as if it had."""
    import apsw

    try:
        log = path.with_name(f"{path.name}-wal")
        if header[18] == _WAL_FORMAT and log.exists() and log.stat().st_size:
            connection = connect_read_only(path)
        else:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            # An immutable file is read without locks, and a journal beside it is left alone.
            connection = cast("Database", apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags))
        with closing(connection):
            return file_kind(connection) == "foreign"
    except (OSError, apsw.Error):
        return not _has_companion(path)


def _has_companion(path: Path) -> bool:
    return any(path.with_name(f"{path.name}{suffix}").exists() for suffix in _OWN_COMPANIONS)
