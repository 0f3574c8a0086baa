"""The state of the index file when memoriter last wrote it, and the checks when the state differs."""

from __future__ import annotations

import json
import os
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, cast

from memoriter.errors import IndexBusy, IndexDamaged, sentence
from memoriter.index.store._connection import BUSY_MS, file_kind, logged, snapshot, vfs
from memoriter.index.store._errors import REBUILD

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from memoriter.index.store._connection import Database
    from memoriter.index.store._lease import Lease


class Seal:
    """A small file beside the index with the stat of the index file and of its log.

    Page checksums detect a changed page. They do not detect pages that changed places, a page of zeros, or a log that
    belongs to another database. All of these change the stat of a file, so a file that differs from its seal is checked
    as a whole, once.
    """

    def __init__(self, index: Path) -> None:
        """Take the path of the index; the seal is `<name>.seal` beside it."""
        self._path = index.with_name(f"{index.name}.seal")

    def write(self, target: Path) -> None:
        """Store the current state of the file. If the seal cannot be written, the only cost is a later check."""
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(json.dumps(_state(target)))

    @contextmanager
    def reseal(self, target: Path) -> Generator[None]:
        """Seal the file again after a write, if it matched its seal before."""
        intact = self.matches(target)
        try:
            yield
        finally:
            if intact:
                self.write(target)

    def matches(self, target: Path) -> bool:
        """Return whether the file and its log match the seal."""
        try:
            return bool(json.loads(self._path.read_text(encoding="utf-8")) == _state(target))
        except (OSError, ValueError):
            return False


def check_if_unsealed(connection: Database, target: Path, seal: Seal, lease: Lease) -> None:
    """Check the whole file if it differs from its seal, unless a process that is indexing explains the difference.

    Raises:
        IndexDamaged: the file is not sound.
    """
    if seal.matches(target):
        return
    try:
        with lease.hold(0):
            check(connection, target)
            seal.write(target)
    except (IndexBusy, OSError):
        return


def check_if_changed(target: Path, seal: Seal, lease: Lease) -> None:
    """Check the whole file if it changed since it was sealed, unless another process is indexing.

    Raises:
        IndexDamaged: the file is not sound.
    """
    import apsw

    if seal.matches(target):
        return
    with suppress(IndexBusy, OSError, apsw.BusyError, apsw.LockedError), lease.hold(0):
        check_file(target)
        seal.write(target)


def check_file(target: Path) -> None:
    """Check the whole file through a new connection. Other processes may write meanwhile.

    An open connection has pages in memory, which hide later changes of the file, and FTS5 checks it against the list of
    segments that it last used, which another process may have merged since.

    Raises:
        IndexDamaged: the file is not sound.
    """
    import apsw

    if not target.stat().st_size:
        raise IndexDamaged(f"The index {str(target)!r} is damaged: it is empty.", remedy=REBUILD)
    fresh = cast("Database", apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs()))
    with closing(fresh):
        fresh.set_busy_timeout(BUSY_MS)
        if file_kind(fresh) != "ours":
            raise IndexDamaged(f"The index {str(target)!r} is damaged: it is no index any more.", remedy=REBUILD)
        check(fresh, target)


@logged("check")
def check(connection: Database, target: Path) -> None:
    """Check the structure of the file and that its tables agree, on one state of the file.

    Args:
        connection: a connection that has not searched the file yet.
        target: the file, for the message.

    Raises:
        IndexDamaged: the file is not sound.
    """
    with snapshot(connection):
        _check(connection, target)


def _check(connection: Database, target: Path) -> None:
    result = str(connection.execute("PRAGMA quick_check(1)").get)
    if result != "ok":
        raise IndexDamaged(f"The index {str(target)!r} is damaged: {sentence(result)}", remedy=REBUILD)
    chunks = connection.execute("SELECT count(*) FROM chunks").get
    counts = {
        "the files have other chunks": "SELECT coalesce(sum(chunks), 0) FROM files",
        "a chunk belongs to no file": "SELECT count(*) FROM chunks CROSS JOIN files ON files.id = chunks.file",
        "the word index has other chunks": "SELECT count(*) FROM chunks_fts_docsize",
    }
    for fault, statement in counts.items():
        if connection.execute(statement).get != chunks:
            raise IndexDamaged(f"The index {str(target)!r} is damaged: {sentence(fault)}", remedy=REBUILD)


def _state(target: Path) -> list[int]:
    main = target.stat()
    state = [main.st_ino, main.st_size, main.st_mtime_ns, main.st_ctime_ns]
    try:
        log = target.with_name(f"{target.name}-wal").stat()
    except OSError:
        return [*state, 0, 0]
    return [*state, log.st_size, log.st_mtime_ns] if log.st_size else [*state, 0, 0]
