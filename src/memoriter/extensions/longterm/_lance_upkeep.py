"""What LanceDB leaves to its users: whose row has a key, small files, indexes, and writers that meet others."""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from memoriter.errors import IndexUnavailable
from memoriter.permissions import PRIVATE_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

T = TypeVar("T")

CHECK_EVERY = 16
"""Versions of a table after which its data files are counted. Each write makes a version, in whatever process."""
MERGED_FROM = 64
"""Number of data files from which they are merged."""
KEPT_SECONDS = 10.0
"""How long earlier versions are kept, because a search of another process may still read them."""
TRIES = 10
PAUSE = 0.02
"""Attempts of a write that meets other writers, and the seconds before the second one; each pause doubles."""
LONGEST_PAUSE = 2.0
PROBES = 96
REFINED = 20
"""Partitions of the vector index that a search reads, and vectors compared exactly for each memory that it returns."""
DIMENSIONS_FOR_BITS = 256
"""Dimensions from which one bit of each is enough to select the vectors to compare; below, a byte of each is kept."""
FILTERED = ("principal", "origin", "status", "approved")
"""Columns of few values that a search filters by; they get an index together with the vectors."""
TERMS = "terms"
"""The column of the analysed words of a memory, with a space between two."""
ID_INDEX = "id_idx"
_VECTOR_INDEX = "vector_idx"
_LOG_LEVEL = "LANCEDB_LOG"
_READ_AHEAD = "LANCE_DEFAULT_IO_BUFFER_SIZE"
_READ_AHEAD_BYTES = 256 << 20
"""What LanceDB reads of a table before it is used: 2 GB by default, which a merge in a bucket then needs as memory."""
_M_ARENA_MAX = -8
"""The parameter of `mallopt` that limits the number of heaps."""
log = logging.getLogger(__name__)

KEY = ("id", "principal")
"""The columns that identify a row."""
LOOKED_UP = 200
"""Rows of one write at most whose keys are looked up in the index; the keys of more rows are compared with all."""
LOCK_SECONDS = 60.0
"""How long a write waits for another process, which holds the lock for the time of one write."""
_LOCK = "memories.lock"
_POLL_SECONDS = 0.005


def retried(table: Any, write: Callable[[], T]) -> T:
    """Return the result of a write to a table, repeated on its latest version while other processes write, too.

    Raises:
        RuntimeError: the write failed for another reason, or met other writers at each attempt; nothing was written.
        OSError: likewise.
    """
    for number in range(TRIES - 1):
        try:
            return write()
        except (RuntimeError, OSError) as error:
            if not is_conflict(error):
                raise
            log.info("a write of long-term memories is repeated: %s", error)
            # Processes that wait for different times do not meet again.
            time.sleep(min(PAUSE * 2**number, LONGEST_PAUSE) * (1 + os.getpid() % 8 / 8))
            table.checkout_latest()
    return write()


def is_conflict(error: Exception) -> bool:
    """Return whether a write failed only because another process wrote at the same moment."""
    text = str(error).lower()
    return any(each in text for each in ("commit conflict", "concurrent", "retryable"))


def index_words(table: Any) -> None:
    """Index the terms, which are those of the index of notes: stems, parts of names, two characters of Chinese."""
    from lancedb.index import FTS

    config = FTS(
        base_tokenizer="whitespace",
        max_token_length=None,
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
    )
    retried(table, lambda: table.create_index(TERMS, config=config, replace=True))


def optimize(table: Any, kept: float, exact_below: int) -> None:
    """Merge small files, drop versions older than `kept` seconds, and bring the indexes up to date.

    From `exact_below` rows, the vectors and the ids get an index.
    """

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # readers of removed versions read again
            table.optimize(cleanup_older_than=timedelta(seconds=kept))

    retried(table, run)
    built = [index_vectors(table, exact_below), index_ids(table, exact_below)]
    if any(built):
        retried(table, run)  # drops the versions before the indexes


def is_due(table: Any) -> bool:
    """Return whether a table has so many data files that they are to be merged."""
    return table.stats()["fragment_stats"]["num_fragments"] >= MERGED_FROM


def index_vectors(table: Any, exact_below: int) -> bool:
    """Build the vector index of a large table that has none, and return whether it was built.

    `optimize` adds later rows to it. Without an index, searches compare all vectors, which only takes longer.
    """
    if table.count_rows() < exact_below or indexed_vectors(table):
        return False
    from lancedb.index import Bitmap, IvfRq, IvfSq

    dimensions = table.schema.field("vector").type.list_size
    kind = IvfRq if dimensions >= DIMENSIONS_FOR_BITS else IvfSq
    config = kind(distance_type="cosine")
    try:
        for column in FILTERED:
            retried(table, lambda column=column: table.create_index(column, config=Bitmap(), replace=True))
        retried(table, lambda: table.create_index("vector", config=config, replace=True, name=_VECTOR_INDEX))
    except (RuntimeError, OSError, ValueError) as error:
        log.warning("the vectors of long-term memories were not indexed: %s", error)
        return False
    return True


