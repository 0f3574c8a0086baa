"""The lifecycle of an open index file: opening, locking, rebuilding and closing."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Self, TypeVar

from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index import _cache, _connection, _files, _keywords, _opening
from memoriter.index._counts import Counts
from memoriter.index._errors import translate_errors
from memoriter.index._index_files import IndexFiles
from memoriter.index._lease import identity
from memoriter.index._network import on_network
from memoriter.index._steps import logged
from memoriter.index._vectors import Vectors
from memoriter.permissions import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from memoriter.index._database import Database
    from memoriter.index._engines import EngineName
    from memoriter.index._values import IndexedFile
    from memoriter.types import Diagnostic, ModelSpec

    _T = TypeVar("_T")


class OpenFile:
    """An index file in use, with its connection and leases."""

    def __init__(self, storage: IndexFiles, path: Path, *, clock: Callable[[], float], network: bool) -> None:
        self.path = path
        self._storage = storage
        self._clock = clock
        self._network = network
        self._process = os.getpid()
        self._rlock = threading.RLock()
        self._notices: list[Diagnostic] = []
        self._opened: _opening.OpenedFile | None = None
        self._closed = False
        self._version = 0
        self._data_version = -1
        self._vectors: Vectors
        self._counts = Counts()
        self._listing_cache: tuple[int, dict[str, IndexedFile]] = (-1, {})
        self._spec: ModelSpec | None = None
        self._engine_setting: tuple[EngineName, str | None] = ("exact", None)
        self._pinned = False
        self._replaced = False
        self._rebuilt_paths: set[str] | None = None

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float], network: bool | None = None) -> Self:
        """Open the index, creating or replacing the file if needed; `notices` reports what was done.

        `clock` returns seconds since 1970. `network` states whether the file is on a network file system; None: detect.
        """
        with translate_errors(path):
            storage = IndexFiles(path, clock)
            make_private_folder(folder := storage.path.parent)
            index = cls(storage, path, clock=clock, network=on_network(folder) if network is None else network)
            with suppress(OSError):
                storage.clean()
            index._adopt(index._open_file())
        return index

    @property
    def generation(self) -> int:
        """The number of the active file; 0 for a plain file."""
        return self._opened.generation if self._opened else 0

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """Diagnostics for the user: a file that was set aside, an engine that does not work."""
        reason = self._opened.read_only_reason if self._opened else None
        return (*self._notices, reason) if reason else tuple(self._notices)

    @property
    def read_only(self) -> bool:
        """Whether the index is open for reading only because its place is not writable; a notice gives the reason."""
        return self._opened is not None and self._opened.read_only_reason is not None

    @property
    def engine(self) -> EngineName:
        """The active vector engine: `exact`, `codes` or `sqlite-vec`."""
        return self._vectors.engine

    @property
    def oversampling(self) -> int | None:
        """Vectors that the codes engine compares for each wanted one, as measured; None: it compares all."""
        with self._reading():
            measured = self._vectors.oversampling
            return measured.oversampling if measured else None

    def close(self) -> None:
        """Close the file; no other method may be called afterwards."""
        with self._lock, translate_errors(self.path):
            self._closed = True
            self._close_file()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> bool:
        """Reopen the index if its path leads to another file or to none, and return whether it did. Costs one `stat`.

        The result is also True if `storing` has switched to another file since the last call.
        """
        moved, self._replaced = self._replaced, False
        return self._reopen_if_replaced() or moved

    def _reopen_if_replaced(self) -> bool:
        with self._lock, translate_errors(self.path):
            if self._closed or self._pinned or (self._opened and identity(self._storage.path) == self._opened.identity):
                return not self._closed and self.read_only and self._try_writable()
            before = self.generation
            self._close_file()
            self._adopt(self._open_file(after=before))
            return True

    def _try_writable(self) -> bool:
        opened = self._open_file()
        if opened.read_only_reason is not None:
            opened.connection.close()
            return False
        self._close_file()
        self._adopt(opened)
        return True

    def quarantine(self) -> None:
        """Set the file aside after `IndexDamaged` and start a new, empty one, unless another process has done so."""
        if self._pinned:
            raise IndexUnavailable(
                "The new index that is being built is damaged.", remedy="Start again; the old one still serves."
            )
        if self.read_only:
            raise IndexUnavailable(
                f"The index {str(self.path)!r} changed or broke while it was only read.",
                remedy="Ask again; if that does not help, make its folder writable.",
            )
        with self._lock, translate_errors(self.path):
            file_identity, before = (self._opened.identity if self._opened else None), self.generation
            self._close_file()
            place = None
            if file_identity is not None:
                place = _opening.set_aside(
                    self._storage, file_identity, "is damaged", clock=self._clock, notice=self._add_notice
                )
            self._adopt(self._open_file(after=before, damaged=place))

    def version(self) -> int:
        """Return a number that changes whenever the content may have changed, in any process. Use it as a cache key."""
        with self._reading() as connection:
            data_version = int(connection.pragma("data_version"))
            if data_version != self._data_version:
                self._data_version = data_version
                self._version += 1
                self._vectors.forget_progress()
            return self._version

    @contextmanager
    def lease(self, *, wait: float = 0.0) -> Generator[None]:
        """Hold the right to index, for one thread of one process. Raises IndexBusy after `wait` seconds.

        On exit, vectors are prepared for searching. If no other process is reading, deleted text is then removed from
        the file; in a large index, only after many deletions.
        """
        with ExitStack() as stack:
            with self._lock:
                lease = self._storage.lease
                if self._opened and (reason := self._opened.read_only_reason):
                    raise IndexUnavailable(reason.message, remedy=reason.remedy)
            with translate_errors(self.path):
                stack.enter_context(lease.hold(wait))
            try:
                yield
                with suppress(IndexUnavailable):
                    self.settle()
            finally:
                with suppress(IndexUnavailable):
                    self._purge(always=False)
                if self._opened is not None and not self._pinned:
                    self._storage.seal.write(self._opened.file)

    @contextmanager
    def storing(self, *, wait: float = 0.0) -> Generator[None]:
        """Hold the right to index for one short write of vectors to the active file.

        Unlike `lease`, it neither prepares searches nor removes deleted text on exit.

        Raises:
            IndexBusy: the right was not free within `wait` seconds.
        """
        with self._lock:
            lease = self._storage.lease
        with ExitStack() as stack:
            with translate_errors(self.path):
                stack.enter_context(lease.hold(wait))
            self._replaced = self._reopen_if_replaced() or self._replaced
            if self._opened is not None:
                stack.enter_context(self._storage.seal.reseal(self._opened.file))
            yield

    def embedding_lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to compute vectors; it is separate, so a slow provider does not delay keyword indexing.

        Raises:
            IndexBusy: another thread or process was still computing vectors after `wait` seconds.
        """
        if self._opened and (reason := self._opened.read_only_reason):
            raise IndexUnavailable(reason.message, remedy=reason.remedy)
        message = f"Another process is computing vectors for {str(self.path)!r}."
        busy = IndexBusy(message, remedy="Wait until it is done; words are searched meanwhile.")
        return self._storage.exclusive("embed", busy, wait)

    def watch_lease(self) -> AbstractContextManager[None]:
        """Hold the right to watch, separate from the right to index. Raises IndexBusy if another process watches."""
        message = f"Another process is watching the notes of {str(self.path)!r}."
        busy = IndexBusy(message, remedy="Nothing: this one takes over when the other ends.")
        return self._storage.exclusive("watch", busy, 0.0)

    def settle(self) -> None:
        """Prepare now what the next vector search would otherwise have to prepare."""
        with self._lock:
            if not self._closed:
                with self._reading():
                    self._vectors.settle(self.version())

    def purge(self) -> None:
        """Remove deleted text from the file permanently and release free space, without waiting for other processes."""
        self._purge(always=True)

    def _purge(self, *, always: bool) -> None:
        with self._lock:
            if self._closed:
                return
            with self._reading() as connection:
                deleted = _connection.counter(connection, "deleted")
                chunks = self._counts.corpus(connection, self.version()).chunks if deleted else 0
                if deleted and (always or _keywords.is_purge_due(deleted, chunks)):
                    with _connection.transaction(connection):
                        _keywords.purge(connection)
                _connection.vacuum_and_checkpoint(connection)

    @contextmanager
    def rebuild(self, *, vectors: bool = True) -> Generator[Self]:
        """Build a new index that has the vectors of this one and replaces it at the end, unless something fails.

        Without `vectors`, the new index has only the vectors of models that are not active. This index remains usable
        meanwhile. Where the file system has no symbolic links, files are replaced one by one in this index, and files
        that were not stored again are removed at the end.
        """
        with logged("rebuild"), self.lease():
            if self._storage.can_link():
                with self._build_generation(vectors=vectors) as fresh:
                    yield fresh
                self.refresh()
            else:
                with self._rebuild_in_place(vectors=vectors) as same:
                    yield same

    @contextmanager
    def _build_generation(self, *, vectors: bool) -> Generator[Self]:
        with translate_errors(self.path):
            file = self._storage.next_generation(self.generation)
        fresh = self._new_index()
        try:
            with translate_errors(self.path):
                fresh._adopt(self._create_with_vectors(file, vectors=vectors))  # noqa: SLF001 (of the same class)
            yield fresh
            fresh.settle()
            fresh.purge()
            fresh.close()
            with translate_errors(self.path):
                self._storage.publish(file)
        except BaseException:
            with suppress(IndexUnavailable):
                fresh.close()
            self._storage.discard(file)
            raise

    def _new_index(self) -> Self:
        other = type(self)(self._storage, self.path, clock=self._clock, network=self._network)
        other._pinned, other._engine_setting, other._spec = True, self._engine_setting, self._spec  # noqa: SLF001 (of the same class)
        return other

    def _create_with_vectors(self, file: Path, *, vectors: bool) -> _opening.OpenedFile:
        without = None if vectors or self._spec is None else self._vectors.active()
        source = str(self._opened.file) if self._opened is not None else None
        return _opening.build_from(self._storage, file, source, without, clock=self._clock, network=self._network)

    @contextmanager
    def _rebuild_in_place(self, *, vectors: bool) -> Generator[Self]:
        if not vectors and self._spec is not None:
            with self._writing() as connection:
                _cache.drop_set(connection, self._vectors.active())
                self._vectors.forget_progress()
        self._rebuilt_paths = set()
        try:
            yield self
            kept, self._rebuilt_paths = self._rebuilt_paths, None
            with self._writing() as connection:
                self._vectors.apply_change(_files.remove(connection, _files.listing(connection).keys() - kept))
        finally:
            self._rebuilt_paths = None

    @property
    def _lock(self) -> threading.RLock:
        """The lock for one thread at a time; a forked process first gets a connection of its own."""
        if self._process != os.getpid():
            self._process, self._rlock = os.getpid(), threading.RLock()
            self._storage = IndexFiles(self.path, self._clock)
            if self._opened is not None:
                _connection.abandon(self._opened.connection)
                self._opened = None
            if not (self._closed or self._pinned):
                with translate_errors(self.path):
                    self._adopt(self._open_file())
        return self._rlock

    @contextmanager
    def _reading(self) -> Generator[Database]:
        with self._lock, translate_errors(self.path):
            if self._opened is None:
                raise IndexUnavailable(f"The index {str(self.path)!r} is not open.", remedy="Open it again.")
            yield self._opened.connection

    def at_one_state(self, read: Callable[[], _T]) -> _T:
        """Return the result of `read`, all of whose reads see one state of the index; `read` may run several times.

        Threads may read at the same time. If the index changed meanwhile, `read` runs again while nothing can.
        """
        version = self.version()
        result = read()
        if self.version() == version:
            return result
        with self._reading() as connection:
            return _connection.at_one_state(connection, read)

    @contextmanager
    def _writing(self) -> Generator[Database]:
        with self._reading() as connection:
            self._storage.lease.check()
            with _connection.transaction(connection):
                self._storage.lease.check()
                yield connection
            self._version += 1

    def _listing(self, connection: Database) -> dict[str, IndexedFile]:
        """Return every indexed file by its path, read once until the index changes."""
        version = self.version()
        if self._listing_cache[0] != version:
            self._listing_cache = version, _files.listing(connection)
        return self._listing_cache[1]

    def _open_file(self, *, after: int = 0, damaged: Path | None = None) -> _opening.OpenedFile:
        return _opening.open_index(
            self._storage,
            clock=self._clock,
            network=self._network,
            notice=self._add_notice,
            after=after,
            damaged=damaged,
        )

    def _adopt(self, opened: _opening.OpenedFile) -> None:
        self._opened = opened
        self._data_version = -1
        self._version += 1
        self._vectors = Vectors(opened.connection, self._add_notice)
        self._vectors.choose(*self._effective_engine)
        if self._spec is not None:
            self._vectors.use(self._spec, now=self._clock())

    @property
    def _effective_engine(self) -> tuple[EngineName, str | None]:
        """The engine setting; `exact` if the index is read-only, because other engines write tables of their own."""
        return ("exact", None) if self.read_only else self._engine_setting

    def _close_file(self) -> None:
        if self._opened is not None:
            opened, self._opened = self._opened, None
            sealed = not self._pinned and self._storage.seal.matches(opened.file)
            opened.connection.close()
            # The last connection that closes the file writes the log into it.
            if sealed and not self._storage.seal.matches(opened.file):
                self._storage.seal.write(opened.file)

    def _add_notice(self, reason: Diagnostic) -> None:
        if reason not in self._notices:
            self._notices.append(reason)
