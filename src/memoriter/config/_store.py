"""`memorySearch.store`: where the index is."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from memoriter.config._section import Doc, Section, Whole
from memoriter.entry_points import STORES
from memoriter.values import dataclass, field

Engine = Literal["auto", "exact", "codes", "sqlite-vec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorStoreSection(Section):
    """Storage and comparison of vectors."""

    enabled: Annotated[bool, Doc("False compares a query with every vector, as the engine `exact` does")] = True
    extension_path: Annotated[str | None, Doc("The library of sqlite-vec, for OpenClaw")] = None
    engine: Annotated[
        Engine,
        Doc("How vectors are compared; `auto` picks by size; `sqlite-vec` means `auto`, on PostgreSQL `codes` too"),
    ] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSection(Section):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Section):
    """Storage of the index."""

    ignored_keys: ClassVar[frozenset[str]] = frozenset({"fts"})

    driver: Annotated[
        str,
        Doc(
            "Where the index is: `sqlite`, a file; `postgres`, a server; or a name that an installed package offers",
            entry_points=STORES,
        ),
    ] = "sqlite"
    path: Annotated[str | None, Doc("The index file; `{agentId}` and a leading `~` are replaced")] = None
    vector: Annotated[VectorStoreSection, Doc("Vector search")] = VectorStoreSection()
    postgres: Annotated[PostgresSection, Doc("The PostgreSQL server")] = PostgresSection()
