"""An index file in use: its connection, what is cached of its content, and the rights to change it.

To use the index at a path, a missing file is built, one of another version or a damaged one is replaced, and a foreign
one is refused. A new index takes over the vectors of the one that it replaces. To inspect it, no file is created or
changed.
"""

from __future__ import annotations

import os
import threading
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Self, cast
from urllib.parse import quote

from memoriter.errors import IndexDamaged, IndexUnavailable, sentence
from memoriter.index import _connection, _content
from memoriter.index._connection import (
    BUSY_MS,
    REBUILD,
    add_functions,
    connect,
    connect_read_only,
    counter,
    file_kind,
    has_orphaned_log,
    identity,
    is_damage,
    logged,
    snapshot,
    to_index_error,
    translate_errors,
    vfs,
)
from memoriter.index._files import GENERATION, IndexFiles, create, lease_of, lost_checksums, on_network
from memoriter.index.vectors._vectors import Vectors
from memoriter.permissions import make_private_folder
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from memoriter.index._connection import Database, FileKind
    from memoriter.index.vectors._engines import EngineName
    from memoriter.types import ModelSpec


class OpenFile:
    """The file of an index. Several threads may share one object and take turns."""

    def __init__(self, storage: IndexFiles, *, clock: Callable[[], float], network: bool, inspected: bool) -> None:
        """Take the files of the index; `open`, `inspect` or `create` opens it.

        Args:
            storage: the files of the index.
            clock: returns seconds since 1970.
            network: whether the files are on a network file system.
            inspected: whether the index is only read: no file is created or changed, and the opened file stays.
        """
        self.storage = storage
        self.path = storage.path
        """The path of the index."""
        self.clock = clock
        self.network = network
        self.inspected = inspected
        self.opened: OpenedFile | None = None
        self.generation = 0
        """The number of the file; each one that replaces it has a greater number."""
        self.read_only = False
        """Whether the file can only be read."""
        self._refused = False
        """Whether the last write was refused although the file was opened for writing. SQLite shares the index of the
        log among the connections of a process: if one that only reads opened it first, the others cannot write."""
        self.closed = False
        self.vectors: Vectors
        self.counts = _content.Counts()
        self.spec: ModelSpec | None = None
        """The model of the active vector set."""
        self.engine_setting: EngineName = "exact"
        self._process = os.getpid()
        self._rlock = threading.RLock()
        self.notices: list[Diagnostic] = []
        """Diagnostics for the user, each once."""
        self.version = 0
        """A number that changes whenever the content may have changed, in any process, as of the last `reading`."""
        self._data_version = -1
        self.replaced = False
        """Whether `refresh` has reopened the index for a write, so that the next caller of `refresh` is told."""

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float], network: bool | None) -> Self:
        """Open the index at a path; create or replace it if needed."""
        with translate_errors(path):
            storage = IndexFiles(path, clock)
            folder = storage.path.parent
            make_private_folder(folder)
            network = on_network(folder) if network is None else network
            file = cls(storage, clock=clock, network=network, inspected=False)
            with suppress(OSError):
                storage.clean()
            file._adopt(file._open())
        return file

    @classmethod
    def inspect(cls, path: Path, *, clock: Callable[[], float]) -> Self:
        """Open the index at a path for inspection; an empty index in memory stands in for an unusable one."""
        with translate_errors(path):
            file = cls(IndexFiles(path, clock), clock=clock, network=False, inspected=True)
            file._adopt(file._open())
        return file

    def create(self, path: Path, *, vectors: bool) -> OpenFile:
        """Return a new index at another path that is to replace this one, with its settings and its vectors.

        Without `vectors`, it has only the vectors of models that are not active.
        """
        from memoriter.index.vectors._transfer import copy_vectors

        with self.reading() as connection:
            build(path, network=self.network, generation=self.generation + 1)
            other = OpenFile(IndexFiles(path, self.clock), clock=self.clock, network=self.network, inspected=False)
            other.storage.lease = self.storage.lease
            other.storage.lock = self.storage.lock
            other._adopt(other._open())
            try:
                with other.reading() as fresh:
                    left_out = None if vectors or self.spec is None else self.vectors.active()
                    copy_vectors(fresh, connection, without=left_out)
                other.choose_engine(self.engine_setting)
                if self.spec is not None:
                    other.use_vectors(self.spec)
            except BaseException:
                other.close()
                raise
        return other

    def _open(self, *, after: int = 0) -> OpenedFile:
        if self.inspected:
            return inspect_index(self.storage, notice=self._add_notice)
        return open_index(self.storage, network=self.network, notice=self._add_notice, after=after)

    def _adopt(self, opened: OpenedFile) -> None:
        """Use this file from now on."""
        self.opened = opened
        self.generation = opened.generation
        self.read_only = opened.read_only_reason is not None
        self._data_version = -1
        self._content_changed()
        self.vectors = Vectors(opened.connection, self._add_notice)
        self.vectors.choose(self._effective_engine)
        if self.spec is not None:
            self._activate(self.spec)

    def close(self) -> None:
        """Close the file; no other method may be called afterwards."""
        with self.lock, translate_errors(self.path):
            self.closed = True
            self._close_file()

    def _close_file(self) -> None:
        if self.opened is not None:
            opened = self.opened
            self._forget_file()
            opened.connection.close()

    def _forget_file(self) -> None:
        self.opened = None
        self.generation = 0
        self.read_only = False

    # state

    def check_writable(self) -> None:
        """Raise IndexUnavailable, with the reason, if the file can only be read."""
        if self.opened and (reason := self.opened.read_only_reason):
            raise IndexUnavailable(reason.message, remedy=reason.remedy)

    @property
    def _effective_engine(self) -> EngineName:
        """The engine setting; `exact` if the disk is read-only, because codes are written."""
        return "exact" if self.read_only and not self.inspected else self.engine_setting

    def choose_engine(self, name: EngineName) -> None:
        with self.reading():
            self.engine_setting = name
            self.vectors.choose(self._effective_engine)

    def use_vectors(self, spec: ModelSpec) -> None:
        with self.reading():
            self._activate(spec)
            self.spec = spec

    def _activate(self, spec: ModelSpec) -> None:
        if not self.inspected:
            self.vectors.register(spec, now=self.clock())
        self.vectors.activate(spec)

    def _add_notice(self, reason: Diagnostic) -> None:
        if reason not in self.notices:
            self.notices.append(reason)

    def _content_changed(self) -> None:
        """Forget what is cached of the content."""
        self.version += 1
        self.counts = _content.Counts()

    # the file behind the path

    def refresh(self) -> bool:
        """Reopen the index if another file, or none, is at its path by now, or if it may be writable by now.

        Returns:
            Whether this call has reopened it, or `storing` has since the last call.
        """
        if self.inspected:
            return False
        with self.lock, translate_errors(self.path):
            moved = self.replaced
            self.replaced = False
            if self.closed:
                return moved
            is_same = self.opened is not None and identity(self.path) == self.opened.identity
            if self._refused or not is_same:
                before = self.generation
                self._refused = False
                self._close_file()
                self._adopt(self._open(after=before))
                return True
            return (self.read_only and self._try_writable()) or moved

    def _try_writable(self) -> bool:
        opened = self._open()
        if opened.read_only_reason is not None:
            opened.connection.close()
            return False
        self._close_file()
        self._adopt(opened)
        return True

    @property
    def is_current(self) -> bool:
        """Whether the open file is still at the path; True for a file that is inspected."""
        return self.inspected or (self.opened is not None and identity(self.path) == self.opened.identity)

    def quarantine(self) -> None:
        """Build a new index in the place of a damaged one, unless another process has done so.

        An inspected file is opened again: it was written meanwhile, or it is damaged and an empty index stands in.
        """
        if self.read_only and not self.inspected:
            raise IndexUnavailable(
                f"The index {str(self.path)!r} changed or was damaged while it was open for reading only.",
                remedy="Search again; if that does not help, make its folder writable.",
            )
        with self.lock, translate_errors(self.path):
            found = self.opened.identity if self.opened else None
            before = self.generation
            self._close_file()
            if self.inspected:
                self._adopt(inspect_index(self.storage, notice=self._add_notice, doubtful=True))
                return
            if found is not None:
                replace_damaged(self.storage, found, network=self.network, notice=self._add_notice, after=before)
            self._adopt(self._open(after=before))

    # one thread at a time

    @property
    def lock(self) -> threading.RLock:
        """The lock for one thread at a time; a forked process first gets a connection of its own."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._rlock = threading.RLock()
            self.storage = IndexFiles(self.path, self.clock)
            if self.opened is not None:
                _connection.abandon(self.opened.connection)
                self._forget_file()
            if not self.closed and not self.inspected:
                with translate_errors(self.path):
                    self._adopt(self._open())
        return self._rlock

    @contextmanager
    def reading(self) -> Generator[Database]:
        """Give this thread the connection, and notice what other processes changed.

        Errors of SQLite become errors of the index.
        """
        with self.lock, translate_errors(self.path):
            if self.opened is None:
                raise IndexUnavailable(f"The index {str(self.path)!r} is not open.", remedy="Open it again.")
            connection = self.opened.connection
            if (data_version := connection.execute("PRAGMA data_version").get) != self._data_version:
                self._data_version = data_version
                self._content_changed()
                self.vectors.forget_progress()
            yield connection

    @contextmanager
    def writing(self) -> Generator[Database]:
        """Give this thread the connection in a transaction, if the right to index was not lost."""
        import apsw

        with self.reading() as connection:
            self.storage.lease.check()
            try:
                with _connection.transaction(connection):
                    self.storage.lease.check()
                    yield connection
            except apsw.ReadOnlyError:
                self._refused = True
                raise
            self._content_changed()


_ATTEMPTS = 20
"""Other processes may delete and replace the file meanwhile, but not this many times in a row."""
_UNWRITABLE = frozenset({"CantOpenError", "ReadOnlyError", "IOError", "FullError", "PermissionsError"})
"""Errors of SQLite after which a file may still be readable."""
_NEXT = "Run `memoriter index`."
_INSPECTED = Diagnostic("index_read_only", "This command only inspects the index, so it stores nothing.", _NEXT)
_OTHER = Diagnostic("index_outdated", "The index was made by another version of memoriter.", _NEXT)


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A connection and the file it reads."""

    connection: Database
    identity: tuple[int, int]
    generation: int
    read_only_reason: Diagnostic | None = None
    """Why the file can only be read; None if it can be written."""


