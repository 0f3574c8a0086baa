"""Whether the index file is sound: what an error of SQLite or of the file system means, and a check of the file."""

from __future__ import annotations

import errno
import json
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, cast

from memoriter.errors import IndexBusy, IndexDamaged, IndexUnavailable, sentence
from memoriter.index.store._connection import BUSY_MS, file_kind, logged, snapshot, vfs

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from memoriter.index.store._connection import Database

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

    Args:
        connection: a connection that has not searched the file yet.
        target: the file, for the message.

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
