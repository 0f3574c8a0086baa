"""`memorySearch.store.postgres`: where the PostgreSQL server is."""

from __future__ import annotations

from typing import Annotated

from memoriter.config import Doc, ExtensionSection, Whole
from memoriter.values import dataclass, field

KEY = "agents.defaults.memorySearch.store.postgres"
"""The key of the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSettings(ExtensionSection):
    """An index on a PostgreSQL server with pgvector."""

    dsn: Annotated[
        str | None,
        Doc("Connection string or address of the server; `${NAME}` is read from the environment", secret=True),
    ] = field(default=None, repr=False)
    service: Annotated[str | None, Doc("A service of the service file of PostgreSQL, instead of `dsn`")] = None
    password: Annotated[
        str | None, Doc("Password of the user; `${NAME}` is read from the environment", secret=True)
    ] = field(default=None, repr=False)
    schema: Annotated[str, Doc("Schema of the tables; it is created if it does not exist")] = "memoriter"
    workspace: Annotated[
        str | None,
        Doc("Name of the memory on the server; hosts that give the same name share it; unset: the host and its folder"),
    ] = None
    role: Annotated[
        str | None, Doc("A role of the server whose members may use the memory; unset: the user alone, or as it is")
    ] = None
    pool_size: Annotated[Whole, Doc("The most connections that the threads of one open memory share", low=1)] = 4
    statement_timeout_ms: Annotated[Whole, Doc("Milliseconds after which a statement is cancelled", low=100)] = 30_000
