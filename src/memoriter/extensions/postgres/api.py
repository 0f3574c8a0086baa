"""The index on a PostgreSQL server, for many hosts."""

from memoriter.extensions.postgres._catalog import drop_space, list_spaces
from memoriter.extensions.postgres._driver import PostgresDriver
from memoriter.extensions.postgres._inspected import InspectedStore
from memoriter.extensions.postgres._settings import ServerSettings
from memoriter.extensions.postgres._store import PostgresStore

__all__ = [
    "InspectedStore",
    "PostgresDriver",
    "PostgresStore",
    "ServerSettings",
    "drop_space",
    "list_spaces",
]
