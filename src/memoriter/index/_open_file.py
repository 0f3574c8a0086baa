"""An index file in use: its connection, what is cached of its content, and the rights to change it."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from memoriter.errors import IndexUnavailable
from memoriter.index import _content, _opening
from memoriter.index.store import _connection
from memoriter.index.store._connection import identity, translate_errors
from memoriter.index.store._files import IndexFiles, on_network
from memoriter.index.vectors._vectors import Vectors
from memoriter.permissions import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from memoriter.index.store._connection import Database
    from memoriter.index.vectors._engines import EngineName
    from memoriter.types import Diagnostic, ModelSpec


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
        self.opened: _opening.OpenedFile | None = None
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
            _opening.build(path, network=self.network, generation=self.generation + 1)
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

    def _open(self, *, after: int = 0) -> _opening.OpenedFile:
        if self.inspected:
            return _opening.inspect_index(self.storage, notice=self._add_notice)
        return _opening.open_index(self.storage, network=self.network, notice=self._add_notice, after=after)

    def _adopt(self, opened: _opening.OpenedFile) -> None:
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

    @property
    def now(self) -> float | None:
        """The time to record for a write in seconds since 1970; None if nothing may be written."""
        return None if self.inspected else self.clock()

    def check_writable(self) -> None:
        """Raise IndexUnavailable, with the reason, if the file can only be read."""
        if self.opened and (reason := self.opened.read_only_reason):
            raise IndexUnavailable(reason.message, remedy=reason.remedy)

    @property
    def _effective_engine(self) -> EngineName:
        """The engine setting; `exact` if the disk is read-only, because codes are written."""
        return "exact" if self.read_only and not self.inspected else self.engine_setting

    def choose_engine(self, name: EngineName) -> None:
        """Select the vector engine."""
        with self.reading():
            self.engine_setting = name
            self.vectors.choose(self._effective_engine)

    def use_vectors(self, spec: ModelSpec) -> None:
        """Activate the vector set of a model."""
        with self.reading():
            self._activate(spec)
            self.spec = spec

    def _activate(self, spec: ModelSpec) -> None:
        now = self.now
        if now is not None:
            self.vectors.register(spec, now=now)
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
                self._adopt(_opening.inspect_index(self.storage, notice=self._add_notice, doubtful=True))
                return
            if found is not None:
                _opening.replace_damaged(
                    self.storage, found, network=self.network, notice=self._add_notice, after=before
                )
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
