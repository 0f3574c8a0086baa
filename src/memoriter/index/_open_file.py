"""An index file in use: its connection, what is cached of its content, and the rights to change it."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Literal, Self

from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index import _opening
from memoriter.index.files import _files
from memoriter.index.store import _connection
from memoriter.index.store._generations import BACKGROUND, IndexFiles, on_network
from memoriter.index.store._lease import identity
from memoriter.index.store._soundness import translate_errors
from memoriter.index.vectors._vectors import Vectors
from memoriter.permissions import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from memoriter.index.store._connection import Database
    from memoriter.index.vectors._engines import EngineName
    from memoriter.types import Diagnostic, ModelSpec

BACKGROUND_WAIT = 0.2
"""Seconds that a run in the background waits for another one; it may just be ending."""

Mode = Literal["serve", "build", "inspect"]
"""`serve`: follows the path, whichever file it leads to. `build`: a generation that is not published yet. `inspect`:
only read, creates and changes no file, and stays at the file that was opened."""


class OpenFile:
    """The active file of an index. Several threads may share one object and take turns."""

    def __init__(self, storage: IndexFiles, *, clock: Callable[[], float], network: bool, mode: Mode) -> None:
        """Take the files of the index; `adopt` or `open` opens one of them.

        Args:
            storage: the files of the index.
            clock: returns seconds since 1970.
            network: whether the files are on a network file system.
            mode: how the file is used.
        """
        self.storage = storage
        self.path = storage.path
        """The path of the index; a link in its place leads to the active file."""
        self.clock = clock
        self.network = network
        self.mode: Mode = mode
        self.opened: _opening.OpenedFile | None = None
        self.generation = 0
        """The number of the active file; 0 for a plain file."""
        self.read_only = False
        """Whether the file can only be read."""
        self._refused = False
        """Whether the last write was refused although the file was opened for writing. SQLite shares the index of the
        log among the connections of a process: if one that only reads opened it first, the others cannot write."""
        self.closed = False
        self.vectors: Vectors
        self.counts = _files.Counts()
        self.spec: ModelSpec | None = None
        """The model of the active vector set."""
        self.engine_setting: EngineName = "exact"
        self.stored_paths: set[str] | None = None
        """The files stored so far by a rebuild in place; None if there is none."""
        self._process = os.getpid()
        self._rlock = threading.RLock()
        self._notices: list[Diagnostic] = []
        self.version = 0
        """A number that changes whenever the content may have changed, in any process, as of the last `reading`."""
        self._data_version = -1
        self._replaced = False

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float], network: bool | None) -> Self:
        """Open the active file at a path; create or replace it if needed."""
        with translate_errors(path):
            storage = IndexFiles(path, clock)
            folder = storage.path.parent
            make_private_folder(folder)
            network = on_network(folder) if network is None else network
            file = cls(storage, clock=clock, network=network, mode="serve")
            with suppress(OSError):
                storage.clean()
            file.adopt(file._open())
        return file

    @classmethod
    def inspect(cls, path: Path, *, clock: Callable[[], float]) -> Self:
        """Open the active file at a path for inspection; an empty index in memory stands in for an unusable one."""
        with translate_errors(path):
            file = cls(IndexFiles(path, clock), clock=clock, network=False, mode="inspect")
            file.adopt(file._open())
        return file

    def sibling(self) -> Self:
        """Return an object of the same settings for a generation that is being built; `adopt` its file."""
        other = type(self)(self.storage, clock=self.clock, network=self.network, mode="build")
        other.engine_setting = self.engine_setting
        other.spec = self.spec
        return other

    def _open(self, *, after: int = 0, damaged: Path | None = None) -> _opening.OpenedFile:
        if self.mode == "inspect":
            return _opening.inspect_index(self.storage, notice=self._add_notice)
        return _opening.open_index(
            self.storage,
            clock=self.clock,
            network=self.network,
            notice=self._add_notice,
            after=after,
            damaged=damaged,
        )

    def adopt(self, opened: _opening.OpenedFile) -> None:
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
            self.opened = None
            self.generation = 0
            self.read_only = False
            sealed = self.mode == "serve" and self.storage.seal.matches(opened.file)
            opened.connection.close()
            # The last connection that closes the file writes the log into it.
            if sealed and not self.storage.seal.matches(opened.file):
                self.storage.seal.write(opened.file)

    # state

    @property
    def now(self) -> float | None:
        """The time to record for a write in seconds since 1970; None if nothing may be written."""
        return None if self.mode == "inspect" else self.clock()

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """Diagnostics for the user. That an inspected file is only read is no news."""
        reason = self.opened.read_only_reason if self.opened and self.mode != "inspect" else None
        return (*self._notices, reason) if reason else tuple(self._notices)

    def check_writable(self) -> None:
        """Raise IndexUnavailable, with the reason, if the file can only be read."""
        if self.opened and (reason := self.opened.read_only_reason):
            raise IndexUnavailable(reason.message, remedy=reason.remedy)

    @property
    def _effective_engine(self) -> EngineName:
        """The engine setting; `exact` if the disk is read-only, because codes are written."""
        return "exact" if self.read_only and self.mode != "inspect" else self.engine_setting

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
        if reason not in self._notices:
            self._notices.append(reason)

    def _content_changed(self) -> None:
        """Forget what is cached of the content."""
        self.version += 1
        self.counts = _files.Counts()

    # the file behind the path

    def refresh(self) -> bool:
        """Reopen the index if its path leads to another file or to none.

        Returns:
            Whether this call has reopened it, or `storing` has since the last call.
        """
        if self.mode == "inspect":
            return False
        with self.lock, translate_errors(self.path):
            moved = self._replaced
            if not self.closed:
                opened = self.opened
                is_elsewhere = opened is None or identity(self.storage.path) != opened.identity
                if self.mode == "serve" and (is_elsewhere or self._refused):
                    before = self.generation
                    self._close_file()
                    self.adopt(self._open(after=before))
                    moved = True
                elif self.read_only and self._try_writable():
                    moved = True
            self._replaced = self._refused = False
            return moved

    @property
    def is_current(self) -> bool:
        """Whether the path still leads to the open file; True for a file that is inspected or being built."""
        opened = self.opened
        return self.mode != "serve" or (opened is not None and identity(self.storage.path) == opened.identity)

    def _try_writable(self) -> bool:
        opened = self._open()
        if opened.read_only_reason is not None:
            opened.connection.close()
            return False
        self._close_file()
        self.adopt(opened)
        return True

    def quarantine(self) -> None:
        """Set a damaged file aside and start a new, empty one, unless another process has done so.

        An inspected file is opened again: it was written meanwhile, or it is damaged and an empty index stands in.
        """
        if self.mode == "build":
            raise IndexUnavailable(
                "The new index that is being built is damaged.",
                remedy="Run the command again; searches use the old index.",
            )
        if self.mode == "serve" and self.read_only:
            raise IndexUnavailable(
                f"The index {str(self.path)!r} changed or was damaged while it was open for reading only.",
                remedy="Search again; if that does not help, make its folder writable.",
            )
        with self.lock, translate_errors(self.path):
            file_identity = self.opened.identity if self.opened else None
            before = self.generation
            self._close_file()
            place = None
            if file_identity is not None and self.mode == "serve":
                place = _opening.set_aside(
                    self.storage, file_identity, "is damaged", clock=self.clock, notice=self._add_notice
                )
            self.adopt(self._open(after=before, damaged=place))

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
                self.opened = None
                self.generation = 0
                self.read_only = False
            if not self.closed and self.mode == "serve":
                with translate_errors(self.path):
                    self.adopt(self._open())
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

    def mark_stored(self, path: str) -> None:
        """Record that a file was stored, for a rebuild in place."""
        if self.stored_paths is not None:
            self.stored_paths.add(_connection.storable(path))

    # rights

    @contextmanager
    def indexing(self, wait: float) -> Generator[None]:
        """Hold the right to index, for one thread of one process; IndexBusy after `wait` seconds."""
        with self.lock:
            lease = self.storage.lease
            self.check_writable()
        with ExitStack() as stack:
            with translate_errors(self.path):
                stack.enter_context(lease.hold(wait))
            yield

    @contextmanager
    def storing(self, wait: float) -> Generator[None]:
        """Hold the right to index for one short write of vectors to the active file; IndexBusy after `wait` seconds."""
        with self.lock:
            lease = self.storage.lease
        with ExitStack() as stack:
            with translate_errors(self.path):
                stack.enter_context(lease.hold(wait))
            self._replaced = self.refresh()
            if self.opened is not None:
                stack.enter_context(self.storage.seal.reseal(self.opened.file))
            yield

    def embedding(self, wait: float) -> AbstractContextManager[None]:
        """Hold the right to compute vectors; IndexBusy after `wait` seconds."""
        self.check_writable()
        message = f"Another process is computing vectors for {str(self.path)!r}."
        busy = IndexBusy(message, remedy="Wait until it is done; keyword search works meanwhile.")
        return self.storage.exclusive("embed", busy, wait)

    def background(self) -> AbstractContextManager[None]:
        """Hold the right to be the one run in the background; IndexBusy if another process has it."""
        self.check_writable()
        message = f"Another process is indexing the notes of {str(self.path)!r} in the background."
        busy = IndexBusy(message, remedy="Do nothing: the other process does the work.")
        return self.storage.exclusive(BACKGROUND, busy, BACKGROUND_WAIT)

    def watching(self) -> AbstractContextManager[None]:
        """Hold the right to watch; IndexBusy if another process watches."""
        message = f"Another process is watching the notes of {str(self.path)!r}."
        busy = IndexBusy(message, remedy="Do nothing: this process takes over when the other one ends.")
        return self.storage.exclusive("watch", busy, 0.0)
