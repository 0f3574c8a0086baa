"""Whether a file at the path of an index belongs to another program."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from memoriter.errors import IndexUnavailable
from memoriter.index.store._connection import connect_read_only, file_kind
from memoriter.index.store._files import follow_links
from memoriter.index.store._lease import lease_of
from memoriter.index.store._schema import APPLICATION_ID
from memoriter.plain_file import open_plain

if TYPE_CHECKING:
    from memoriter.index.store._connection import Database

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_WAL_FORMAT = 2
"""Byte 18 of a database in write-ahead-log mode."""


def is_foreign(path: Path) -> bool:
    """Return whether another program owns the file at the path of an index.

    A database of SQLite belongs to memoriter if it has memoriter's application id, or no tables yet. Any other file
    belongs to memoriter if a lease of memoriter's is beside it: then it is a damaged index.
    """
    try:
        path = follow_links(Path(os.path.abspath(path)))  # noqa: PTH100 (`resolve` would follow a former link)
        if path.is_symlink() or lease_of(path).exists():
            return False
        with open_plain(path, follow=False) as file:
            header = file.read(_HEADER_BYTES)
    except (OSError, IndexUnavailable):
        return False
    if not header:
        return False
    if header.startswith(_MAGIC) and len(header) == _HEADER_BYTES:
        application = int.from_bytes(header[68:72], "big")
        return application != APPLICATION_ID and (application != 0 or _has_foreign_tables(path, header))
    return True


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
        return True
