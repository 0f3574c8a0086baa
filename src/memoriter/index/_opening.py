"""Opening the index at a path.

For use: build a missing file, replace one of another version or a damaged one, refuse a foreign one. A new index takes
over the vectors of the one that it replaces. For inspection: create and change no file.
"""

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from memoriter.errors import IndexUnavailable
from memoriter.index.store._connection import (
    add_functions,
    connect,
    connect_read_only,
    counter,
    file_kind,
    has_orphaned_log,
    identity,
    is_damage,
    logged,
    to_index_error,
    vfs,
)
from memoriter.index.store._files import GENERATION, create, lost_checksums
from memoriter.index.store._lease import lease_of
from memoriter.index.store._soundness import check, is_cut_short
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from memoriter.index.store._connection import Database, FileKind
    from memoriter.index.store._files import IndexFiles

_ATTEMPTS = 20
"""Other processes may delete and replace the file meanwhile, but not this many times in a row."""
_UNWRITABLE = frozenset({"CantOpenError", "ReadOnlyError", "IOError", "FullError", "PermissionsError"})
"""Errors of SQLite after which a file may still be readable."""
_NEXT = "Run `memoriter index`."
_INSPECTED = Diagnostic("index_read_only", "This command only inspects the index, so it stores nothing.", _NEXT)
_OTHER = Diagnostic("index_outdated", "The index was made by another version of memoriter.", _NEXT)


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A connection and the file it reads."""

    connection: Database
    identity: tuple[int, int]
    generation: int
    read_only_reason: Diagnostic | None = None
    """Why the file can only be read; None if it can be written."""


@logged("open")
def open_index(
    storage: IndexFiles, *, network: bool, notice: Callable[[Diagnostic], None], after: int = 0
) -> OpenedFile:
    """Open the index, whatever is at its path; `apsw` errors that are not damage pass through."""
    for _ in range(_ATTEMPTS):
        found = storage.identity()
        if found is None:
            storage.replace(None, partial(build, network=network, generation=after + 1))
            continue
        reason: Diagnostic | None = None
        try:
            with storage.opening():
                connection, kind = _try_open(storage.path, network=network)
                is_same = identity(storage.path) == found
        except Exception as error:
            if identity(storage.path) != found:
                continue  # another file replaced it meanwhile, and its log was deleted
            connection = _read_instead(storage.path, error)
            if connection is None:
                raise
            kind = "ours"
            is_same = identity(storage.path) == found
            reason = _read_only_notice(storage.path, error)
        if connection is not None and is_same:
            return OpenedFile(connection, found, counter(connection, GENERATION), reason)
        if connection is not None:
            connection.close()
        elif kind == "foreign":
            refuse_foreign(storage.path)
        elif kind == "damaged":
            replace_damaged(storage, found, network=network, notice=notice, after=after)
        elif kind is not None:
            rebuilt = partial(build, network=network, generation=after + 1, earlier=storage.path)
            storage.replace(found, rebuilt)
    raise IndexUnavailable(
        f"The index {str(storage.path)!r} keeps changing.", remedy="Stop the other process and try again."
    )


def _try_open(path: Path, *, network: bool) -> tuple[Database | None, FileKind | None]:
    """Return a connection, or what is wrong with the file, or neither if the file is gone."""
    import apsw

    connection = None
    try:
        connection = connect(path, network=network, trusted=False)
        kind = _kind_of(connection, path)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if is_damage(error):
            return None, "damaged"
        if isinstance(error, apsw.CantOpenError) and not path.exists():
            return None, None
        raise
    if kind == "ours":
        return connection, kind
    connection.close()
    return None, kind


def _kind_of(connection: Database, path: Path) -> FileKind:
    kind = file_kind(connection)
    if kind == "foreign" and lease_of(path).exists():
        return "damaged"
    if kind == "ours" and (
        lost_checksums(connection) or is_cut_short(connection, path) or not counter(connection, GENERATION)
    ):
        return "damaged"
    return kind


def _read_instead(path: Path, error: Exception) -> Database | None:
    """Return a read-only connection to an index that could not be opened for writing: a read-only folder, a full disk.

    The result is None if something else is wrong, or if the log has content that only a writing process can merge.
    """
    import apsw

    if type(error).__name__ not in _UNWRITABLE or has_orphaned_log(path):
        return None
    with suppress(apsw.Error, OSError):
        connection = connect_read_only(path)
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


def build(path: Path, *, network: bool, generation: int, earlier: Path | None = None, damaged: bool = False) -> None:
    """Make a new, empty index file, with the vectors of an `earlier` one if it is given.

    The number of the new index is at least `generation`, and greater than that of the earlier one.
    """
    with closing(connect(path, network=network, create=True)) as connection, _earlier(earlier, damaged=damaged) as old:
        create(connection, generation=max(generation, _generation_of(old) + 1))
        if old is not None:
            from memoriter.index.vectors._transfer import salvage

            salvage(connection, old)


@contextmanager
def _earlier(path: Path | None, *, damaged: bool) -> Generator[Database | None]:
    """Yield a connection to an index that is replaced; None if there is none, or if it cannot be opened at all."""
    import apsw

    old: Database | None = None
    if path is not None and damaged:
        # `immutable`: the file is neither locked nor written to, and a log beside it is left alone.
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        old = cast("Database", apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags, vfs=vfs()))
    elif path is not None:
        from memoriter.index.vectors._transfer import skipping_unreadable

        with skipping_unreadable():
            old = connect_read_only(path)
    try:
        yield old
    finally:
        if old is not None:
            old.close()


def _generation_of(old: Database | None) -> int:
    """Return the number of an index; 0 if it has none that can be read."""
    import apsw

    if old is not None:
        with suppress(apsw.Error, ValueError):
            return counter(old, GENERATION)
    return 0


def refuse_foreign(path: Path) -> None:
    """Raise IndexUnavailable for a file that another program owns."""
    raise IndexUnavailable(
        f"The file {str(path)!r} belongs to another program. Nothing was changed.",
        remedy="Set memorySearch.store.path to a file of its own, or remove that setting.",
    )


def replace_damaged(
    storage: IndexFiles,
    found: tuple[int, int],
    *,
    network: bool,
    notice: Callable[[Diagnostic], None],
    after: int,
) -> None:
    """Build a new index in the place of a damaged one, unless another file is there by now, and add a notice.

    The damaged file is kept, because it may be something that a person has saved there.
    """
    rebuilt = partial(build, network=network, generation=after + 1, earlier=storage.path, damaged=True)
    if storage.replace(found, rebuilt, set_aside=True):
        place = storage.aside.name
        message = (
            f"The index file {str(storage.path)!r} is damaged; it was moved to {place!r} and a new index was begun."
        )
        remedy = "Run `memoriter index` to fill it; delete the moved file when nobody needs it."
        notice(Diagnostic("index_quarantined", message, remedy))


@logged("inspect")
def inspect_index(storage: IndexFiles, *, notice: Callable[[Diagnostic], None], doubtful: bool = False) -> OpenedFile:
    """Open the index for reading, without creating or changing any file; an empty index in memory stands in.

    That is for a file that does not exist or cannot serve. `apsw` errors that are not damage pass through.

    Args:
        storage: the files of the index.
        notice: called with a diagnostic for a file that exists and cannot serve as it is.
        doubtful: whether a read has failed, so that the whole file is checked.
    """
    found = storage.identity()
    if found is None:
        return _empty()
    try:
        connection = connect_read_only(storage.path)
    except Exception as error:
        if not is_damage(error):
            raise
        return _stand_in(storage, "damaged", notice)
    try:
        kind = _kind_of(connection, storage.path)
        if kind == "ours" and doubtful:
            check(connection, storage.path)
    except Exception as error:
        connection.close()
        if not is_damage(error):
            raise
        return _stand_in(storage, "damaged", notice)
    if kind == "ours":
        return OpenedFile(connection, found, counter(connection, GENERATION), _INSPECTED)
    connection.close()
    return _stand_in(storage, kind, notice)


def _stand_in(storage: IndexFiles, kind: FileKind, notice: Callable[[Diagnostic], None]) -> OpenedFile:
    """Return an empty index, and add a notice about the file that it stands for."""
    if kind == "foreign":
        refuse_foreign(storage.path)
    if kind == "other":
        notice(_OTHER)
    if kind == "damaged":
        message = f"The index file {str(storage.path)!r} is damaged; the next search begins a new index."
        notice(Diagnostic("index_damaged", message, _NEXT))
    return _empty()


def _empty() -> OpenedFile:
    """Return an empty index in memory."""
    import apsw

    connection = cast("Database", apsw.Connection(":memory:"))
    add_functions(connection)
    create(connection, generation=0)
    connection.pragma("query_only", 1)
    return OpenedFile(connection, (0, 0), 0, _INSPECTED)
