"""Other files than the index of the memory: the indexes of a folder, and SQLite files of other programs."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from memoriter.errors import IndexBusy, IndexUnavailable, UsageError, sentence
from memoriter.index._connection import connect_read_only, file_kind, vfs
from memoriter.index._files import BACKGROUND, IndexFiles, follow_links, index_files, lease_of
from memoriter.index._index import InspectedIndex
from memoriter.index._schema import APPLICATION_ID
from memoriter.plain_file import open_plain
from memoriter.records import StoredIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from memoriter.index._connection import Database


_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_ID_AT = slice(68, 72)
"""Where the application id is in the header of a database."""
_WAL_FORMAT = 2
"""Byte 18 of a database in write-ahead-log mode."""


def is_foreign(path: Path) -> bool:
    """Return whether another program owns the file at the path of an index.

    A database of SQLite belongs to memoriter if it has memoriter's application id, or no tables yet. Any other file
    belongs to memoriter if a lease of memoriter's is beside it: then it is a damaged index.
    """
    try:
        path = follow_links(path)
        if path.is_symlink() or lease_of(path).exists():
            return False
        with open_plain(path, follow=False) as file:
            header = file.read(_HEADER_BYTES)
    except (OSError, IndexUnavailable):
        return False
    if not header:
        return False
    if header.startswith(_MAGIC) and len(header) == _HEADER_BYTES:
        application = int.from_bytes(header[_ID_AT], "big")
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


class ForeignTables:
    """The tables of an open file. No code of the file runs: no trigger, no view, no function of its schema."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        self.names = frozenset(str(row[0]) for row in self._read(query))
        """The plain tables."""

    @classmethod
    @contextmanager
    def open(cls, file: Path, name: str) -> Generator[ForeignTables]:
        """Open a file of our own that is a copy of the foreign one.

        Raises:
            UsageError: it is not an SQLite database, or it is damaged.
        """
        import apsw

        connection: Any = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs())
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            yield cls(connection, name)
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise _broken(name, error) from error
        finally:
            connection.close()

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table in the order of insertion, with None for columns that it lacks.

        Raises:
            UsageError: the file is damaged.
        """
        if table not in self.names:
            return
        present = {str(row[1]) for row in self._read(f"PRAGMA table_info({_quoted(table)})")}
        wanted = [column for column in columns if column in present]
        if not wanted:
            return
        named = ", ".join(map(_quoted, wanted))
        for row in self._read(f"SELECT {named} FROM {_quoted(table)} ORDER BY rowid"):  # noqa: S608 - names are quoted
            yield {**dict.fromkeys(columns), **dict(zip(wanted, row, strict=True))}

    def _read(self, query: str) -> Iterator[tuple[Any, ...]]:
        import apsw

        try:
            yield from self._database.execute(query)
        except apsw.Error as error:
            raise _broken(self._name, error) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _broken(name: str, error: Exception) -> UsageError:
    return UsageError(f"The database {name!r} cannot be read: {sentence(error)}", remedy="Check that it is complete.")


LOCKS = {"embed": "is computing vectors for", BACKGROUND: "is indexing in the background", "watch": "is watching"}
"""The locks beside an index except its lease, each with what its holder does."""


def list_files(folder: Path, *, clock: Callable[[], float]) -> list[StoredIndex]:
    """Return the indexes of memoriter in a folder, by name; files of other programs are left out."""
    return [_listed(path, clock) for path in _own_indexes(folder)]


def _own_indexes(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    own = list[Path]()
    parts = set[Path]()
    # The files of an index have longer names than the index.
    for path in sorted(folder.iterdir(), key=lambda each: (len(each.name), each.name)):
        if path not in parts and _is_own(path):
            own.append(path)
            parts.update(index_files(path))
    return sorted(own)


def _is_own(path: Path) -> bool:
    """Return whether a file is an index: a database with memoriter's application id."""
    try:
        with open_plain(path, follow=False) as file:
            header = file.read(_ID_AT.stop)
    except (OSError, IndexUnavailable):
        return False
    return header.startswith(_MAGIC) and header[_ID_AT] == APPLICATION_ID.to_bytes(4, "big")


def _listed(path: Path, clock: Callable[[], float]) -> StoredIndex:
    passages = vectors = None
    with suppress(IndexUnavailable), closing(InspectedIndex.inspect(path, clock=clock)) as index:
        if not index.notices:
            passages = index.corpus().chunks
            vectors = sum(index.models().values())
    size = 0
    changed = None
    for file in index_files(path):
        with suppress(OSError):
            stat = file.lstat()
            size += stat.st_size
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(OSError):
            changed = max(changed or 0.0, file.stat().st_mtime)
    return StoredIndex(path.name, None, passages, vectors, size, changed)


def drop_file(folder: Path, name: str, *, clock: Callable[[], float]) -> None:
    """Delete an index with its logs, locks and the files that were set aside.

    Raises:
        IndexBusy: another process indexes or watches it.
        IndexUnavailable: a file cannot be deleted.
        UsageError: there is no such index, or the file is of another program.
    """
    path = next((each for each in _own_indexes(folder) if each.name == name), None)
    if path is None:
        message = f"{str(folder)!r} has no index {name!r}."
        raise UsageError(message, remedy="Run `memoriter store list` for the names.")
    storage = IndexFiles(path, clock)
    with ExitStack() as held:
        held.enter_context(storage.lease.hold(0.0))
        for lock, doing in LOCKS.items():
            remedy = "Wait until it is done, or stop it."
            busy = IndexBusy(f"Another process {doing} {str(path)!r}.", remedy=remedy)
            held.enter_context(storage.exclusive(lock, busy, 0.0))
        locks = {path.with_name(f"{path.name}.{kind}") for kind in ("lease", "lock", *LOCKS)}
        # The name by which others open it goes first.
        _delete([path, *(file for file in index_files(path) if file != path and file not in locks)])
    with suppress(IndexUnavailable):
        _delete(index_files(path))


def _delete(files: list[Path]) -> None:
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            message = f"{str(file)!r} could not be deleted: {sentence(error.strerror)}"
            raise IndexUnavailable(message, remedy="Check its permissions, then run the command again.") from error
