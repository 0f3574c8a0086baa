"""SQLite files of other programs: whether a file is one, and its tables."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from memoriter.errors import IndexUnavailable, UsageError, sentence
from memoriter.index.store._connection import connect_read_only, file_kind, vfs
from memoriter.index.store._files import follow_links
from memoriter.index.store._lease import lease_of
from memoriter.index.store._schema import APPLICATION_ID
from memoriter.plain_file import open_plain

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

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
