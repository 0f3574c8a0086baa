"""Read tables of another program's SQLite file."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError, sentence
from memoriter.index.store._connection import vfs

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from memoriter.index.store._connection import Database


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

        Args:
            file: the copy.
            name: the name of the foreign file, for messages.

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
