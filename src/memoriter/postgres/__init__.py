"""The index on a PostgreSQL server, for many hosts."""

from memoriter.postgres._server import ServerSettings
from memoriter.postgres._store import PostgresStore

__all__ = ["PostgresStore", "ServerSettings"]
