"""Stores that are only read: nothing is created or changed on the server."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from memoriter.errors import IndexUnavailable
from memoriter.extensions.postgres import _shared
from memoriter.extensions.postgres._editions import replica_notices
from memoriter.extensions.postgres._requirements import find_space
from memoriter.extensions.postgres._server import Server
from memoriter.extensions.postgres._state import State
from memoriter.extensions.postgres._store import PostgresStore
from memoriter.index import InspectedIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator
    from contextlib import AbstractContextManager

    from memoriter.extensions.postgres._files import Place
    from memoriter.extensions.postgres._server import Connection
    from memoriter.extensions.postgres._settings import ServerSettings
    from memoriter.types import Diagnostic


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
            others = _shared.other_sets(connection, self.spec, 0, self.server.settings.role)
            return _shared.held(connection, others, keys)

    def close(self) -> None:
        super().close()
        self.server.close()
