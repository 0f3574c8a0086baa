"""Whether the index file is sound."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, cast

from memoriter.errors import IndexDamaged, sentence
from memoriter.index.store._connection import (
    BUSY_MS,
    REBUILD,
    file_kind,
    logged,
    snapshot,
    vfs,
)

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.index.store._connection import Database


def is_cut_short(connection: Database, target: Path) -> bool:
    """Return whether the file ends before its last page. SQLite reads such a page as if its end were zeros."""
    # Another process may make the file shorter between both figures, but not twice.
    return _ends_early(connection, target) and _ends_early(connection, target)


def _ends_early(connection: Database, target: Path) -> bool:
    pages = int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
    log = target.with_name(f"{target.name}-wal")
    return target.stat().st_size < pages and not (log.exists() and log.stat().st_size)


def check_file(target: Path) -> None:
    """Check the whole file through a new connection. Other processes may write meanwhile.

    An open connection has pages in memory, which hide later changes of the file, and FTS5 checks it against the list of
    segments that it last used, which another process may have merged since.

    Raises:
        IndexDamaged: the file is not sound.
    """
    import apsw

    if not target.stat().st_size:
        raise IndexDamaged(f"The index {str(target)!r} is damaged: it is empty.", remedy=REBUILD)
    fresh = cast("Database", apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs()))
    with closing(fresh):
        fresh.set_busy_timeout(BUSY_MS)
        if file_kind(fresh) != "ours":
            raise IndexDamaged(f"The index {str(target)!r} is damaged: it is not an index any more.", remedy=REBUILD)
        if is_cut_short(fresh, target):
            raise IndexDamaged(f"The index {str(target)!r} is damaged: its end is missing.", remedy=REBUILD)
        check(fresh, target)


@logged("check")
def check(connection: Database, target: Path) -> None:
    """Check the structure of the file and that its tables agree, on one state of the file.

    Raises:
        IndexDamaged: the file is not sound.
    """
    with snapshot(connection):
        _check(connection, target)


def _check(connection: Database, target: Path) -> None:
    result = str(connection.execute("PRAGMA quick_check(1)").get)
    if result != "ok":
        raise IndexDamaged(f"The index {str(target)!r} is damaged: {sentence(result)}", remedy=REBUILD)
    chunks = connection.execute("SELECT count(*) FROM chunks").get
    counts = {
        "the files have other chunks": "SELECT coalesce(sum(chunks), 0) FROM files",
        "a chunk belongs to no file": "SELECT count(*) FROM chunks CROSS JOIN files ON files.id = chunks.file",
        "the word index has other chunks": "SELECT count(*) FROM chunks_fts_docsize",
    }
    for fault, statement in counts.items():
        if connection.execute(statement).get != chunks:
            raise IndexDamaged(f"The index {str(target)!r} is damaged: {sentence(fault)}", remedy=REBUILD)