@logged("open")
def open_index(
    storage: IndexFiles, *, network: bool, notice: Callable[[Diagnostic], None], after: int = 0
) -> OpenedFile:
    """Open the index, whatever is at its path; `apsw` errors that are not damage pass through."""
    for _ in range(_ATTEMPTS):
        found = storage.identity()
        if found is None:
            storage.replace(None, partial(build, network=network, generation=after + 1))
            continue
        reason: Diagnostic | None = None
        try:
            with storage.opening():
                connection, kind = _try_open(storage.path, network=network)
                is_same = identity(storage.path) == found
        except Exception as error:
            if identity(storage.path) != found:
                continue  # another file replaced it meanwhile, and its log was deleted
            connection = _read_instead(storage.path, error)
            if connection is None:
                raise
            kind = "ours"
            is_same = identity(storage.path) == found
            reason = _read_only_notice(storage.path, error)
        if connection is not None and is_same:
            return OpenedFile(connection, found, counter(connection, GENERATION), reason)
        if connection is not None:
            connection.close()
        elif kind == "foreign":
            refuse_foreign(storage.path)
        elif kind == "damaged":
            replace_damaged(storage, found, network=network, notice=notice, after=after)
        elif kind is not None:
            rebuilt = partial(build, network=network, generation=after + 1, earlier=storage.path)
            storage.replace(found, rebuilt)
    raise IndexUnavailable(
        f"The index {str(storage.path)!r} keeps changing.", remedy="Stop the other process and try again."
    )


