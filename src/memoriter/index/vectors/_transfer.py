"""What a new index takes over from the one that it replaces: vectors, so that none is computed or paid for twice.

The other index may be damaged or of another version: what is readable is kept.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from memoriter.index._connection import transaction
from memoriter.index.vectors._cache import known_sizes

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from memoriter.index._connection import Database
    from memoriter.index.vectors._cache import VectorSet

_AT_ONCE = 4_096
"""Vectors that one statement reads, so that a large index is never in memory as a whole."""
_FAILURES = 400
"""The most statements that fail before the rest counts as unreadable; each unreadable page takes a few."""
_MAX_ID = 1 << 40
_KEPT = "(key GLOB 'batch:*' OR key = 'forgetting')"
"""Which values of `meta` another index takes over: jobs of embedding services, and that a text is being forgotten."""
_LAST_ID = "SELECT max(id) FROM embedding_cache"

_Vector = tuple[int, int, bytes, float, bytes]


def copy_vectors(connection: Database, old: Database, *, without: VectorSet | None = None) -> None:
    """Copy the vector sets with their metadata and baselines from an open index into a new, empty one.

    The vectors of the set `without` are not copied.
    """
    _copy_meta(old, connection, f"{_KEPT} OR key GLOB 'background:*'")
    _copy_sets(old, connection, without)


def salvage(connection: Database, old: Database) -> None:
    """Copy what cannot be computed for nothing from another index into a new, empty one; that index stays as it is.

    That is every readable vector, and the jobs of embedding services.

    Raises:
        apsw.Error: the disk is full, or another process keeps the other index from being read.
    """
    # One may be readable where the other is not.
    with skipping_unreadable():
        _copy_meta(old, connection, _KEPT)
    with skipping_unreadable():
        _copy_sets(old, connection, None)


@contextmanager
def skipping_unreadable() -> Generator[None]:
    """Go on after an error that would come again; others pass, because the other index may be deleted afterwards."""
    import apsw

    try:
        yield
    except (apsw.FullError, apsw.BusyError, apsw.LockedError):
        raise
    except (apsw.Error, OSError, ValueError, TypeError):
        return


def _copy_meta(old: Database, new: Database, condition: str) -> None:
    kept = old.execute(f"SELECT key, value FROM meta WHERE {condition}").fetchall()  # noqa: S608 (fixed text)
    new.executemany("INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)", kept)


def _copy_sets(old: Database, new: Database, without: VectorSet | None) -> None:
    sets = old.execute("SELECT id, fingerprint, dimensions, spec, created_at FROM sets").fetchall()
    sizes = {int(set_id): known_sizes(dimensions) for set_id, _, dimensions, *_ in sets}
    if without is not None:
        sizes[without.id] = set()
    with transaction(new):
        new.executemany("INSERT INTO sets(id, fingerprint, dimensions, spec, created_at) VALUES (?, ?, ?, ?, ?)", sets)
    for rows in _readable(old):
        with transaction(new):
            new.executemany(
                "INSERT OR IGNORE INTO embedding_cache(id, set_id, key, used_at, vector) VALUES (?, ?, ?, ?, ?)",
                [row for row in rows if len(row[4]) in sizes.get(row[1], ())],
            )


def _readable(old: Database) -> Iterator[list[_Vector]]:
    """Yield the readable vectors; a range of ids that cannot be read as a whole is halved."""
    import apsw

    statement = (
        "SELECT id, set_id, key, used_at, vector FROM embedding_cache WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
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
