"""What a store reads beyond its own content: vectors of other memories, and who owns its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.extensions.postgres import _graphs, _shared
from memoriter.extensions.postgres._reader import PostgresReader

if TYPE_CHECKING:
    from collections.abc import Collection

    from memoriter.extensions.postgres._server import Connection
    from memoriter.extensions.postgres._vectors import VectorSet
    from memoriter.types import Diagnostic


class SurroundingsReader(PostgresReader):
    """Also reads what is around the content of a space."""

    @property
    def work_left(self) -> tuple[Diagnostic, ...]:
        """Diagnostics of work on the store that is due and that this user may not do."""
        if (vectors := self._without_graphs()) is None:
            return ()
        with self._server.connection() as connection:
            return _graphs.left_to_owner(connection, vectors)

    def _without_graphs(self) -> VectorSet | None:
        """Return the active vectors if their graphs have to be made and measured."""
        with self._opened() as (connection, content):
            vectors = self._vector_set(connection, content)
            known = self._graphs_of(connection, content, vectors) if vectors else _graphs.NONE
        return vectors if self.may_use_graphs and _graphs.is_due(known, self.vectors()) else None

    def shared_vectors(self, keys: Collection[bytes]) -> set[bytes]:
        with self._server.connection() as connection:
            return _shared.held(connection, self._other_sets(connection), keys)

    def _other_sets(self, connection: Connection) -> list[VectorSet]:
        return _shared.other_sets(connection, self._spec, self._state.space, self._server.settings.role)
