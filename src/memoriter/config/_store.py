"""`memorySearch.store`: where the index is."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from memoriter.config._section import Doc, Section
from memoriter.entry_points import STORES
from memoriter.values import dataclass

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
