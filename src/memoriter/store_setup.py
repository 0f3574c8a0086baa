"""The store that the settings name: a file of SQLite, or what an installed package stores the index in."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memoriter.entry_points import STORES, load_named
from memoriter.index import Index, InspectedIndex, runs_in_background
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.config import Configuration, IndexPlace, MemorySearch
    from memoriter.environment import Environment
    from memoriter.records import StoredIndex
    from memoriter.store import Store, StoreDriver


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Which memory a store is for, and what its driver needs to find it."""

    configuration: Configuration
    settings: MemorySearch
    """Those of the agent."""
    env: Environment
    index: IndexPlace
    """The index file of the settings, for a driver that keeps one."""
    workspace: Path
    agent: str


def load_driver(name: str) -> Callable[[StorePlace], StoreDriver]:
    """Return the class of the driver that `store.driver` names. Raises ConfigError if it is not installed."""
    if name == "sqlite":
        return SqliteDriver
    driver = load_named(STORES, name, setting="memorySearch.store.driver", default="sqlite")
    return cast("Callable[[StorePlace], StoreDriver]", driver)


@dataclass(frozen=True, slots=True)
class SqliteDriver:
    """Keeps the index in a file of SQLite, with the vector engine of the settings."""

    place: StorePlace

    def __call__(self, *, inspect: bool) -> Store:
        vector = self.place.settings.store.vector
        path = self.place.index.path
        env = self.place.env
        if inspect:
            index = InspectedIndex.inspect(path, clock=env.wall)
        else:
            index = Index.open(path, clock=env.wall, network=self.place.index.network)
        engine = "auto" if vector.engine == "sqlite-vec" else vector.engine
        index.choose_engine(engine if vector.enabled else "exact")
        return index

    def runs_in_background(self) -> bool:
        return runs_in_background(self.place.index.path)

    def list_stored(self) -> list[StoredIndex]:
        """Return the index files in the folder of the settings."""
        from memoriter.index import list_files

        return list_files(self.place.index.path.parent, clock=self.place.env.wall)

    def drop_stored(self, name: str) -> None:
        """Delete one of the files."""
        from memoriter.index import drop_file

        drop_file(self.place.index.path.parent, name, clock=self.place.env.wall)
