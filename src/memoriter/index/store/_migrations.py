"""Migrations from every earlier schema to the current one. Steps are appended and never edited.

A new index is created from `_schema.py` alone, so each step has its counterpart there. A test compares both.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.index.store._connection import CHECKSUM_BYTES, has_checksums, logged, reserve_checksums, transaction, vfs
from memoriter.index.store._schema import (
    APPLICATION_ID,
    CODE_TABLES,
    ITEM_TABLE,
    NAME_TABLE,
    SCHEMA,
    TAG_TABLE,
    VERSION,
)
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.index.store._connection import Database
    from memoriter.types import SourceKind

LARGE_BYTES = 64 * 1024 * 1024
"""A larger file gets checksums the next time it is rewritten: doing so at once would take seconds."""
_CHECKSUMS_KEY = "page_checksums"
"""Set in `meta` of a file whose pages have checksums."""


EVERYTHING: tuple[SourceKind, ...] = ("memory", "sessions")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: `sql` turns the schema of `version - 1` into that of `version`."""

    version: int
    name: str
    sql: str = ""
    reread: tuple[SourceKind, ...] = ()
    """The kinds of sources whose files the next sync reads again: `EVERYTHING`, or one kind.

    Their chunks stay searchable until then. Chunks with unchanged text keep their vectors.
    """


_TAILS = """
-- How far a file that only grows was read, as the sync room writes it; empty for files that are read whole.
ALTER TABLE files ADD COLUMN tail TEXT NOT NULL DEFAULT '';
"""

_CHECKS = """
-- `Source.stamp` of the file when it was read.
ALTER TABLE files ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;
-- Checksums, as `_sums.py` makes them; NULL: written before there were any.
ALTER TABLE embedding_cache ADD COLUMN sum INTEGER;
ALTER TABLE code_segments ADD COLUMN sum INTEGER;
"""

_TERM_COUNTS = "ALTER TABLE chunks RENAME COLUMN bag TO term_counts;"

_LONG_ITEMS = """
-- The vectors of items alone become shorter with the next syncs, as `vectors/_items.py` does it.
INSERT INTO counters(name, value) SELECT 'long_items', max(id) FROM embedding_cache HAVING max(id) IS NOT NULL;
"""

MIGRATIONS: tuple[Migration, ...] = (
    Migration(2, "codes of vectors", CODE_TABLES),
    Migration(3, "how far a growing file was read", _TAILS),
    Migration(4, "checksums and stamps of files", _CHECKS),
    Migration(5, "titles and tags of notes", TAG_TABLE, reread=("memory",)),
    Migration(6, "names of notes, and items of chunks", f"{NAME_TABLE}{ITEM_TABLE}{_TERM_COUNTS}", reread=EVERYTHING),
    Migration(7, "short vectors of items", _LONG_ITEMS),
)


def create(connection: Database, *, now: float, first_id: int = 1) -> None:
    """Create the current schema in an empty database, in one transaction; chunk ids start at `first_id`."""
    with transaction(connection):
        # Another process may have created the schema first.
        if version(connection) == 0:
            connection.execute(SCHEMA).fetchall()
            connection.execute("INSERT INTO sqlite_sequence(name, seq) VALUES ('chunks', ?)", (first_id - 1,))
            connection.pragma("application_id", APPLICATION_ID)
            if has_checksums(connection):
                _note_checksums(connection)
            _record(connection, VERSION, "created", now)


@logged("migrate")
def migrate(connection: Database, *, now: float, steps: Sequence[Migration] = MIGRATIONS) -> list[str]:
    """Apply the missing steps, each in a transaction with its record, and return their names."""
    applied: list[str] = []
    for step in steps:
        with transaction(connection):
            if version(connection) >= step.version:
                continue
            connection.execute(step.sql).fetchall()
            if step.reread:
                _forget_reads(connection, step.reread)
            _record(connection, step.version, step.name, now)
        applied.append(step.name)
    return applied


def _forget_reads(connection: Database, kinds: Sequence[SourceKind]) -> None:
    """Mark files so that a sync takes them for changed: no file has this stamp and hash, and reading starts anew."""
    statement = "UPDATE files SET stamp = -1, hash = '', tail = '' WHERE kind IN (SELECT value FROM json_each(?))"
    connection.execute(statement, (json.dumps(kinds),))


def add_checksums(connection: Database) -> None:
    """Rewrite every page with a checksum, unless another process uses the file or the file is large."""
    import apsw

    large = int(connection.pragma("page_count")) * int(connection.pragma("page_size")) > LARGE_BYTES
    if large or vfs() is None or has_checksums(connection):
        return
    with suppress(apsw.BusyError, apsw.LockedError, apsw.FullError):
        vacuum(connection)
    if has_checksums(connection):
        with transaction(connection):
            _note_checksums(connection)


def vacuum(connection: Database) -> None:
    """Write all pages anew, densely and with checksums; the copy that this needs is on disk, not in memory."""
    # Pages get checksums once the first page says so. Without a log, a page that leaves the cache before has none.
    keep_in_cache = not has_checksums(connection) and connection.pragma("journal_mode") != "wal"
    reserve_checksums(connection)
    connection.pragma("temp_store", 1)
    connection.pragma("cache_spill", int(not keep_in_cache))
    try:
        connection.execute("VACUUM").fetchall()
    finally:
        connection.pragma("cache_spill", 1)
        connection.pragma("temp_store", 2)


def lost_checksums(connection: Database) -> bool:
    """Return whether header and content disagree about page checksums, which means that one of them is damaged."""
    recorded = connection.execute("SELECT value FROM meta WHERE key = ?", (_CHECKSUMS_KEY,)).get is not None
    reserved = int(connection.reserve_bytes("main"))
    return reserved != CHECKSUM_BYTES if recorded else reserved not in (0, CHECKSUM_BYTES)


def _note_checksums(connection: Database) -> None:
    connection.execute("INSERT OR REPLACE INTO meta(key, value) VALUES (?, '1')", (_CHECKSUMS_KEY,))


def version(connection: Database) -> int:
    """Return the schema version of the file; 0 for an empty file."""
    return int(connection.pragma("user_version"))


def _record(connection: Database, number: int, name: str, now: float) -> None:
    connection.execute("INSERT INTO migrations(version, name, applied_at) VALUES (?, ?, ?)", (number, name, now))
    connection.pragma("user_version", number)
