"""The index on a PostgreSQL server, for many hosts."""

from memoriter.postgres._catalog import drop_space, list_spaces
from memoriter.postgres._inspected import InspectedStore
from memoriter.postgres._settings import ServerSettings
from memoriter.postgres._store import PostgresStore, runs_in_background

__all__ = [
    "InspectedStore",
    "PostgresStore",
    "ServerSettings",
    "drop_space",
    "list_spaces",
    "runs_in_background",
]
