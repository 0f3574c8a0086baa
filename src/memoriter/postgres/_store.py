"""The index of one agent on a PostgreSQL server."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from memoriter.errors import EmbeddingError, IndexBusy, IndexUnavailable
from memoriter.postgres import _files, _vectors
from memoriter.postgres._conditions import storable
from memoriter.postgres._files import Place
from memoriter.postgres._reader import FORGETTING, PostgresReader, State
from memoriter.postgres._rights import Right
from memoriter.postgres._schema import TABLES, partition_statements, partitions
from memoriter.postgres._server import Server
from memoriter.types import CompactReport, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.postgres._server import Connection, ServerSettings
    from memoriter.records import ChunkRecord
    from memoriter.types import ModelSpec, Source

_WAIT = "Wait until it is done; searches work meanwhile."
_COPIED = ("sets", "vectors", "failures", "meta")
"""The tables whose rows a rebuild takes along."""


class PostgresStore(PostgresReader):
    """The index of one space: a workspace and an agent. Many hosts may use it at the same time.

    Any method may raise `IndexBusy`, `IndexDamaged` or another `IndexUnavailable`; each has a remedy.
    """

    engine = "exact"
    oversampling = None
    read_only: bool = False

    def __init__(
        self, server: Server, name: str, state: State, *, clock: Callable[[], float], spec: ModelSpec | None = None
    ) -> None:
        """Take an open server; use `open`."""
        super().__init__(server, state, spec)
        self.path = Path(server.name) / name
        """The place of the store, for messages."""
        self._name, self._clock = name, clock
        self._epoch: int | None = None
        self._seen = state.place.edition
        lock = f"{server.settings.schema}/{name}/"
        self._indexing = Right(server, f"{lock}index", f"is indexing {name!r}", _WAIT, taken=self._begin_epoch)
        self._embedding = self._right(
            "embed", f"is computing vectors for {name!r}", "Wait until it is done; keyword search works meanwhile."
        )
        self._background = self._right(
            "background", f"is indexing {name!r} in the background", "Do nothing: the other process does the work."
        )
        self._watching = self._right(
            "watch",
            f"is watching the notes of {name!r}",
            "Do nothing: this process takes over when the other one ends.",
        )

    def _right(self, kind: str, doing: str, remedy: str) -> Right:
        name = f"{self._server.settings.schema}/{self._name}/{kind}"
        return Right(self._server, name, doing, remedy, taken=lambda _: None)

    @classmethod
    def open(cls, settings: ServerSettings, name: str, *, clock: Callable[[], float]) -> Self:
        """Open the space of a name, and create it and the schema if needed. On a replica, it can only be read.

        Args:
            settings: where the server is.
            name: of the space: the workspace and the agent.
            clock: returns seconds since 1970.

        Raises:
            IndexUnavailable: the server does not answer, or something is missing there.
            MissingPackage: the extra `postgres` is not installed.
        """
        server = Server(settings)
        missing = IndexUnavailable(
            f"The replica {server.name} has no index of {name!r}.",
            remedy="Run `memoriter index` with the primary server in memorySearch.store.postgres.dsn.",
        )
        if not server.prepare(create=True):
            raise missing
        with server.connection() as connection, connection.transaction():
            connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"{settings.schema}/{name}/open",)
            )
            row = connection.execute("SELECT id FROM spaces WHERE name = %s", (name,)).fetchone()
            if row is None and server.is_replica:
                raise missing
            if row is None:
                row = connection.execute(
                    "INSERT INTO spaces(name, edition) VALUES (%s, 0) RETURNING id", (name,)
                ).fetchone()
                space = int(cast("tuple[int]", row)[0])
                for statement in partition_statements(space):
                    connection.execute(statement.encode())
                edition = _new_edition(connection, space)
                connection.execute("UPDATE spaces SET edition = %s WHERE id = %s", (edition, space))
        store = cls(server, name, State(int(cast("tuple[int]", row)[0])), clock=clock)
        store.read_only = server.is_replica
        return store

    @property
    def notices(self) -> tuple[Diagnostic, ...]:
        """Diagnostics about the store itself."""
        if not self.read_only:
            return ()
        message = f"{self._server.name} is a replica, so the index does not include new changes."
        return (Diagnostic("index_read_only", message, "Let a process with the primary server index the notes."),)

    def refresh(self) -> bool:
        """Notice another content; return whether there is one since the last call."""
        with self._reading() as (_, place):
            moved, self._seen = place.edition != self._seen, place.edition
            return moved

    def quarantine(self) -> None:
        """Raise IndexUnavailable: tables of a server are repaired by its administrator, or built again."""
        raise IndexUnavailable(
            f"The tables of {str(self.path)!r} cannot be used.", remedy="Run `memoriter index --force`."
        )

    def check(self) -> None:
        """Raise IndexDamaged if the tables are not those of memoriter. The server checks its own pages."""
        with self._reading() as (connection, place):
            for table in TABLES:
                connection.execute(f"SELECT 1 FROM {table} WHERE space = %s AND edition = %s LIMIT 1".encode(), place)

    def check_if_changed(self) -> None:
        """Do nothing: only the server writes its files."""

    def close(self) -> None:
        self._server.close()

    # rights

    def lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        return self._indexing.hold(wait)

    def storing(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
        return self._indexing.hold(wait)

    def embedding_lease(self, *, wait: float = 0.0) -> AbstractContextManager[None]:
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
            "UPDATE spaces SET epoch = epoch + 1 WHERE id = %s RETURNING epoch", (self._state.space,)
        ).fetchone()
        self._epoch = int(cast("tuple[int]", row)[0])

    # writing

    @contextmanager
    def _writing(self, *, content: bool = True) -> Generator[tuple[Connection, Place]]:
        """Give a connection in a transaction, if the right to index was not lost; at its end, count the change."""
        with self._lock, self._server.connection() as connection, connection.transaction():
            row = connection.execute(
                "SELECT edition, epoch FROM spaces WHERE id = %s FOR UPDATE", (self._state.space,)
            ).fetchone()
            edition, epoch = cast("tuple[int, int]", row)
            if self._indexing.held and self._epoch != epoch:
                raise IndexBusy(
                    f"Another process took the right to index {self._name!r} while this one held it.",
                    remedy="Nothing is lost. Once the other process is done, run `memoriter index`.",
                )
            place = Place(self._state.space, self._state.fixed or edition)
            yield connection, place
            connection.execute(
                "UPDATE editions SET changes = changes + 1, content = content + %s WHERE id = %s",
                (int(content), place.edition),
            )

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
            _, first = _files.put(
                connection, place, source, hash, entries, keep=keep, tail=tail, tags=tags, names=names
            )
            _vectors.lengthen_those_of_chunks(connection, *place, [entry.key for entry in entries])
            keys = [entry.key for entry in entries] + [item.key for entry in entries for item in entry.items]
            connection.execute(
                "UPDATE vectors SET used_at = %s WHERE space = %s AND edition = %s AND key = ANY(%s) AND used_at < %s",
                (self._clock(), *place, keys, self._clock()),
            )
            del first

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
        if self._spec is None:
            raise EmbeddingError("No embedding model is in use.", remedy="Call `use_vectors` first.")
        with self._writing() as (connection, place):
            found = _vectors.find_set(connection, self._spec, *place)
            if found is None:
                _vectors.register(connection, self._spec, *place, now=self._clock())
                found = _vectors.find_set(connection, self._spec, *place)
            yield connection, cast("_vectors.VectorSet", found)

    def put_vectors(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        with self._active() as (connection, active):
            rows = _vectors.unit_rows(vectors, active.dimensions)
            if len(rows) != len(keys):
                raise EmbeddingError(f"{len(keys)} keys were given with {len(rows)} vectors.")
            _vectors.put(connection, active, keys, rows, now=self._clock())

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
        with self._writing() as (connection, place):
            return _vectors.evict(connection, *place, max_entries=max_entries, max_bytes=max_bytes)

    # work on the whole space

    @contextmanager
    def rebuild(self, *, vectors: bool = True) -> Generator[Self]:
        """Yield an empty store that replaces this one at the end, unless something fails. It keeps the vectors."""
        with self.lease():
            with self._writing(content=False) as (connection, place):
                fresh = _new_edition(connection, place.space, after=place.edition)
                self._copy(connection, place, fresh, vectors=vectors)
            store = type(self)(self._server, self._name, State(place.space, fresh), clock=self._clock, spec=self._spec)
            try:
                yield store
                with self._writing(content=False) as (connection, place):
                    connection.execute("UPDATE spaces SET edition = %s WHERE id = %s", (fresh, place.space))
            except BaseException:
                self._drop(Place(place.space, fresh))
                raise
            self._drop(place)

    def _copy(self, connection: Connection, place: Place, fresh: int, *, vectors: bool) -> None:
        left_out = -1
        if not vectors and self._spec is not None and (active := _vectors.find_set(connection, self._spec, *place)):
            left_out = active.id
        connection.execute(
            "INSERT INTO sets(space, edition, id, fingerprint, dimensions, spec, created_at) OVERRIDING SYSTEM VALUE"
            " SELECT space, %s, id, fingerprint, dimensions, spec, created_at FROM sets WHERE space = %s AND edition = %s",
            (fresh, *place),
        )
        connection.execute(
            "INSERT INTO vectors(space, edition, set, key, used_at, vector, short)"
            " SELECT space, %s, set, key, used_at, vector, short FROM vectors WHERE space = %s AND edition = %s AND set <> %s",
            (fresh, *place, left_out),
        )

    def _drop(self, place: Place) -> None:
        with self._server.connection() as connection, connection.transaction():
            for table in TABLES:
                connection.execute(f"DELETE FROM {table} WHERE space = %s AND edition = %s".encode(), place)
            connection.execute("DELETE FROM editions WHERE id = %s", (place.edition,))

    def purge(self) -> None:
        """Let the server reuse the space of deleted rows."""
        self._vacuum("VACUUM")

    def _vacuum(self, how: str) -> None:
        with self._server.connection() as connection:
            connection.execute("SET statement_timeout = 0")
            try:
                for table in partitions(self._state.space):
                    connection.execute(f"{how} {table}".encode())
            finally:
                connection.execute(
                    "SELECT set_config('statement_timeout', %s, false)",
                    (str(self._server.settings.statement_timeout_ms),),
                )

    def size(self) -> int:
        """Return the bytes of the tables and indexes of the space."""
        with self._reading() as (connection, _):
            ((size,),) = connection.execute(
                "SELECT coalesce(sum(pg_total_relation_size(to_regclass(name))), 0)::bigint FROM unnest(%s::text[]) AS name",
                (partitions(self._state.space),),
            ).fetchall()
            return int(size)

    def compact(self, *, max_entries: int, max_bytes: int, damaged: bool = False, wait: float = 0.0) -> CompactReport:
        with self.lease(wait=wait):
            before = self.size()
            evicted = self.evict(max_entries=max_entries, max_bytes=max_bytes)
            self._drop_leftover_editions()
            self._vacuum("VACUUM (FULL, ANALYZE)")
            with self._reading() as (connection, place):
                statement = f"SELECT count(*) FROM vectors AS known WHERE known.space = %s AND known.edition = %s AND {_vectors.UNUSED}"  # noqa: S608, E501 (fixed text)
                ((unused,),) = connection.execute(statement.encode(), place).fetchall()
            return CompactReport(before, self.size(), evicted, int(unused), (), 0, damaged_removed=damaged)

    def _drop_leftover_editions(self) -> None:
        """Delete what a rebuild that was killed has left."""
        with self._reading() as (connection, place):
            rows = connection.execute("SELECT id FROM editions WHERE space = %s AND id <> %s", place).fetchall()
        for (edition,) in rows:
            self._drop(Place(place.space, int(edition)))

    def begin_forgetting(self) -> None:
        self.set_meta(FORGETTING, "1")

    def end_forgetting(self) -> None:
        self.drop_meta(FORGETTING)

    def forget(self) -> CompactReport:
        with self.lease():
            with self._writing() as (connection, place):
                statement = (
                    f"DELETE FROM failures AS known WHERE known.space = %s AND known.edition = %s AND {_vectors.UNUSED}"  # noqa: S608 (fixed text)
                )
                connection.execute(statement.encode(), place)
                connection.execute(
                    "DELETE FROM meta WHERE space = %s AND edition = %s AND starts_with(key, 'background:')", place
                )
            report = self.compact(max_entries=0, max_bytes=0, damaged=True)
            self.end_forgetting()
        return report


def _new_edition(connection: Connection, space: int, *, after: int = 0) -> int:
    """Create an empty edition, whose chunks get ids after those of another one."""
    row: Any = connection.execute(
        "INSERT INTO editions(space, newest) SELECT %s, coalesce((SELECT newest FROM editions WHERE id = %s), 0)"
        " RETURNING id",
        (space, after),
    ).fetchone()
    return int(row[0])


def runs_in_background(settings: ServerSettings, name: str) -> bool:
    """Return whether a process holds `PostgresStore.background_lease` of a space. Nothing is created."""
    server = Server(settings)
    try:
        return Right(server, f"{settings.schema}/{name}/background", "", "", taken=lambda _: None).is_taken()
    finally:
        server.close()
