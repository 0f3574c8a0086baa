"""Recovery of vectors from a damaged index, so that one bad page does not cause paid or repeated computation."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from memoriter.index import _checksums
from memoriter.index._cache import find_broken
from memoriter.index._connection import transaction

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.index._database import Database

_ATTEMPTS = 400
"""The maximum number of statements; each unreadable page takes a few."""
_MAX_ID = 1 << 40

_Vector = tuple[int, int, bytes, float, bytes, int]


def salvage(connection: Database, damaged: Path) -> None:
    """Copy every vector that is readable and matches its checksum from a damaged index into a new, empty one.

    Unreadable data is skipped, and the damaged file stays as it is.
    """
    import apsw

    # `immutable`: the file is neither locked nor written to, and a log beside it is left alone.
    place = f"file:{quote(str(damaged))}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        old = cast("Database", apsw.Connection(place, flags=flags, vfs=_checksums.vfs()))
    except apsw.Error:
        return
    with closing(old), suppress(apsw.Error, ValueError, TypeError):
        sets = old.execute("SELECT id, fingerprint, dimensions, spec, created_at FROM sets").fetchall()
        for set_id, fingerprint, dimensions, spec, created in sets:
            with transaction(connection):
                connection.execute(
                    "INSERT INTO sets(id, fingerprint, dimensions, spec, created_at) VALUES (?, ?, ?, ?, ?)",
                    (set_id, fingerprint, dimensions, spec, created),
                )
                _copy(old, connection, set_id, dimensions)


def _copy(old: Database, new: Database, set_id: int, dimensions: int) -> None:
    for rows in _readable(old):
        rows_of_set = [row for row in rows if row[1] == set_id]
        broken = set(find_broken([(row[0], row[2], row[5], row[4]) for row in rows_of_set], dimensions))
        new.executemany(
            "INSERT OR IGNORE INTO embedding_cache(id, set_id, key, used_at, vector, sum) VALUES (?, ?, ?, ?, ?, ?)",
            [row for row in rows_of_set if row[0] not in broken],
        )


def _readable(old: Database) -> Iterator[list[_Vector]]:
    """Yield the readable vectors; a range of ids that cannot be read as a whole is halved."""
    import apsw

    statement = (
        "SELECT id, set_id, key, used_at, vector, sum FROM embedding_cache WHERE id BETWEEN ? AND ? AND sum IS NOT NULL"
    )
    try:
        last = int(old.execute("SELECT max(id) FROM embedding_cache").get or 0)
    except apsw.Error:
        last = _MAX_ID
    ranges, attempts = [(0, last)], 0
    while ranges and attempts < _ATTEMPTS:
        first, end = ranges.pop()
        attempts += 1
        try:
            yield cast("list[_Vector]", old.execute(statement, (first, end)).fetchall())
        except apsw.Error:
            if first < end:
                middle = (first + end) // 2
                ranges += [(middle + 1, end), (first, middle)]
