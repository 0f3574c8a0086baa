"""The store that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from memoriter.config import expand
from memoriter.environment import host_name
from memoriter.index import Index, InspectedIndex, drop_file, list_files, runs_in_background
from memoriter.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.config import IndexPlace, MemorySearch
    from memoriter.environment import Environment
    from memoriter.postgres import ServerSettings
    from memoriter.records import StoredIndex
    from memoriter.store import OpenStore, Store


def store_opener(
    settings: MemorySearch, env: Environment, place: IndexPlace, *, workspace: Path, agent: str
) -> OpenStore:
    """Return what opens the store of the settings."""
    match settings.store.driver:
        case "sqlite":
            return _SqliteOpener(settings, env, place)
        case "postgres":
            return _PostgresOpener(settings, env, workspace, agent)
        case _:
            assert_never(settings.store.driver)


@dataclass(frozen=True, slots=True)
class _SqliteOpener:
    """Opens the index of SQLite with the vector engine of the settings."""

    settings: MemorySearch
    env: Environment
    place: IndexPlace

    def __call__(self, *, inspect: bool) -> Store:
        vector = self.settings.store.vector
        path = self.place.path
        clock = self.env.wall
        if inspect:
            index = InspectedIndex.inspect(path, clock=clock)
        else:
            index = Index.open(path, clock=clock, network=self.place.network)
        engine = "auto" if vector.engine == "sqlite-vec" else vector.engine
        index.choose_engine(engine if vector.enabled else "exact")
        return index

    def runs_in_background(self) -> bool:
        return runs_in_background(self.place.path)


@dataclass(frozen=True, slots=True)
class _PostgresOpener:
    """Opens the index on the PostgreSQL server of the settings."""

    settings: MemorySearch
    env: Environment
    workspace: Path
    agent: str

    def __call__(self, *, inspect: bool) -> Store:
        from memoriter.postgres import InspectedStore, PostgresStore

        open_it = InspectedStore.inspect if inspect else PostgresStore.open
        store = open_it(self._server, self._space, clock=self.env.wall)
        vector = self.settings.store.vector
        store.may_use_graphs = vector.enabled and vector.engine != "exact"
        return store

    def runs_in_background(self) -> bool:
        from memoriter.postgres import runs_in_background

        return runs_in_background(self._server, self._space)

    @property
    def _server(self) -> ServerSettings:
        return _server_of(self.settings, self.env)

    @property
    def _space(self) -> str:
        name = self.settings.store.postgres.workspace or f"{host_name()}:{self.workspace}"
        return f"{name}/{self.agent}"


def _server_of(settings: MemorySearch, env: Environment) -> ServerSettings:
    """Return the server of the settings."""
    from memoriter.postgres import ServerSettings

    given = settings.store.postgres
    return ServerSettings(
        dsn=expand(given.dsn or "", env.environ),
        service=given.service or "",
        password=expand(given.password or "", env.environ),
        schema=given.schema,
        role=given.role or "",
        pool_size=given.pool_size,
        statement_timeout_ms=given.statement_timeout_ms,
    )


def list_stored(settings: MemorySearch, env: Environment, folder: Path) -> list[StoredIndex]:
    """Return the memories of the server of the settings that its user may read, or the index files of a folder.

    Args:
        settings: they name the driver and the server.
        env: its variables are those that the address of the server may contain.
        folder: of the index files.

    Raises:
        IndexUnavailable: the server does not answer, or something is missing there.
    """
    if settings.store.driver == "sqlite":
        return list_files(folder, clock=env.wall)
    from memoriter.postgres import list_spaces

    return list_spaces(_server_of(settings, env))


def drop_stored(settings: MemorySearch, env: Environment, folder: Path, name: str) -> None:
    """Delete one of them; see `list_stored`. Notes are not touched.

    Raises:
        IndexBusy: another process uses it.
        IndexUnavailable: the server does not answer, or a file cannot be deleted.
        UsageError: there is no such index that the user may delete.
    """
    if settings.store.driver == "sqlite":
        drop_file(folder, name, clock=env.wall)
        return
    from memoriter.postgres import drop_space

    drop_space(_server_of(settings, env), name)
