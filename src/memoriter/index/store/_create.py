"""A new index file, and all pages of one written anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.index.store._connection import CHECKSUM_BYTES, has_checksums, reserve_checksums, set_counter, transaction
from memoriter.index.store._schema import APPLICATION_ID, SCHEMA, VERSION

if TYPE_CHECKING:
    from memoriter.index.store._connection import Database

_CHECKSUMS_KEY = "page_checksums"
"""Set in `meta` of a file whose pages have checksums."""


GENERATION = "generation"
"""The counter that numbers the indexes that were built at one path."""
_IDS_PER_GENERATION = 1 << 32
"""Chunk ids reserved for each generation: an id of an older generation never comes back."""


def create(connection: Database, *, generation: int) -> None:
    """Create the schema in an empty database, in one transaction."""
    last_id = _IDS_PER_GENERATION * max(0, generation - 1)
    with transaction(connection):
        connection.execute(SCHEMA).fetchall()
        connection.execute("INSERT INTO sqlite_sequence(name, seq) VALUES ('chunks', ?)", (last_id,))
        set_counter(connection, GENERATION, generation)
        if has_checksums(connection):
            connection.execute("INSERT INTO meta(key, value) VALUES (?, '1')", (_CHECKSUMS_KEY,))
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", VERSION)


def lost_checksums(connection: Database) -> bool:
    """Return whether header and content disagree about page checksums, which means that one of them is damaged."""
    recorded = connection.execute("SELECT value FROM meta WHERE key = ?", (_CHECKSUMS_KEY,)).get is not None
    reserved = int(connection.reserve_bytes("main"))
    return reserved != CHECKSUM_BYTES if recorded else reserved not in (0, CHECKSUM_BYTES)


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
