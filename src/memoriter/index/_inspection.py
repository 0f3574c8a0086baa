"""Reading an index without creating or changing any file: for `status`, `doctor` and estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from memoriter.index import _checksums, _migrations
from memoriter.index._connection import BUSY_MS, file_kind
from memoriter.index._errors import is_damage, translate_errors
from memoriter.index._filters import path_matches
from memoriter.index._index import Index
from memoriter.index._index_files import IndexFiles
from memoriter.index._lease import identity
from memoriter.index._opening import REASONS, OpenedFile, refuse_foreign
from memoriter.index._seal import check
from memoriter.index._steps import logged
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from memoriter.index._connection import FileKind
    from memoriter.index._database import Database
    from memoriter.index._engines import EngineName
    from memoriter.types import ModelSpec

_WAL_FORMAT = 2
"""Byte 18 of a database in write-ahead-log mode."""
_NEXT = "Run `memoriter index`."
INSPECTED = Diagnostic("index_read_only", "The index is only inspected, so nothing is stored.", _NEXT)
OLD = Diagnostic("index_outdated", "The index was made by an earlier version and is not converted yet.", _NEXT)


class InspectedIndex(Index):
    """An index that is only read: it creates and changes no file, stays at the file it opened, and refuses leases."""

    @classmethod
    def inspect(cls, path: Path, *, clock: Callable[[], float]) -> Self:
        """Open the index; it is empty if there is no file, or if the file cannot serve, which `notices` reports.

        `clock` returns seconds since 1970.
        """
        with translate_errors(path):
            storage = IndexFiles(path, clock)
            index = cls(storage, path, clock=clock, network=False)
            index._pinned = True
            index._adopt(_inspect(storage, clock=clock, notice=index._add_notice))
        return index

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        return tuple(self._notices)

    def refresh(self) -> bool:
        return False

    def quarantine(self) -> None:
        """Open the file again: it was written meanwhile, or it is damaged, and then an empty index takes its place."""
        with self._lock, translate_errors(self.path):
            self._close_file()
            self._adopt(_inspect(self._storage, clock=self._clock, notice=self._add_notice))

    def use_vectors(self, spec: ModelSpec) -> None:
        with self._reading():
            self._vectors.use(spec, now=None)
            self._spec = spec

    @property
    def _effective_engine(self) -> tuple[EngineName, str | None]:
        return self._engine_setting


@logged("inspect")
def _inspect(storage: IndexFiles, *, clock: Callable[[], float], notice: Callable[[Diagnostic], None]) -> OpenedFile:
    """Open the active file for reading; an empty index in memory takes the place of a file that cannot serve.

    `apsw` errors that are not damage pass through.

    Args:
        storage: the files of the index.
        clock: returns seconds since 1970.
        notice: called with a diagnostic for a file that exists and cannot serve as it is.
    """
    target = storage.target()
    if target is None:
        return _empty(storage, clock=clock)
    connection, kind = _open(storage, target)
    if connection is not None:
        file_identity = identity(target) or (0, 0)
        return OpenedFile(connection, target, file_identity, storage.generation_of(target), INSPECTED)
    if kind == "foreign":
        refuse_foreign(storage, target)
    if kind == "old":
        notice(OLD)
    elif kind in REASONS:
        message = f"The index file {str(storage.path)!r} {REASONS[kind]}; the next search begins a new index."
        notice(Diagnostic("index_damaged", message, _NEXT))
    return _empty(storage, clock=clock)


def _open(storage: IndexFiles, target: Path) -> tuple[Database | None, FileKind]:
    """Return a connection, or what is wrong with the file."""
    connection: Database | None = None
    try:
        connection = connect_for_inspection(target)
        kind = file_kind(connection)
        if kind == "ours" and _migrations.lost_checksums(connection):
            kind = "damaged"
        if kind == "ours" and not storage.seal.matches(target):
            check(connection, target)
        if kind == "ours":
            return connection, kind
    except Exception as error:
        if connection is not None:
            connection.close()
        if not is_damage(error):
            raise
        return None, "damaged"
    connection.close()
    return None, kind


def _empty(storage: IndexFiles, *, clock: Callable[[], float]) -> OpenedFile:
    """Return an empty index in memory."""
    import apsw

    connection = cast("Database", apsw.Connection(":memory:"))
    connection.create_scalar_function("path_matches", path_matches, 2, deterministic=True)
    _migrations.create(connection, now=clock(), first_id=1)
    connection.pragma("query_only", 1)
    return OpenedFile(connection, storage.path, (0, 0), 0, INSPECTED)


def connect_for_inspection(path: Path) -> Database:
    """Return a read-only connection that creates no file and changes none; `apsw` errors pass through.

    SQLite reads a database in write-ahead-log mode in one of three ways. If the index of the log (`-shm`) exists,
    another process may be writing, and SQLite reads it without changing it. If there is only a log, its writer died,
    and SQLite keeps an index of it in memory. If there is neither, the file is complete, and cannot change.
    """
    import apsw

    log, shared = (path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm"))
    flags, options = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, ""
    heap = False
    if _journal_format(path) == _WAL_FORMAT:
        if shared.exists():
            options = "?readonly_shm=1"
        elif log.exists() and log.stat().st_size:
            flags, heap = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI, True
        else:
            options = "?immutable=1"
    address = f"file:{quote(str(path))}{options}"
    connection = cast("Database", apsw.Connection(address, flags=flags, vfs=_checksums.vfs()))
    try:
        connection.set_busy_timeout(BUSY_MS)
        if heap:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.pragma("locking_mode", "exclusive")
        connection.pragma("query_only", 1)
        connection.pragma("temp_store", 2)
        connection.create_scalar_function("path_matches", path_matches, 2, deterministic=True)
    except BaseException:
        connection.close()
        raise
    return connection


def _journal_format(path: Path) -> int:
    with path.open("rb") as file:
        header = file.read(20)
    return header[18] if len(header) == 20 else 0