def index_ids(table: Any, exact_below: int) -> bool:
    """Build the index of the ids of a large table that has none, and return whether it was built.

    `optimize` adds later rows to it. Without the index, each write compares its keys with those of all rows.
    """
    if has_index(table, ID_INDEX) or table.count_rows() < exact_below:
        return False
    from lancedb.index import BTree

    try:
        retried(table, lambda: table.create_index("id", config=BTree(), replace=True, name=ID_INDEX))
    except (RuntimeError, OSError, ValueError) as error:
        log.warning("the ids of long-term memories were not indexed: %s", error)
        return False
    return True


def drop_indexes(table: Any) -> None:
    """Remove the indexes that hold ids and short codes of vectors, of deleted rows, too."""
    for name in (_VECTOR_INDEX, ID_INDEX):
        if has_index(table, name):
            retried(table, lambda name=name: table.drop_index(name))


def has_index(table: Any, name: str) -> bool:
    return any(index.name == name for index in table.list_indices())


def indexed_vectors(table: Any) -> int:
    """Return the number of vectors in the vector index; 0: there is none."""
    if not has_index(table, _VECTOR_INDEX):
        return 0
    found = table.index_stats(_VECTOR_INDEX)
    return 0 if found is None else found.num_indexed_rows


def nearest(
    table: Any, vector: Any, condition: str, limit: int, *, exact_below: int, columns: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the rows with the most similar vectors among those that fulfil a condition of SQL.

    All vectors are compared, unless the condition holds for at least `exact_below` rows. The index is not used for few
    rows among many: the partitions that it reads may hold none of them. The column `_distance` is 1 minus the cosine.
    """
    query = table.search(vector).distance_type("cosine").where(condition, prefilter=True).limit(limit)
    query = query.select([*columns])
    if table.count_rows() >= exact_below and indexed_vectors(table) and table.count_rows(condition) >= exact_below:
        return query.nprobes(PROBES).refine_factor(REFINED).to_list()
    return query.bypass_vector_index().to_list()


def imported() -> Any:
    """Return the module `lancedb`, set up for this process unless the program has imported it before.

    Without that, it prints hundreds of warnings that some parts of a vector index have got no new vectors. Its variable
    `LANCEDB_LOG` chooses what it prints; it is read when the module is imported, and there is no other setting. How far
    it reads ahead is also only a variable, which is read later and therefore stays.
    """
    if "lancedb" not in sys.modules:
        limit_allocators()
        os.environ.setdefault(_READ_AHEAD, str(_READ_AHEAD_BYTES))  # noqa: TID251 - see above
        given = os.environ.get(_LOG_LEVEL)  # noqa: TID251 - see above
        os.environ[_LOG_LEVEL] = given or "error"  # noqa: TID251 - see above
        try:
            importlib.import_module("lancedb")
        finally:
            if given is None:
                del os.environ[_LOG_LEVEL]  # noqa: TID251 - see above
    return importlib.import_module("lancedb")


def limit_allocators() -> None:
    """Let LanceDB's threads share one heap of the GNU C library, and Arrow use the same one.

    LanceDB starts dozens of threads, and each would keep the memory that it frees in a heap of its own: 10,000 single
    writes then cost hundreds of megabytes, of which a tenth is in use. These settings are those of the whole process.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library has no such setting
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    import pyarrow as pa

    arrow = cast("Any", pa)
    arrow.set_memory_pool(arrow.system_memory_pool())


def give_back_memory() -> None:
    """Return freed memory to the system, which the GNU C library else keeps between the pieces in use."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library has no such function
            ctypes.CDLL(None).malloc_trim(0)


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
    for _ in range(TRIES - 1):
        try:
            return database.create_table(name, schema=schema, exist_ok=True)
        except (RuntimeError, OSError) as error:  # another process created it at the same moment
            if not is_conflict(error):
                raise
    return database.create_table(name, schema=schema, exist_ok=True)


def write(table: Any, rows: Any, keys: Sequence[tuple[str, str]], *, locked: bool) -> None:
    """Add rows, or replace those with the same keys.

    A merge compares the keys with those of all rows, and meets another merge of the same new key as a conflict, on
    which it is repeated. An index of the ids makes a lookup much faster than that, but LanceDB does not notice such
    conflicts if a merge uses the index. So new rows are simply added after a lookup, if no other writer can add them
    meanwhile, and everything else is merged without the index.

    The table is in its latest version, and the rows are a table of Arrow. The keys are the id and the principal of each
    row, which are only needed if this process holds the lock of all writers.

    Raises:
        RuntimeError: nothing was written.
        OSError: likewise.
    """
    if locked and len({*keys}) == len(keys) <= LOOKED_UP and has_index(table, ID_INDEX):
        ids, principals = (", ".join(map(quoted, sorted({*part}))) for part in zip(*keys, strict=True))
        condition = f"principal IN ({principals}) AND id IN ({ids})"
        if not table.search().where(condition).select(["id"]).limit(1).to_list():
            retried(table, lambda: table.add(rows))
            return
    retried(
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
    return "'" + text.replace("'", "''") + "'"
