"""The index on a PostgreSQL server, for many hosts."""

from memoriter.extensions.postgres._driver import PostgresDriver, drop_space, list_spaces
from memoriter.extensions.postgres._server import ServerSettings
from memoriter.extensions.postgres._store import InspectedStore, PostgresStore

__all__ = [
    "InspectedStore",
    "PostgresDriver",
    "PostgresStore",
    "ServerSettings",
    "drop_space",
    "list_spaces",
]
