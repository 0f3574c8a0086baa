"""Opening the index at a path.

For use: create a missing file, build one of another version anew, set a damaged one aside, refuse a foreign one.
For inspection: create and change no file.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, cast

from memoriter.errors import IndexUnavailable
from memoriter.index.store._connection import (
    add_functions,
    connect,
    connect_read_only,
    file_kind,
    has_orphaned_log,
    logged,
)
from memoriter.index.store._create import create, lost_checksums
from memoriter.index.store._lease import identity
from memoriter.index.store._soundness import check, check_if_unsealed, is_damage, to_index_error
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.index.store._connection import Database, FileKind
    from memoriter.index.store._generations import IndexFiles
    from memoriter.index.vectors._cache import VectorSet

_ATTEMPTS = 20
"""Other processes may delete and replace the file meanwhile, but not this many times in a row."""
_IDS_PER_GENERATION = 1 << 32
"""Chunk ids reserved for each generation: an id of an older generation never comes back."""
_UNWRITABLE = frozenset({"CantOpenError", "ReadOnlyError", "IOError", "FullError", "PermissionsError"})
"""Errors of SQLite after which a file may still be readable."""
_NEXT = "Run `memoriter index`."
_INSPECTED = Diagnostic("index_read_only", "This command only inspects the index, so it stores nothing.", _NEXT)
_OTHER = Diagnostic("index_outdated", "The index was made by another version of memoriter.", _NEXT)
_REASONS: dict[FileKind, str] = {"foreign": "belongs to another program", "damaged": "is damaged"}


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A connection and the file it reads."""

    connection: Database
    file: Path
    identity: tuple[int, int]
    generation: int
    read_only_reason: Diagnostic | None = None
    """Why the file can only be read; None if it can be written."""


@logged("open")
def open_index(
    storage: IndexFiles,
    *,
    clock: Callable[[], float],
    network: bool,
    notice: Callable[[Diagnostic], None],
    after: int = 0,
    damaged: Path | None = None,
) -> OpenedFile:
    """Open the active index, whatever is at its path; `apsw` errors that are not damage pass through.

    Args:
        storage: the files of the index.
        clock: returns seconds since 1970.
        network: whether the files are on a network file system.
        notice: called with a diagnostic for a file that was set aside.
        after: the number of a new generation is greater than this.
        damaged: a damaged index that was set aside; a new index takes over its vectors.
    """
    for _ in range(_ATTEMPTS):
        target = storage.target()
        if target is None:
            storage.create(partial(build, storage, network=network, damaged=damaged), after=after)
            continue
        file_identity = identity(target)
        reason: Diagnostic | None = None
        try:
            connection, kind = _try_open(storage, target, network=network)
        except Exception as error:
            if identity(storage.path) != file_identity:
                continue  # another generation replaced it meanwhile, and its log was deleted
            connection = _read_instead(target, error)
            kind = None
            if connection is None:
                raise
            reason = _read_only_notice(storage.path, error)
        if connection is not None and file_identity is not None and identity(storage.path) == file_identity:
            return OpenedFile(connection, target, file_identity, storage.generation_of(target), reason)
        if connection is not None:
            connection.close()
        if kind == "foreign":
            refuse_foreign(storage, target)
        if kind == "other":
            storage.create(partial(build, storage, network=network, earlier=target), instead_of=file_identity)
        if kind in _REASONS:
            damaged = set_aside(storage, file_identity, _REASONS[kind], clock=clock, notice=notice) or damaged
    raise IndexUnavailable(
        f"The index {str(storage.path)!r} keeps changing.", remedy="Stop the other process and try again."
    )


def _try_open(storage: IndexFiles, target: Path, *, network: bool) -> tuple[Database | None, FileKind | None]:
    """Return a connection, or what is wrong with the file, or neither if the file is gone."""
    import apsw

    try:
        connection = connect(target, network=network, trusted=False)
    except apsw.Error as error:
        if is_damage(error):
            return None, "damaged"
        if isinstance(error, apsw.CantOpenError) and not target.exists():
            return None, None
        raise
    try:
        kind = prepare(connection, storage.generation_of(target))
        if kind == "ours":
            check_if_unsealed(connection, target, storage.seal, storage.lease)
    except BaseException as error:
        if not is_damage(error):
            connection.close()
            raise
        kind = "damaged"
    if kind == "other" or kind in _REASONS:
        connection.close()
        return None, kind
    return connection, kind


def _read_instead(target: Path, error: Exception) -> Database | None:
    """Return a read-only connection to an index that could not be opened for writing: a read-only folder, a full disk.

    The result is None if something else is wrong, or if the log has content that only a writing process can merge.
    """
    import apsw

    if type(error).__name__ not in _UNWRITABLE or has_orphaned_log(target):
        return None
    with suppress(apsw.Error, OSError):
        connection = connect_read_only(target)
        with suppress(apsw.Error):
            if file_kind(connection) == "ours":
                return connection
        connection.close()
    return None


