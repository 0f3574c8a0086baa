"""Where a store on a server is."""

from __future__ import annotations

from memoriter.values import dataclass, field


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the store is."""

    dsn: str = field(default="", repr=False)
    """A connection string of libpq or an address; empty: its environment variables and defaults."""
    service: str = ""
    """The name of a service of libpq's service file."""
    password: str = field(default="", repr=False)
    """The password of the user; empty: the one of `dsn`, of libpq's environment variables or of its password file."""
    schema: str = "memoriter"
    pool_size: int = 4
    """The most connections for reading and writing; a right to index needs one more."""
    statement_timeout_ms: int = 30_000
    role: str = ""
    """The role whose members may use a space; empty: the user of the connection, or the role that owns it already."""