def _try_open(path: Path, *, network: bool) -> tuple[Database | None, FileKind | None]:
    """Return a connection, or what is wrong with the file, or neither if the file is gone."""
    import apsw

    connection = None
    try:
        connection = connect(path, network=network, trusted=False)
        kind = _kind_of(connection, path)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if is_damage(error):
            return None, "damaged"
        if isinstance(error, apsw.CantOpenError) and not path.exists():
            return None, None
        raise
    if kind == "ours":
        return connection, kind
    connection.close()
    return None, kind


def _kind_of(connection: Database, path: Path) -> FileKind:
    kind = file_kind(connection)
    if kind == "foreign" and lease_of(path).exists():
        return "damaged"
    if kind == "ours" and (
        lost_checksums(connection) or is_cut_short(connection, path) or not counter(connection, GENERATION)
    ):
        return "damaged"
    return kind


def _read_instead(path: Path, error: Exception) -> Database | None:
    """Return a read-only connection to an index that could not be opened for writing: a read-only folder, a full disk.

    The result is None if something else is wrong, or if the log has content that only a writing process can merge.
    """
    import apsw

    if type(error).__name__ not in _UNWRITABLE or has_orphaned_log(path):
        return None
    with suppress(apsw.Error, OSError):
        connection = connect_read_only(path)
        with suppress(apsw.Error):
            if file_kind(connection) == "ours":
                return connection
        connection.close()
    return None