def _read_only_notice(path: Path, error: Exception) -> Diagnostic:
    """Return the diagnostic for an index that is open for reading only."""
    problem = to_index_error(path, error)
    message = f"{problem.message} It is open for reading only, so searches do not find later changes."
    return Diagnostic("index_read_only", message, problem.remedy)


def build(
    storage: IndexFiles, fresh: Path, *, network: bool, earlier: Path | None = None, damaged: Path | None = None
) -> None:
    """Make a new, empty generation file, with the vectors of an `earlier` or a `damaged` index if one is given."""
    storage.discard(fresh)
    connection = connect(fresh, network=network, create=True)
    try:
        prepare(connection, storage.generation_of(fresh))
        if (source := earlier or damaged) is not None:
            from memoriter.index.vectors._transfer import salvage

            salvage(connection, source, damaged=earlier is None)
    finally:
        connection.close()


def build_from(
    storage: IndexFiles,
    file: Path,
    source: str | None,
    without: VectorSet | None,
    *,
    network: bool,
) -> OpenedFile:
    """Create an index file with the vectors of another one, and open it.

    Args:
        storage: the files of the index.
        file: the file to create.
        source: the file whose vectors are copied; None: no vectors are copied.
        without: the vector set that is not copied; None: all are copied.
        network: whether the file is on a network file system.
    """
    build(storage, file, network=network)
    connection = connect(file, network=network)
    try:
        if source is not None:
            from memoriter.index.vectors._transfer import copy_vectors

            copy_vectors(connection, source, without=without)
    except BaseException:
        connection.close()
        raise
    return OpenedFile(connection, file, identity(file) or (0, 0), storage.generation_of(file))


def prepare(connection: Database, generation: int) -> FileKind:
    """Create the schema in an empty file, and return what the file was before; no other file is changed."""
    kind = file_kind(connection)
    if kind == "empty":
        create(connection, first_id=1 + _IDS_PER_GENERATION * max(0, generation - 1))
    if kind == "ours" and lost_checksums(connection):
        return "damaged"
    return kind


def refuse_foreign(storage: IndexFiles, target: Path) -> None:
    """Raise IndexUnavailable for a file that another program owns; a generation of memoriter's is only damaged."""
    if target == storage.path:
        raise IndexUnavailable(
            f"The file {str(target)!r} belongs to another program. Nothing was changed.",
            remedy="Set memorySearch.store.path to a file of its own, or remove that setting.",
        )


def set_aside(
    storage: IndexFiles,
    file_identity: tuple[int, int] | None,
    reason: str,
    *,
    clock: Callable[[], float],
    notice: Callable[[Diagnostic], None],
) -> Path | None:
    """Set the active file aside, add a notice and return its new path; None if another file is active by now."""
    stamp = datetime.fromtimestamp(clock(), UTC).strftime("%Y%m%dT%H%M%SZ")
    place = storage.set_aside(file_identity, f"damaged-{stamp}")
    if place is not None:
        message = (
            f"The index file {str(storage.path)!r} {reason}; it was moved to {place.name!r} and a new index was begun."
        )
        notice(
            Diagnostic(
                "index_quarantined",
                message,
                "Run `memoriter index` to fill it; delete the moved file when nobody needs it.",
            )
        )
    return place


@logged("inspect")
def inspect_index(storage: IndexFiles, *, notice: Callable[[Diagnostic], None]) -> OpenedFile:
    """Open the active file for reading, without creating or changing any file; an empty index in memory stands in.

    That is for a file that does not exist or cannot serve. `apsw` errors that are not damage pass through.

    Args:
        storage: the files of the index.
        notice: called with a diagnostic for a file that exists and cannot serve as it is.
    """
    target = storage.target()
    if target is None:
        return _empty(storage)
    connection, kind = _inspect(storage, target)
    if connection is not None:
        file_identity = identity(target) or (0, 0)
        return OpenedFile(connection, target, file_identity, storage.generation_of(target), _INSPECTED)
    if kind == "foreign":
        refuse_foreign(storage, target)
    if kind == "other":
        notice(_OTHER)
    elif kind in _REASONS:
        message = f"The index file {str(storage.path)!r} {_REASONS[kind]}; the next search begins a new index."
        notice(Diagnostic("index_damaged", message, _NEXT))
    return _empty(storage)


def _inspect(storage: IndexFiles, target: Path) -> tuple[Database | None, FileKind]:
    """Return a connection, or what is wrong with the file."""
    connection: Database | None = None
    try:
        connection = connect_read_only(target)
        kind = file_kind(connection)
        if kind == "ours" and lost_checksums(connection):
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


def _empty(storage: IndexFiles) -> OpenedFile:
    """Return an empty index in memory."""
    import apsw

    connection = cast("Database", apsw.Connection(":memory:"))
    add_functions(connection)
    create(connection)
    connection.pragma("query_only", 1)
    return OpenedFile(connection, storage.path, (0, 0), 0, _INSPECTED)
