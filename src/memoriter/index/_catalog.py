"""The index files of a folder: what they hold, and how one is deleted."""

from __future__ import annotations

from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import IndexBusy, IndexUnavailable, UsageError, sentence
from memoriter.index._index import InspectedIndex
from memoriter.index.store._files import BACKGROUND, IndexFiles, index_files
from memoriter.index.store._schema import APPLICATION_ID
from memoriter.plain_file import open_plain
from memoriter.records import StoredIndex

if TYPE_CHECKING:
    from collections.abc import Callable

LOCKS = {"embed": "is computing vectors for", BACKGROUND: "is indexing in the background", "watch": "is watching"}
"""The locks beside an index except its lease, each with what its holder does."""
_HEADER = b"SQLite format 3\0"
_ID_AT = slice(68, 72)
"""Where the application id is in the header of a database."""


def list_files(folder: Path, *, clock: Callable[[], float]) -> list[StoredIndex]:
    """Return the indexes of memoriter in a folder, by name; files of other programs are left out."""
    return [_listed(path, clock) for path in _own_indexes(folder)]


def _own_indexes(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    own = list[Path]()
    parts = set[Path]()
    # The files of an index have longer names than the index.
    for path in sorted(folder.iterdir(), key=lambda each: (len(each.name), each.name)):
        if path not in parts and _is_own(path):
            own.append(path)
            parts.update(index_files(path))
    return sorted(own)


def _is_own(path: Path) -> bool:
    """Return whether a file is an index: a database with memoriter's application id."""
    try:
        with open_plain(path, follow=False) as file:
            header = file.read(_ID_AT.stop)
    except (OSError, IndexUnavailable):
        return False
    return header.startswith(_HEADER) and header[_ID_AT] == APPLICATION_ID.to_bytes(4, "big")


def _listed(path: Path, clock: Callable[[], float]) -> StoredIndex:
    passages = vectors = None
    with suppress(IndexUnavailable), closing(InspectedIndex.inspect(path, clock=clock)) as index:
        if not index.notices:
            passages = index.corpus().chunks
            vectors = sum(index.models().values())
    size = 0
    changed = None
    for file in index_files(path):
        with suppress(OSError):
            stat = file.lstat()
            size += stat.st_size
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(OSError):
            changed = max(changed or 0.0, file.stat().st_mtime)
    return StoredIndex(path.name, None, passages, vectors, size, changed)


def drop_file(folder: Path, name: str, *, clock: Callable[[], float]) -> None:
    """Delete an index with its logs, locks and the files that were set aside.

    Raises:
        IndexBusy: another process indexes or watches it.
        IndexUnavailable: a file cannot be deleted.
        UsageError: there is no such index, or the file is of another program.
    """
    path = next((each for each in _own_indexes(folder) if each.name == name), None)
    if path is None:
        message = f"{str(folder)!r} has no index {name!r}."
        raise UsageError(message, remedy="Run `memoriter store list` for the names.")
    storage = IndexFiles(path, clock)
    with ExitStack() as held:
        held.enter_context(storage.lease.hold(0.0))
        for lock, doing in LOCKS.items():
            remedy = "Wait until it is done, or stop it."
            busy = IndexBusy(f"Another process {doing} {str(path)!r}.", remedy=remedy)
            held.enter_context(storage.exclusive(lock, busy, 0.0))
        locks = {path.with_name(f"{path.name}.{kind}") for kind in ("lease", "lock", *LOCKS)}
        # The name by which others open it goes first.
        _delete([path, *(file for file in index_files(path) if file != path and file not in locks)])
    with suppress(IndexUnavailable):
        _delete(index_files(path))


def _delete(files: list[Path]) -> None:
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            message = f"{str(file)!r} could not be deleted: {sentence(error.strerror)}"
            raise IndexUnavailable(message, remedy="Check its permissions, then run the command again.") from error
