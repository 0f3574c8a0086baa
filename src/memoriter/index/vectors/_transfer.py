"""Vectors taken over from another index file, so that no vector is computed or paid for twice.

The other file may be damaged: what is readable and matches its checksum is kept.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from memoriter.index.store._connection import connect_read_only, transaction, vfs
from memoriter.index.vectors._cache import LENGTH_ERROR
from memoriter.index.vectors._stored_vectors import decode, known_sizes

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from memoriter.index.store._connection import Database
    from memoriter.index.vectors._cache import VectorSet

_AT_ONCE = 4_096
"""Vectors that one statement reads, so that a large index is never in memory as a whole."""
_FAILURES = 400
"""The most statements that fail before the rest counts as unreadable; each unreadable page takes a few."""
_MAX_ID = 1 << 40
_KEPT = "(key GLOB 'batch:*' OR key = 'forgetting')"
"""Which values of `meta` another index takes over: jobs of embedding services, and that a text is being forgotten."""
_LAST_ID = "SELECT max(id) FROM embedding_cache"

_Vector = tuple[int, int, bytes, float, bytes, int]


def copy_vectors(connection: Database, old: str, *, without: VectorSet | None = None) -> None:
    """Copy the vector sets and their metadata from another index file into this empty one, in one transaction.

    The vectors of the set `without` are not copied.
    """
    connection.execute("ATTACH ? AS old", (old,))
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            "INSERT INTO main.sets(id, fingerprint, dimensions, spec, created_at)"
            " SELECT id, fingerprint, dimensions, spec, created_at FROM old.sets"
        )
        connection.execute(
            "INSERT INTO main.embedding_cache(id, set_id, key, used_at, vector, sum)"
            " SELECT id, set_id, key, used_at, vector, sum FROM old.embedding_cache WHERE set_id IS NOT ?",
            (without.id if without else None,),
        )
        kept = f"SELECT key, value FROM old.meta WHERE {_KEPT} OR key GLOB 'background:*'"  # noqa: S608 (fixed text)
        connection.execute(f"INSERT OR REPLACE INTO main.meta(key, value) {kept}")
        _drop_broken(connection)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("DETACH old")


def _drop_broken(connection: Database) -> None:
    """Delete vectors that do not match their checksum or do not have length 1, and the baselines computed from them."""
    broken: list[int] = []
    for set_id, dimensions in connection.execute("SELECT id, dimensions FROM sets").fetchall():
        cursor = connection.execute("SELECT id, key, sum, vector FROM embedding_cache WHERE set_id = ?", (set_id,))
        vectors = cast("Iterator[tuple[int, bytes, int, bytes]]", iter(cursor))
        while batch := list(islice(vectors, 4096)):
            broken += find_broken(batch, dimensions)
    if broken:
        connection.executemany("DELETE FROM embedding_cache WHERE id = ?", [(row,) for row in broken])
        connection.execute("DELETE FROM meta WHERE key GLOB 'background:*'")


def find_broken(rows: Sequence[tuple[int, bytes, int, bytes]], dimensions: int) -> list[int]:
    """Return the ids of damaged vectors."""
    import numpy as np

    sizes = known_sizes(dimensions)
    broken = [row for row, _, _, vector in rows if len(vector) not in sizes]
    whole = [each for each in rows if len(each[3]) in sizes]
    if not whole:
        return broken
    with np.errstate(all="ignore"):
        decoded = decode([key for _, key, _, _ in whole], [vector for *_, vector in whole], dimensions)
        lengths = np.einsum("ij,ij->i", decoded.rows, decoded.rows, dtype=np.float64)
        unit_length = np.abs(lengths - 1) < LENGTH_ERROR
    for (row, _, expected, _), actual, has_unit_length in zip(whole, decoded.sums, unit_length.tolist(), strict=True):
        if not has_unit_length or expected != actual:
            broken.append(row)
    return broken


def salvage(connection: Database, file: Path, *, damaged: bool) -> None:
    """Copy what cannot be computed for nothing from another index into a new, empty one; that index stays as it is.

    That is every vector that is readable and matches its checksum, and the jobs of embedding services.

    Args:
        connection: the new index.
        file: the other index, which may be of another version.
        damaged: a log beside a damaged file is left alone.

    Raises:
        apsw.Error: the disk is full, or another process keeps the other index from being read.
    """
    for copy in (_copy_meta, _copy_sets):  # one may be readable where the other is not
        with (
            _without_what_is_unreadable(),
            closing(_open_damaged(file) if damaged else connect_read_only(file)) as old,
        ):
            copy(old, connection)


@contextmanager
def _without_what_is_unreadable() -> Generator[None]:
    """Go on after an error that would come again; others pass, because the other index may be deleted afterwards."""
    import apsw

    try:
        yield
    except (apsw.FullError, apsw.BusyError, apsw.LockedError):
        raise
    except (apsw.Error, OSError, ValueError, TypeError):
        return


def _copy_meta(old: Database, new: Database) -> None:
    kept = old.execute(f"SELECT key, value FROM meta WHERE {_KEPT}").fetchall()  # noqa: S608 (fixed text)
    new.executemany("INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)", kept)


def _copy_sets(old: Database, new: Database) -> None:
    sets = old.execute("SELECT id, fingerprint, dimensions, spec, created_at FROM sets").fetchall()
    for set_id, fingerprint, dimensions, spec, created in sets:
        with transaction(new):
            new.execute(
                "INSERT INTO sets(id, fingerprint, dimensions, spec, created_at) VALUES (?, ?, ?, ?, ?)",
                (set_id, fingerprint, dimensions, spec, created),
            )
            _copy(old, new, set_id, dimensions)


def _open_damaged(file: Path) -> Database:
    import apsw

    # `immutable`: the file is neither locked nor written to.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return cast("Database", apsw.Connection(f"file:{quote(str(file))}?immutable=1", flags=flags, vfs=vfs()))


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
        "SELECT id, set_id, key, used_at, vector, sum FROM embedding_cache WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
    )
    try:
        last = int(old.execute(_LAST_ID).get or 0)
    except apsw.Error:
        last = _MAX_ID
    ranges = [(0, last)]
    failures = 0
    while ranges and failures < _FAILURES:
        first, end = ranges.pop()
        try:
            rows = cast("list[_Vector]", old.execute(statement, (first, end, _AT_ONCE)).fetchall())
        except apsw.BusyError:
            raise
        except apsw.Error:
            failures += 1
            if first < end:
                middle = (first + end) // 2
                ranges += [(middle + 1, end), (first, middle)]
        else:
            yield rows
            if len(rows) == _AT_ONCE:
                ranges.append((rows[-1][0] + 1, end))
