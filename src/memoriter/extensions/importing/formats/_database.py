"""Read rows of another program's SQLite database, also inside an archive. Nothing is written to it or beside it."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.index import ForeignTables

if TYPE_CHECKING:
    from collections.abc import Generator

    from memoriter.extensions.importing._files import Files


@contextmanager
def open_database(files: Files, name: str) -> Generator[ForeignTables]:
    """Open a copy of a database, with what its write-ahead log holds.

    The copy is in a private temporary folder: to read a database where it is, SQLite may have to write beside it.
    Raises UsageError: it is not a database.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", "-wal"):
            if not suffix or f"{name}{suffix}" in files.names:
                with files.open(f"{name}{suffix}") as opened, Path(f"{copy}{suffix}").open("wb") as written:
                    shutil.copyfileobj(opened, written, 1 << 20)
        with ForeignTables.open(copy, name) as tables:
            yield tables
