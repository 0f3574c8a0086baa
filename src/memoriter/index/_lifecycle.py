"""An open index file: whose it is, who writes, and how another takes its place."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from memoriter.errors import IndexBusy, IndexUnavailable
from memoriter.index import _cache, _connection, _files, _keywords, _opening
from memoriter.index._counts import Counts
from memoriter.index._errors import translated
from memoriter.index._index_files import IndexFiles
from memoriter.index._lease import identity
from memoriter.index._network import on_network
from memoriter.index._vectors import Vectors
from memoriter.permissions import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from memoriter.index._database import Database
    from memoriter.index._engines import EngineName
    from memoriter.index._values import IndexedFile
    from memoriter.types import Diagnostic, ModelSpec


class OpenFile:
    """The life of an index file while somebody uses it."""

    def __init__(self, home: IndexFiles, path: Path, *, clock: Callable[[], float], network: bool) -> None:
        self.path = path
        self._home = home
        self._clock = clock
        self._network = network
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._notices: list[Diagnostic] = []
        self._opened: _opening.Opened | None = None
        self._closed = False
        self._version = 0
        self._seen = -1
        self._vectors: Vectors
        self._counts = Counts()
        self._listed: tuple[int, dict[str, IndexedFile]] = (-1, {})
        self._spec: ModelSpec | None = None
        self._choice: tuple[EngineName, str | None] = ("exact", None)
        self._pinned = False
        self._moved = False
        self._rebuilt: set[str] | None = None

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float], network: bool | None = None) -> Self:
        """Open the index, making or replacing the file as needed; `notices` tells what had to be done.

        `clock` gives seconds since the epoch; `network`: is it on a network file system? (`None`: find out.)
        """
        with translated(path):
            home = IndexFiles(path, clock)
            make_private_folder(home.path.parent)
            index = cls(home, path, clock=clock, network=on_network(home.path.parent) if network is None else network)
            with suppress(OSError):
                home.clean()
            index._take(index._reopened())
        return index

    @property
    def generation(self) -> int:
        """Number of the file that serves; 0 for a plain file."""
        return self._opened.generation if self._opened else 0

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """What a person should know: a file that was set aside, an engine that does not work."""
        reading = self._opened.reading if self._opened else None
        return (*self._notices, reading) if reading else tuple(self._notices)

    @property
    def read_only(self) -> bool:
        """Whether it is only read, because nothing can be written where it is; a notice says why."""
        return self._opened is not None and self._opened.reading is not None

    @property
    def engine(self) -> EngineName:
        """The vector engine that serves: `exact`, `codes` or `sqlite-vec`."""
        return self._vectors.engine

    @property
    def oversampling(self) -> int | None:
        """How many vectors the codes engine compares for each that is wanted, as measured; `None`: all there are."""
        with self._reading():
            measured = self._vectors.oversampling
            return measured.oversampling if measured else None

    def close(self) -> None:
        """Let go of the file; nothing else may be asked afterwards."""
        with self._turn, translated(self.path):
            self._closed = True
            self._let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # the file

    def refresh(self) -> bool:
        """Follow the path when another file serves there now, or none at all; True if so. Costs one `stat`.

        A file that `storing` has followed since the last call counts as well.
        """
        moved, self._moved = self._moved, False
        return self._follow() or moved

    def _follow(self) -> bool:
        with self._turn, translated(self.path):
            if self._closed or self._pinned or (self._opened and identity(self._home.path) == self._opened.identity):
                return not self._closed and self.read_only and self._writable_again()
            before = self.generation
            self._let_go()
            self._take(self._reopened(after=before))
            return True

    def _writable_again(self) -> bool:
        opened = self._reopened()
        if opened.reading is not None:
            opened.connection.close()
            return False
        self._let_go()
        self._take(opened)
        return True

    def quarantine(self) -> None:
        """Set the file aside after `IndexDamaged` and begin a new, empty one, unless somebody has done so already."""
        if self._pinned:
            raise IndexUnavailable(
                "The new index that is being built is damaged", remedy="Start again; the old one still serves."
            )
        if self.read_only:
            raise IndexUnavailable(
                f"The index {str(self.path)!r} changed or broke while it was only read",
                remedy="Ask again; if that does not help, make its folder writable.",
            )
        with self._turn, translated(self.path):
            seen, before = (self._opened.identity if self._opened else None), self.generation
            self._let_go()
            place = None
            if seen is not None:
                place = _opening.set_aside(self._home, seen, "is damaged", clock=self._clock, notice=self._notice)
            self._take(self._reopened(after=before, damaged=place))

    def version(self) -> int:
        """A number that changes whenever content may have changed, by this object or by anybody else: for caches."""
        with self._reading() as connection:
            seen = int(connection.pragma("data_version"))
            if seen != self._seen:
                self._seen = seen
                self._version += 1
                self._vectors.forget_progress()
            return self._version

    @contextmanager
    def lease(self, *, wait: float = 0.0) -> Generator[None]:
        """The right to index, for one thread of one process; `IndexBusy` if it is not free within `wait` seconds.

        At the end vectors are made ready for searching; if nobody else reads just then, deleted text leaves the file,
        in a large index only once much was deleted.
        """
        with ExitStack() as holding:
            with self._turn:
                lease = self._home.lease
                if self._opened and (reading := self._opened.reading):
                    raise IndexUnavailable(reading.message, remedy=reading.remedy)
            with translated(self.path):
                holding.enter_context(lease.held(wait))
            try:
                yield
                with suppress(IndexUnavailable):
                    self.settle()
            finally:
                with suppress(IndexUnavailable):
                    self._purge(always=False)
                if self._opened is not None and not self._pinned:
                    self._home.seal.write(self._opened.file)

    @contextmanager
    def storing(self, *, wait: float = 0.0) -> Generator[None]:
        """Hold the right to index for one short write of vectors, to the file that serves now.

        Unlike `lease` it leaves the file as it is afterwards: neither searches nor deleted text are prepared.

        Raises:
            IndexBusy: the right was not free within `wait` seconds.
        """
        with self._turn:
            lease = self._home.lease
        with ExitStack() as holding:
            with translated(self.path):
                holding.enter_context(lease.held(wait))
            self._moved = self._follow() or self._moved
            if self._opened is not None:
                holding.enter_context(self._home.seal.kept(self._opened.file))
            yield

    @contextmanager
    def embedding_lease(self, *, wait: float = 0.0) -> Generator[None]:
        """Hold the right to compute vectors, beside the right to index: no slow provider keeps words from the index.

        Raises:
            IndexBusy: another thread or process computes vectors, and still did after `wait` seconds.
        """
        if self._opened and (reading := self._opened.reading):
            raise IndexUnavailable(reading.message, remedy=reading.remedy)
        message = f"Another process is computing vectors for {str(self.path)!r}"
        busy = IndexBusy(message, remedy="Wait until it is done; words are searched meanwhile.")
        with self._sole("embed", busy, wait):
            yield

    @contextmanager
    def watch_lease(self) -> Generator[None]:
        """The right to watch, held beside the right to index; `IndexBusy` if somebody else watches."""
        message = f"Another process is watching the notes of {str(self.path)!r}"
        with self._sole("watch", IndexBusy(message, remedy="Nothing: this one takes over when the other ends."), 0.0):
            yield

    @contextmanager
    def _sole(self, name: str, busy: IndexBusy, wait: float) -> Generator[None]:
        with ExitStack() as holding:
            with translated(self.path):
                holding.enter_context(self._home.sole(name, busy, wait))
            yield

    def settle(self) -> None:
        """Make ready what the next search by vector would have to make first."""
        with self._turn:
            if not self._closed:
                with self._reading():
                    self._vectors.settle(self.version())

    def purge(self) -> None:
        """Make deleted text leave the file for good, and give free space back; waits for nobody."""
        self._purge(always=True)

    def _purge(self, *, always: bool) -> None:
        with self._turn:
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
        """A new, empty index that has the vectors of this one and takes its place at the end, unless something fails.

        Without `vectors` it has only those of other models than the one in use.
        Meanwhile this one serves. Where the file system has no symbolic links, the files of this one are replaced one
        by one, and those that were not put again are removed at the end.
        """
        with self.lease():
            if self._home.can_link():
                with self._generation_built(vectors=vectors) as fresh:
                    yield fresh
                self.refresh()
            else:
                with self._rebuilt_in_place(vectors=vectors) as same:
                    yield same

    @contextmanager
    def _generation_built(self, *, vectors: bool) -> Generator[Self]:
        with translated(self.path):
            file = self._home.next_generation(self.generation)
        fresh = self._sibling()
        try:
            with translated(self.path):
                fresh._take(self._carried_over(file, vectors=vectors))  # noqa: SLF001 (of the same class)
            yield fresh
            fresh.settle()
            fresh.purge()
            fresh.close()
            with translated(self.path):
                self._home.publish(file)
        except BaseException:
            with suppress(IndexUnavailable):
                fresh.close()
            self._home.discard(file)
            raise

    def _sibling(self) -> Self:
        other = type(self)(self._home, self.path, clock=self._clock, network=self._network)
        other._pinned, other._choice, other._spec = True, self._choice, self._spec  # noqa: SLF001 (of the same class)
        return other

    def _carried_over(self, file: Path, *, vectors: bool) -> _opening.Opened:
        without = None if vectors or self._spec is None else self._vectors.active()
        source = str(self._opened.file) if self._opened is not None else None
        return _opening.carried_over(self._home, file, source, without, clock=self._clock, network=self._network)

    @contextmanager
    def _rebuilt_in_place(self, *, vectors: bool) -> Generator[Self]:
        if not vectors and self._spec is not None:
            with self._writing() as connection:
                _cache.drop(connection, self._vectors.active())
                self._vectors.forget_progress()
        self._rebuilt = set()
        try:
            yield self
            kept, self._rebuilt = self._rebuilt, None
            with self._writing() as connection:
                self._vectors.follow(_files.remove(connection, _files.listing(connection).keys() - kept))
        finally:
            self._rebuilt = None

    # underneath

    @property
    def _turn(self) -> threading.RLock:
        """For one thread at a time. A process that was forked off begins with a connection of its own."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), threading.RLock()
            self._home = IndexFiles(self.path, self._clock)
            if self._opened is not None:
                _connection.abandon(self._opened.connection)
                self._opened = None
            if not (self._closed or self._pinned):
                with translated(self.path):
                    self._take(self._reopened())
        return self._lock

    @contextmanager
    def _reading(self) -> Generator[Database]:
        with self._turn, translated(self.path):
            if self._opened is None:
                raise IndexUnavailable(f"The index {str(self.path)!r} is not open", remedy="Open it again.")
            yield self._opened.connection

    @contextmanager
    def _writing(self) -> Generator[Database]:
        with self._reading() as connection:
            self._home.lease.check()
            with _connection.transaction(connection):
                self._home.lease.check()
                yield connection
            self._version += 1

    def _listing(self, connection: Database) -> dict[str, IndexedFile]:
        """Every indexed file by its path, read once while the index stays the same."""
        version = self.version()
        if self._listed[0] != version:
            self._listed = version, _files.listing(connection)
        return self._listed[1]

    def _reopened(self, *, after: int = 0, damaged: Path | None = None) -> _opening.Opened:
        return _opening.open_home(
            self._home,
            clock=self._clock,
            network=self._network,
            notice=self._notice,
            after=after,
            damaged=damaged,
        )

    def _take(self, opened: _opening.Opened) -> None:
        self._opened = opened
        self._seen = -1
        self._version += 1
        self._vectors = Vectors(opened.connection, self._notice)
        self._vectors.choose(*self._chosen)
        if self._spec is not None:
            self._vectors.use(self._spec, now=self._clock())

    @property
    def _chosen(self) -> tuple[EngineName, str | None]:
        """The engine that serves: others keep tables of their own, which an index that is only read cannot take."""
        return ("exact", None) if self.read_only else self._choice

    def _let_go(self) -> None:
        if self._opened is not None:
            opened, self._opened = self._opened, None
            sealed = not self._pinned and self._home.seal.intact(opened.file)
            opened.connection.close()
            # The last one to close the file writes the log into it.
            if sealed and not self._home.seal.intact(opened.file):
                self._home.seal.write(opened.file)

    def _notice(self, reason: Diagnostic) -> None:
        if reason not in self._notices:
            self._notices.append(reason)