def _read_only_notice(path: Path, error: Exception) -> Diagnostic:
    """Return the diagnostic for an index that is open for reading only."""
    problem = to_index_error(path, error)
    message = f"{problem.message} It is open for reading only, so searches do not find later changes."
    return Diagnostic("index_read_only", message, problem.remedy)


def build(path: Path, *, network: bool, generation: int, earlier: Path | None = None, damaged: bool = False) -> None:
    """Make a new, empty index file, with the vectors of an `earlier` one if it is given.

    The number of the new index is at least `generation`, and greater than that of the earlier one.
    """
    with closing(connect(path, network=network, create=True)) as connection, _earlier(earlier, damaged=damaged) as old:
        create(connection, generation=max(generation, _generation_of(old) + 1))
        if old is not None:
            from memoriter.index.vectors._transfer import salvage

            salvage(connection, old)


@contextmanager
def _earlier(path: Path | None, *, damaged: bool) -> Generator[Database | None]:
    """Yield a connection to an index that is replaced; None if there is none, or if it cannot be opened at all."""
    import apsw

    old: Database | None = None
    if path is not None and damaged:
        # `immutable`: the file is neither locked nor written to, and a log beside it is left alone.
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        old = cast("Database", apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags, vfs=vfs()))
    elif path is not None:
        from memoriter.index.vectors._transfer import skipping_unreadable

        with skipping_unreadable():
            old = connect_read_only(path)
    try:
        yield old
    finally:
        if old is not None:
            old.close()


def _generation_of(old: Database | None) -> int:
    """Return the number of an index; 0 if it has none that can be read."""
    import apsw

    if old is not None:
        with suppress(apsw.Error, ValueError):
            return counter(old, GENERATION)
    return 0


def refuse_foreign(path: Path) -> None:
    """Raise IndexUnavailable for a file that another program owns."""
    raise IndexUnavailable(
        f"The file {str(path)!r} belongs to another program. Nothing was changed.",
        remedy="Set memorySearch.store.path to a file of its own, or remove that setting.",
    )


def replace_damaged(
    storage: IndexFiles,
    found: tuple[int, int],
    *,
    network: bool,
    notice: Callable[[Diagnostic], None],
    after: int,
) -> None:
    """Build a new index in the place of a damaged one, unless another file is there by now, and add a notice.

    The damaged file is kept, because it may be something that a person has saved there.
    """
    rebuilt = partial(build, network=network, generation=after + 1, earlier=storage.path, damaged=True)
    if storage.replace(found, rebuilt, set_aside=True):
        place = storage.aside.name
        message = (
            f"The index file {str(storage.path)!r} is damaged; it was moved to {place!r} and a new index was begun."
        )
        remedy = "Run `memoriter index` to fill it; delete the moved file when nobody needs it."
        notice(Diagnostic("index_quarantined", message, remedy))


