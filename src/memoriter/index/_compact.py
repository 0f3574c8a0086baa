"""Compacting an index: delete what is not needed, and write the rest densely into a new file."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from memoriter.index import _keywords
from memoriter.index._checksums import begin
from memoriter.index._connection import connect, set_counter
from memoriter.index._engines import load_sqlite_vec
from memoriter.index._steps import logged
from memoriter.permissions import make_private_file

if TYPE_CHECKING:
    from memoriter.index._database import Database
    from memoriter.index._index_files import IndexFiles

_SUFFIXES = ("", "-wal", "-journal")


def disk_bytes(storage: IndexFiles) -> int:
    """Return the size in bytes of the active file and its log."""
    file = storage.target() or storage.path
    parts = (file.with_name(file.name + log) for log in _SUFFIXES)
    return sum(part.stat().st_size for part in parts if part.exists())


def log_bytes(storage: IndexFiles) -> int:
    """Return the size in bytes of the log beside the active file."""
    file = storage.target() or storage.path
    log = file.with_name(f"{file.name}-wal")
    return log.stat().st_size if log.exists() else 0


def tidy(connection: Database, *, serving: str, extension_path: str | None) -> None:
    """Merge the word index into one piece, and drop tables of sqlite-vec other than the `serving` one.

    The `serving` table is compared with the index at its next use. Expects an open transaction.
    """
    # `purge` does nothing unless chunks were deleted; here it is always worth its time.
    set_counter(connection, "deleted", 1)
    _keywords.purge(connection)
    connection.execute("UPDATE counters SET value = -1 WHERE name GLOB 'vec:*' AND name NOT GLOB 'vec:*:*'")
    idle = [table for table in left_by_sqlite_vec(connection) if table != serving]
    # Only sqlite-vec can drop its own tables.
    if idle and load_sqlite_vec(connection, extension_path) is None:
        for table in idle:
            connection.execute(f'DROP TABLE "{table}"')


def left_by_sqlite_vec(connection: Database) -> list[str]:
    """Return the names of the tables that sqlite-vec has created."""
    statement = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE % USING vec0(%'"
    return [str(name) for (name,) in connection.execute(statement).fetchall()]


def count_unused(connection: Database) -> int:
    """Return the number of vectors that no chunk refers to."""
    statement = (
        "SELECT count(*) FROM embedding_cache AS known WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE key = known.key)"
    )
    return int(connection.execute(statement).get)


@logged("compact")
def rewrite(storage: IndexFiles, *, after: int, network: bool) -> None:
    """Write the index densely into a generation past `after` and activate it; if that fails, nothing changes.

    Where the file system has no symbolic links, the file is rewritten in place, which needs twice as much free disk
    space.
    """
    # Use a separate connection, because an unfinished statement would block VACUUM.
    with closing(connect(storage.target() or storage.path, network=network)) as connection:
        begin(connection)
        if not storage.can_link():
            # Otherwise the whole copy would be in memory.
            connection.pragma("temp_store", 1)
            connection.execute("VACUUM").fetchall()
            return
        fresh = storage.next_generation(after)
        try:
            make_private_file(fresh)
            connection.execute("VACUUM INTO ?", (str(fresh),)).fetchall()
            storage.publish(fresh)
        except BaseException:
            storage.discard(fresh)
            raise


def damaged_files(storage: IndexFiles, *, remove: bool) -> tuple[tuple[str, ...], int]:
    """Return the names of damaged indexes beside this one, with their logs, and their total bytes.

    If `remove`, delete them.
    """
    start = f"{storage.path.name}.damaged-"
    damaged = sorted(file for file in storage.path.parent.iterdir() if file.name.startswith(start))
    size = sum(file.lstat().st_size for file in damaged)
    for file in damaged if remove else ():
        file.unlink(missing_ok=True)
    return tuple(file.name for file in damaged), size
