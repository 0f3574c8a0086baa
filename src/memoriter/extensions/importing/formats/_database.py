"""Read rows of another program's SQLite database, also inside an archive. Nothing is written to it or beside it."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.index import ForeignTables

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from memoriter.extensions.importing._files import Files


@contextmanager
def open_database(files: Files, name: str) -> Generator[ForeignTables]:
    """Open a copy of a database, with what its write-ahead log holds.

    The copy is in a private temporary folder: to read a database where it is, SQLite may have to write beside it.

    Raises:
        UsageError: it is not a database.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-wal"):
            if not suffix or f"{name}{suffix}" in files.names:
                with files.open(f"{name}{suffix}") as opened, Path(f"{copy}{suffix}").open("wb") as written:
                    shutil.copyfileobj(opened, written, 1 << 20)
        with ForeignTables.open(copy, name) as tables:
            yield tables


def rows(tables: ForeignTables, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, which may lack some of the columns, in the order of their insertion."""
    yield from tables.rows(table, columns)


def last_rows(tables: ForeignTables, table: str, columns: Sequence[str], *, by: str) -> Iterator[dict[str, Any]]:
    """Yield the last row for each value of a column, with the time of the first one.

    Raises:
        UsageError: the database has no such table.
    """
    if table not in tables.names:
        raise UsageError(f"The database has no table {table!r}.", remedy="Give the file history.db of mem0.")
    first = dict[Any, Any]()
    last = dict[Any, dict[str, Any]]()
    for row in tables.rows(table, columns):
        first.setdefault(row[by], row.get("created_at"))
        last.pop(row[by], None)
        last[row[by]] = row
    for key, row in last.items():
        yield row | {"created_at": first[key] or row.get("created_at")}