@logged("inspect")
def inspect_index(storage: IndexFiles, *, notice: Callable[[Diagnostic], None], doubtful: bool = False) -> OpenedFile:
    """Open the index for reading, without creating or changing any file; an empty index in memory stands in.

    That is for a file that does not exist or cannot serve. `apsw` errors that are not damage pass through.

    Args:
        storage: the files of the index.
        notice: called with a diagnostic for a file that exists and cannot serve as it is.
        doubtful: whether a read has failed, so that the whole file is checked.
    """
    found = storage.identity()
    if found is None:
        return _empty()
    connection: Database | None = None
    try:
        connection = connect_read_only(storage.path)
        kind = _kind_of(connection, storage.path)
        if kind == "ours" and doubtful:
            check(connection, storage.path)
    except Exception as error:
        if connection is not None:
            connection.close()
        if not is_damage(error):
            raise
        return _stand_in(storage, "damaged", notice)
    if kind == "ours":
        return OpenedFile(connection, found, counter(connection, GENERATION), _INSPECTED)
    connection.close()
    return _stand_in(storage, kind, notice)


def _stand_in(storage: IndexFiles, kind: FileKind, notice: Callable[[Diagnostic], None]) -> OpenedFile:
    """Return an empty index, and add a notice about the file that it stands for."""
    if kind == "foreign":
        refuse_foreign(storage.path)
    if kind == "other":
        notice(_OTHER)
    if kind == "damaged":
        message = f"The index file {str(storage.path)!r} is damaged; the next search begins a new index."
        notice(Diagnostic("index_damaged", message, _NEXT))
    return _empty()


def _empty() -> OpenedFile:
    """Return an empty index in memory."""
    import apsw

    connection = cast("Database", apsw.Connection(":memory:"))
    add_functions(connection)
    create(connection, generation=0)
    connection.pragma("query_only", 1)
    return OpenedFile(connection, (0, 0), 0, _INSPECTED)


def is_cut_short(connection: Database, target: Path) -> bool:
    """Return whether the file ends before its last page. SQLite reads such a page as if its end were zeros."""
    # Another process may make the file shorter between both figures, but not twice.
    return _ends_early(connection, target) and _ends_early(connection, target)


def _ends_early(connection: Database, target: Path) -> bool:
    pages = int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
    log = target.with_name(f"{target.name}-wal")
    return target.stat().st_size < pages and not (log.exists() and log.stat().st_size)


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
            raise IndexDamaged(f"The index {str(target)!r} is damaged: it is not an index any more.", remedy=REBUILD)
        if is_cut_short(fresh, target):
            raise IndexDamaged(f"The index {str(target)!r} is damaged: its end is missing.", remedy=REBUILD)
        check(fresh, target)


@logged("check")
def check(connection: Database, target: Path) -> None:
    """Check the structure of the file and that its tables agree, on one state of the file.

    Raises:
        IndexDamaged: the file is not sound.
    """
    counts = {
        "the files have other chunks": "SELECT coalesce(sum(chunks), 0) FROM files",
        "a chunk belongs to no file": "SELECT count(*) FROM chunks CROSS JOIN files ON files.id = chunks.file",
        "the word index has other chunks": "SELECT count(*) FROM chunks_fts_docsize",
    }
    with snapshot(connection):
        result = str(connection.execute("PRAGMA quick_check(1)").get)
        if result != "ok":
            raise IndexDamaged(f"The index {str(target)!r} is damaged: {sentence(result)}", remedy=REBUILD)
        chunks = connection.execute("SELECT count(*) FROM chunks").get
        for fault, statement in counts.items():
            if connection.execute(statement).get != chunks:
                raise IndexDamaged(f"The index {str(target)!r} is damaged: {sentence(fault)}", remedy=REBUILD)
