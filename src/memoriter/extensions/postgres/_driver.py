"""The store on a PostgreSQL server, for the settings of memoriter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.config import expand
from memoriter.environment import host_name
from memoriter.extensions.postgres._catalog import drop_space, list_spaces
from memoriter.extensions.postgres._inspected import InspectedStore
from memoriter.extensions.postgres._settings import ServerSettings
from memoriter.extensions.postgres._store import PostgresStore, runs_in_background
from memoriter.extensions.postgres.settings import KEY, PostgresSettings
from memoriter.values import dataclass

if TYPE_CHECKING:
    from memoriter.records import StoredIndex
    from memoriter.store import Store
    from memoriter.store_setup import StorePlace


@dataclass(frozen=True, slots=True)
class PostgresDriver:
    """Keeps the index on the server of the settings."""

    place: StorePlace

    def __call__(self, *, inspect: bool) -> Store:
        open_it = InspectedStore.inspect if inspect else PostgresStore.open
        store = open_it(self._server, self._space, clock=self.place.env.wall)
        if isinstance(store, PostgresStore):
            vector = self.place.settings.store.vector
            store.may_use_graphs = vector.enabled and vector.engine != "exact"
        return store

    def runs_in_background(self) -> bool:
        return runs_in_background(self._server, self._space)

    def list_stored(self) -> list[StoredIndex]:
        """Return the memories of the server that its user may read."""
        return list_spaces(self._server)

    def drop_stored(self, name: str) -> None:
        """Delete one of the memories."""
        drop_space(self._server, name)

    @property
    def _settings(self) -> PostgresSettings:
        return self.place.configuration.extension(KEY, PostgresSettings, agent=self.place.agent)

    @property
    def _server(self) -> ServerSettings:
        given = self._settings
        environ = self.place.env.environ
        return ServerSettings(
            dsn=expand(given.dsn or "", environ),
            service=given.service or "",
            password=expand(given.password or "", environ),
            schema=given.schema,
            role=given.role or "",
            pool_size=given.pool_size,
            statement_timeout_ms=given.statement_timeout_ms,
        )

    @property
    def _space(self) -> str:
        name = self._settings.workspace or f"{host_name()}:{self.place.workspace}"
        return f"{name}/{self.place.agent}"
