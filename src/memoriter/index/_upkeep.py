"""Work on a whole index file that compacting and forgetting need."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

from memoriter.index.files import _queries
from memoriter.index.store._connection import connect, increment, logged, set_counter
from memoriter.index.store._create import GENERATION, vacuum
from memoriter.index.store._files import remove
from memoriter.index.vectors import _cache, _segments
from memoriter.index.vectors._cache import VectorSet

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from memoriter.index.store._connection import Database
    from memoriter.index.store._files import IndexFiles

_LOGS = ("", "-wal", "-journal")


def disk_bytes(file: Path) -> int:
    """Return the size in bytes of an index file and its log; 0 if there is none."""
    parts = (file.with_name(file.name + log) for log in _LOGS)
    return sum(part.stat().st_size for part in parts if part.exists())


def merge_words(connection: Database) -> None:
    """Merge the word index into one piece. Expects an open transaction."""
    # `purge` does nothing unless chunks were deleted; here it is always worth its time.
    set_counter(connection, "deleted", 1)
    _queries.purge(connection)


def count_unused(connection: Database) -> int:
    """Return the number of vectors that no chunk or item refers to."""
    statement = f"SELECT count(*) FROM embedding_cache AS known WHERE {_cache.UNUSED}"  # noqa: S608 (fixed text)
    return int(connection.execute(statement).get)


@logged("compact")
def rewrite(storage: IndexFiles, *, network: bool) -> None:
    """Write the index densely into a new file and put it in the place of this one; if that fails, nothing changes."""
    fresh = storage.new_file()
    try:
        # Use a separate connection, because an unfinished statement would block VACUUM.
        with (
            closing(connect(storage.path, network=network)) as connection,
            closing(connect(fresh, network=network, create=True)) as copy,
        ):
            # VACUUM INTO writes pages before the first one, which says that pages have checksums.
            with cast("Any", copy).backup("main", connection, "main") as backup:
                backup.step()
            vacuum(copy)
            increment(copy, GENERATION)
        storage.publish(fresh)
    except BaseException:
        remove(fresh)
        raise


def damaged_files(storage: IndexFiles, *, delete: bool) -> tuple[tuple[str, ...], int]:
    """Return the names of damaged indexes beside this one, with their logs, and their total bytes.

    If `delete`, delete them.
    """
    start = storage.aside.name
    damaged = sorted(file for file in storage.path.parent.iterdir() if file.name.startswith(start))
    size = sum(file.lstat().st_size for file in damaged)
    for file in damaged if delete else ():
        file.unlink(missing_ok=True)
    return tuple(file.name for file in damaged), size


def drop_leftovers(connection: Database) -> None:
    """Delete codes, failures and baselines that deleted text has left."""
    rows = cast(
        "Iterable[tuple[int, str, int]]",
        connection.execute("SELECT id, fingerprint, dimensions FROM sets").fetchall(),
    )
    for vector_set in (VectorSet(*row) for row in rows):
        if _segments.exists(connection, vector_set):
            _segments.reconcile(connection, vector_set)
            _segments.rewrite_dead_segments(connection, vector_set)
    connection.execute(f"DELETE FROM failures AS known WHERE {_cache.UNUSED}")  # noqa: S608 (fixed text)
    connection.execute("DELETE FROM meta WHERE key GLOB 'background:*'")
