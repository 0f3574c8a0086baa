"""Which row of a LanceDB table has a key, and how a row gets into the table once, whoever writes at the same moment."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from memoriter.errors import IndexUnavailable
from memoriter.extensions.longterm import _lance_upkeep as upkeep
from memoriter.permissions import PRIVATE_FILE

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

KEY = ("id", "principal")
"""The columns that identify a row."""
LOOKED_UP = 200
"""Rows of one write at most whose keys are looked up in the index; the keys of more rows are compared with all."""
LOCK_SECONDS = 60.0
"""How long a write waits for another process, which holds the lock for the time of one write."""
_LOCK = "memories.lock"
_POLL_SECONDS = 0.005
log = logging.getLogger(__name__)


@contextmanager
def writers_lock(folder: Path) -> Generator[bool]:
    """Hold the lock of all writers of a database, and yield whether the file system has locks.

    The system releases the lock of a process that is killed. Raises IndexUnavailable: another process holds it for
    longer than `LOCK_SECONDS`.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / _LOCK, mode=PRIVATE_FILE, poll_interval=_POLL_SECONDS, fallback_to_soft=False)
    try:
        lock.acquire(timeout=LOCK_SECONDS)
    except Timeout as error:
        message = (
            f"Another process has been writing the long-term memories in {str(folder)!r} for {LOCK_SECONDS:.0f} s."
        )
        raise IndexUnavailable(message, remedy="Stop the other process, or try again.") from error
    except OSError as error:  # some network file systems have no locks
        log.info("the writers of %r are not locked: %s", str(folder), error)
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def create(database: Any, name: str, schema: Any) -> Any:
    """Return the table of a name, which is created unless it exists.

    LanceDB looks twice whether the table exists. If another process creates it in between, which only happens without
    the lock of all writers, LanceDB replaces it by an empty one as its next version. The rows of the version before are
    then added again.

    Raises:
        RuntimeError: nothing was created.
        OSError: likewise.
    """
    table = _created_or_opened(database, name, schema)
    if (created := table.version) > 1 and not table.count_rows():
        table.checkout(created - 1)
        rows = table.to_arrow()
        table.checkout_latest()
        if rows.num_rows:
            log.info("%s rows are added again, which another process stored while the table was created", rows.num_rows)
            write(table, rows, (), locked=False)
    return table


def _created_or_opened(database: Any, name: str, schema: Any) -> Any:
    for _ in range(upkeep.TRIES - 1):
        try:
            return database.create_table(name, schema=schema, exist_ok=True)
        except (RuntimeError, OSError) as error:  # another process created it at the same moment
            if not upkeep.is_conflict(error):
                raise
    return database.create_table(name, schema=schema, exist_ok=True)


def write(table: Any, rows: Any, keys: Sequence[tuple[str, str]], *, locked: bool) -> None:
    """Add rows, or replace those with the same keys.

    A merge compares the keys with those of all rows, and meets another merge of the same new key as a conflict, on
    which it is repeated. An index of the ids makes a lookup much faster than that, but LanceDB does not notice such
    conflicts if a merge uses the index. So new rows are simply added after a lookup, if no other writer can add them
    meanwhile, and everything else is merged without the index.

    Args:
        table: the table, in its latest version.
        rows: the rows as a table of Arrow.
        keys: the id and the principal of each row; only needed with the lock.
        locked: whether this process holds the lock of all writers.

    Raises:
        RuntimeError: nothing was written.
        OSError: likewise.
    """
    if locked and len({*keys}) == len(keys) <= LOOKED_UP and upkeep.has_index(table, upkeep.ID_INDEX):
        ids, principals = (", ".join(map(quoted, sorted({*part}))) for part in zip(*keys, strict=True))
        condition = f"principal IN ({principals}) AND id IN ({ids})"
        if not table.search().where(condition).select(["id"]).limit(1).to_list():
            upkeep.retried(table, lambda: table.add(rows))
            return
    upkeep.retried(
        table,
        lambda: (
            table.merge_insert([*KEY])
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .use_index(False)
            .execute(rows)
        ),
    )


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
