"""The index of one agent on a PostgreSQL server, and the same for commands that only look at it."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self, cast

from memoriter.errors import EmbeddingError, IndexBusy, IndexDamaged, IndexUnavailable
from memoriter.extensions.postgres import _editions, _files, _nearest, _vectors
from memoriter.extensions.postgres._changes import EDITION_BITS, Content, Notifier, State, changes, name_of
from memoriter.extensions.postgres._conditions import storable
from memoriter.extensions.postgres._editions import replica_notices
from memoriter.extensions.postgres._files import Place
from memoriter.extensions.postgres._reader import FORGETTING, PostgresReader
from memoriter.extensions.postgres._requirements import find_space
from memoriter.extensions.postgres._rights import Right
from memoriter.extensions.postgres._schema import TABLES
from memoriter.extensions.postgres._server import Server
from memoriter.index import InspectedIndex
from memoriter.types import CompactReport, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence
    from contextlib import AbstractContextManager
    from threading import Event

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.extensions.postgres._connections import Connection
    from memoriter.extensions.postgres._server import ServerSettings
    from memoriter.records import ChunkRecord
    from memoriter.types import ModelSpec, Source

_WAIT = "Wait until it is done; searches work meanwhile."
FEW_ROWS = 500
"""New rows after which the server is asked to look at the tables."""


class PostgresStore(PostgresReader):
    """The index of one space: a workspace and an agent. Many hosts may use it at the same time.

    Any method may raise `IndexBusy`, `IndexDamaged` or another `IndexUnavailable`; each has a remedy.
    """

    def __init__(
        self, server: Server, name: str, state: State, *, clock: Callable[[], float], spec: ModelSpec | None = None
    ) -> None:
        """Take an open server; use `open`."""
        super().__init__(server, state)
        self._spec = spec
        self.path = Path(server.name) / name
        """The place of the store, for messages."""
        self._name = name
        self._clock = clock
        self.read_only = self.read_only or server.is_replica
        self._epoch: int | None = None
        self._seen = state.place.edition
        self._lost = server.lost_connections
        self._repaired: Diagnostic | None = None
        self._unknown_rows = self._known_rows = 0
        self._notifier = Notifier(server, state)
        self._indexing = Right(server, name, "index", _WAIT, taken=self._begin_epoch, released=self._notifier.notify)
        self._embedding = Right(server, name, "embed", "Wait until it is done; keyword search works meanwhile.")
        self._background = Right(server, name, "background", "Do nothing: the other process does the work.")
        self._making_graphs = Right(server, name, "graphs", _WAIT)
        self._watching = Right(server, name, "watch", "Do nothing: this process takes over when the other one ends.")

    @classmethod
    def open(cls, settings: ServerSettings, name: str, *, clock: Callable[[], float]) -> Self:
        """Open the space of a workspace and an agent; create it and the schema if needed. A replica can only be read.

        Raises:
            IndexUnavailable: the server does not answer, or something is missing there.
            MissingPackage: the extra `postgres` is not installed.
        """
        server = Server(settings)
        try:
            server.prepare(create=True)
            return cls(server, name, State(_editions.enter(server, name)), clock=clock)
        except BaseException:
            server.close()
            raise

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """Diagnostics about the store itself."""
        return (*(() if self._repaired is None else (self._repaired,)), *_editions.replica_notices(self._server))

    def refresh(self) -> bool:
        """Notice another content, or a server that took over; return whether there is one since the last call."""
        from memoriter.extensions.postgres._connections import has_time

        if not has_time():
            return False
        with self._reading() as (_, place):
            moved = place.edition != self._seen
            self._seen = place.edition
        lost = self._server.lost_connections != self._lost
        self._lost = self._server.lost_connections
        if lost:  # a server that took over may lack the last changes, and count others with the same numbers
            self._state.known = Content(self._state.place, -1, 0)
        return moved or lost

    def quarantine(self) -> None:
        """Make missing tables again, and start empty with the vectors that are left."""
        self._server.repair()
        self._state.space = _editions.enter(self._server, self._name, repair=True)
        _editions.begin_anew(self._server, self._state.space)
        self._state.known = Content(self._state.place, -1, 0)
        self._notifier.changed()
        self._repaired = Diagnostic(
            "index_quarantined",
            f"Tables of {str(self.path)!r} were missing; they were made again.",
            "Run `memoriter index` to index the rest.",
        )

    def check(self) -> None:
        """Raise IndexDamaged if the tables are not those of memoriter. The server checks its own pages."""
        with self._reading() as (connection, place):
            for table in TABLES:
                connection.execute(f"SELECT 1 FROM {table} WHERE space = %s AND edition = %s LIMIT 1".encode(), place)  # noqa: S608 (fixed text)

    def close(self) -> None:
        self._server.close()

    # changes by other processes

    def content_version(self) -> str:
        return name_of(*divmod(self.content(), 1 << EDITION_BITS))

    def changes(self, stop: Event) -> Generator[str]:
        return changes(self._server, self._state, stop)

    # rights

    def lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        return self._indexing.hold(wait)

    def storing(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        self._learn_sizes()
        return self._indexing.hold_to_store(wait, after=self._embedding)

    def embedding_lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        self._learn_sizes()
        return self._embedding.hold(wait)

    def background_lease(self) -> AbstractContextManager[None]:
        return self._background.hold(0.0)

    def watch_lease(self) -> AbstractContextManager[None]:
        return self._watching.hold(0.0)

    def runs_in_background(self) -> bool:
        """Return whether a process holds `background_lease`."""
        return self._background.is_taken()

    def _begin_epoch(self, connection: Connection) -> None:
        row = connection.execute(
            # The time makes the number new even on a server that took over without the last changes.
            "UPDATE spaces SET epoch = greatest(epoch + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"
            " WHERE id = %s RETURNING epoch",
            (self._state.space,),
        ).fetchone()
        self._epoch = int(cast("tuple[int]", row)[0])

    # writing

    @contextmanager
    def _transaction(self) -> Generator[tuple[Connection, Place]]:
        """Give a connection in a transaction, if the right to index was not lost. Count what it changes."""
        with self._lock, self._server.connection() as connection, connection.transaction():
            row = connection.execute(
                "SELECT edition, epoch FROM spaces WHERE id = %s FOR UPDATE", (self._state.space,)
            ).fetchone()
            if row is None:
                raise IndexDamaged(f"The memory {self._name!r} was deleted.", remedy="Run `memoriter index`.")
            edition, epoch = cast("tuple[int, int]", row)
            if self._indexing.held and self._epoch != epoch:
                raise IndexBusy(
                    f"Another process took the right to index {self._name!r} while this one held it.",
                    remedy="Nothing is lost. Once the other process is done, run `memoriter index`.",
                )
            place = Place(self._state.space, self._state.fixed or edition)
            yield connection, place

    @contextmanager
    def _writing(self, *, content: bool = True) -> Generator[tuple[Connection, Place]]:
        """Give a connection in a transaction, as `_transaction` does; at its end, count the change."""
        with self._transaction() as (connection, place):
            yield connection, place
            _count(connection, place, content=content)
        if content:
            self._notifier.changed(later=self._indexing.held)

    def _learn_sizes(self) -> None:
        """Let the server learn how large tables have become; until then it plans as if they were empty."""
        if self._unknown_rows > max(FEW_ROWS, self._known_rows):
            _editions.analyze(self._server, self._state.space)
            self._known_rows += self._unknown_rows
            self._unknown_rows = 0

    def set_meta(self, key: str, value: str) -> None:
        with self._writing(content=False) as (connection, place):
            connection.execute(
                "INSERT INTO meta(space, edition, key, value) VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (space, edition, key) DO UPDATE SET value = excluded.value",
                (*place, storable(key), storable(value)),
            )

    def drop_meta(self, key: str) -> None:
        with self._writing(content=False) as (connection, place):
            connection.execute(
                "DELETE FROM meta WHERE space = %s AND edition = %s AND key = %s", (*place, storable(key))
            )

    def put_file(
        self,
        source: Source,
        hash: str,  # noqa: A002 (named as in `IndexedFile`)
        entries: Sequence[ChunkRecord],
        *,
        keep: int = 0,
        tail: str = "",
        tags: Collection[str] = (),
        names: Collection[str] = (),
    ) -> None:
        with self._writing() as (connection, place):
            _files.put(connection, place, source, hash, entries, keep=keep, tail=tail, tags=tags, names=names)
            _vectors.fit_to_chunks(connection, *place, [entry.key for entry in entries])
            keys = [entry.key for entry in entries] + [item.key for entry in entries for item in entry.items]
            connection.execute(
                "UPDATE vectors SET used_at = %s WHERE space = %s AND edition = %s AND key = ANY(%s) AND used_at < %s",
                (self._clock(), *place, keys, self._clock()),
            )
            self._unknown_rows += len(keys)

    def touch_file(self, source: Source, *, tail: str | None = None) -> None:
        with self._writing(content=False) as (connection, place):
            _files.touch(connection, place, source, tail)

    def remove_files(self, paths: Collection[str]) -> None:
        with self._writing() as (connection, place):
            _files.remove(connection, place, paths)

    def use_vectors(self, spec: ModelSpec) -> None:
        with self._reading() as (connection, place):
            _vectors.find_set(connection, spec, *place)
        self._spec = spec

    @contextmanager
    def _active(self) -> Generator[tuple[Connection, _vectors.VectorSet]]:
        with self._writing() as (connection, place):
            yield connection, self._registered(connection, place)

    def _registered(self, connection: Connection, place: Place) -> _vectors.VectorSet:
        if self._spec is None:
            raise EmbeddingError("No embedding model is in use.", remedy="Call `use_vectors` first.")
        found = _vectors.find_set(connection, self._spec, *place)
        if found is None:
            _vectors.register(connection, self._spec, *place, now=self._clock())
            found = _vectors.find_set(connection, self._spec, *place)
        return cast("_vectors.VectorSet", found)

    def put_vectors(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        with self._active() as (connection, active):
            rows = _vectors.unit_rows(vectors, active.dimensions)
            if len(rows) != len(keys):
                raise EmbeddingError(f"{len(keys)} keys were given with {len(rows)} vectors.")
            _vectors.put(connection, active, keys, rows, now=self._clock())
            self._unknown_rows += len(keys)

    def take_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        with self._transaction() as (connection, place):
            active = self._registered(connection, place)
            taken = _vectors.take_from(connection, active, self._other_sets(connection), keys, now=self._clock())
            if taken:
                _count(connection, place, content=True)
        if taken:
            self._notifier.changed(later=self._indexing.held)
        return taken

    def put_failure(self, key: bytes, message: str) -> None:
        with self._active() as (connection, active):
            connection.execute(
                "INSERT INTO failures(space, edition, set, key, message, failed_at) VALUES (%s, %s, %s, %s, %s, %s)"
                " ON CONFLICT (space, edition, set, key) DO UPDATE SET message = excluded.message,"
                " failed_at = excluded.failed_at",
                (*active.key, key, storable(message), self._clock()),
            )

    def clear_failures(self) -> None:
        with self._active() as (connection, active):
            connection.execute("DELETE FROM failures WHERE space = %s AND edition = %s AND set = %s", active.key)

    def evict(self, *, max_entries: int, max_bytes: int) -> int:
        with self._reading() as (connection, place):
            if _vectors.fits(connection, *place, max_entries=max_entries, max_bytes=max_bytes):
                return 0
        with self._transaction() as (connection, place):
            evicted = _vectors.evict(connection, *place, max_entries=max_entries, max_bytes=max_bytes)
            if evicted:
                _count(connection, place, content=False)  # no chunk used them
        return evicted

    # work on the whole space

    @contextmanager
    def rebuild(self, *, vectors: bool = True) -> Generator[Self]:
        with self.lease():
            _editions.drop_leftovers(self._server, self._state.space)
            with self._writing(content=False) as (connection, place), self._server.unlimited(connection):
                fresh = _editions.create(connection, place.space, after=place.edition)
                _editions.copy_vectors(connection, place, fresh, left_out=None if vectors else self._spec)
            store = type(self)(self._server, self._name, State(place.space, fresh), clock=self._clock, spec=self._spec)
            try:
                yield store
                with self._writing(content=False) as (connection, place):
                    connection.execute("UPDATE spaces SET edition = %s WHERE id = %s", (fresh, place.space))
                self._notifier.changed()
            except BaseException:
                with suppress(IndexUnavailable):  # a later run deletes what is left
                    _editions.drop(self._server, Place(place.space, fresh))
                raise
            _editions.drop(self._server, place)

    def purge(self) -> None:
        """Let the server reuse the space of deleted rows, and of a rebuild that was killed."""
        with suppress(IndexBusy), self.lease():
            _editions.drop_leftovers(self._server, self._state.space)
        _editions.vacuum(self._server, self._state.space)
        self._make_graphs()

    def _make_graphs(self) -> None:
        """Make and measure the graphs of the active vectors if they are due, unless another process does."""
        with suppress(IndexBusy), self._making_graphs.hold(0.0):
            vectors = self._without_graphs()
            if vectors and (graphs := _nearest.renew(self._server, vectors)):
                self.set_meta(_nearest.key_of(vectors), graphs.dumps())

    def size_on_disk(self) -> int:
        """Return the bytes of the tables of the space and of their indexes."""
        return _editions.size_on_disk(self._server, self._state.space)

    def compact(self, *, max_entries: int, max_bytes: int, damaged: bool = False, wait: float = 0.0) -> CompactReport:
        with self.lease(wait=wait):
            before = self.size_on_disk()
            evicted = self.evict(max_entries=max_entries, max_bytes=max_bytes)
            _editions.drop_leftovers(self._server, self._state.space)
            _editions.vacuum(self._server, self._state.space, "(FULL, ANALYZE)")
            with self._reading() as (connection, place):
                condition = _vectors.unused(*place)
                statement = f"SELECT count(*) FROM vectors AS known WHERE space = %s AND edition = %s AND {condition}"  # noqa: S608 (fixed text)
                ((unused,),) = connection.execute(statement.encode(), place).fetchall()
            return CompactReport(before, self.size_on_disk(), evicted, int(unused), (), 0, damaged_removed=damaged)

    def begin_forgetting(self) -> None:
        self.set_meta(FORGETTING, "1")

    def end_forgetting(self) -> None:
        self.drop_meta(FORGETTING)

    def forget(self) -> CompactReport:
        with self.lease():
            with self._writing() as (connection, place):
                condition = _vectors.unused(*place)
                statement = f"DELETE FROM failures AS known WHERE space = %s AND edition = %s AND {condition}"  # noqa: S608 (fixed text)
                connection.execute(statement.encode(), place)
                connection.execute(
                    "DELETE FROM meta WHERE space = %s AND edition = %s AND starts_with(key, 'background:')", place
                )
            report = self.compact(max_entries=0, max_bytes=0, damaged=True)
            self.end_forgetting()
        return report


def _count(connection: Connection, place: Place, *, content: bool) -> None:
    """Count a change of an edition; `content` says whether it is one of chunks or of vectors that they use."""
    connection.execute(
        "UPDATE editions SET changes = changes + 1, content = content + %s WHERE id = %s",
        (int(content), place.edition),
    )


class InspectedStore(PostgresStore):
    """A store that refuses every right and every write."""

    read_only = True

    @classmethod
    def inspect(
        cls, settings: ServerSettings, name: str, *, clock: Callable[[], float]
    ) -> InspectedStore | AbsentStore:
        """Open the space of a workspace and an agent; it is empty if it, or the schema, does not exist.

        Raises:
            IndexUnavailable: the server does not answer, something is missing there, or the user may not use the space.
            MissingPackage: the extra `postgres` is not installed.
        """
        server = Server(settings)
        known = None
        try:
            if server.prepare(create=False):
                with server.connection() as connection:
                    known = find_space(connection, server.name, name, settings.role)
            else:
                server.check_creation()
            if known is None or not known.has_content:
                return AbsentStore.on(server, name, clock=clock)
            return InspectedStore(server, name, State(known.id), clock=clock)
        except BaseException:
            server.close()
            raise

    def lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        del wait
        self._refuse()

    storing = embedding_lease = lease

    def background_lease(self) -> AbstractContextManager[None]:
        self._refuse()

    watch_lease = background_lease

    @contextmanager
    def _transaction(self) -> Generator[tuple[Connection, Place]]:
        self._refuse()
        yield  # type: ignore[misc]  # a context manager needs one

    def purge(self) -> None:
        """Do nothing."""

    def _refuse(self) -> NoReturn:
        message = "This command only inspects the index, so it stores nothing."
        raise IndexUnavailable(message, remedy="Run `memoriter index`.")


class AbsentStore(InspectedIndex):
    """The empty store, in memory, that stands for a space that does not exist; it knows the vectors of others."""

    server: Server

    @classmethod
    def on(cls, server: Server, name: str, *, clock: Callable[[], float]) -> AbsentStore:
        """Return the store for a name on a server, which is closed with it."""
        store = cls.inspect(Path(server.name) / name, clock=clock)
        store.server = server
        return store

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        return replica_notices(self.server)

    def shared_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        with self.server.connection() as connection:
            if connection.execute("SELECT to_regclass('spaces')").fetchone() == (None,):
                return set()
            others = _vectors.other_sets(connection, self.spec, 0, self.server.settings.role)
            return _vectors.held_by(connection, others, keys)

    def close(self) -> None:
        super().close()
        self.server.close()
