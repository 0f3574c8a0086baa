"""The vector engine protocol, the engine names and the loading of sqlite-vec."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Literal, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index._chunk_scripts import StandardizedCosines
    from memoriter.index._database import Database
    from memoriter.index._files import StoredChange
    from memoriter.types import Filters

EngineName = Literal["auto", "exact", "codes", "sqlite-vec"]
ENGINES: tuple[EngineName, ...] = ("auto", "exact", "codes", "sqlite-vec")
"""`exact` and `sqlite-vec` compare every vector. `codes` compares only the vectors that 1-bit codes select, enough to
find 99 % of the true nearest; with few chunks it compares all. `auto` is `exact` for small corpora, else `codes`,
unless codes were measured to find less."""

MOST_COMPARED = 16_384
"""Up to this many chunks, `auto` compares every vector; at 10,000 that is faster than codes (`just bench`) and misses
nothing."""
LARGEST_MATRIX = 256 * 1024 * 1024
"""Bytes of vectors that `auto` holds in memory rather than miss more than 1 % of the nearest with codes."""


class VectorEngine(Protocol):
    """Finds the chunks of one vector set near a query; the caller computes the scores from the stored vectors."""

    @property
    def name(self) -> EngineName: ...

    def apply_change(self, change: StoredChange, *, before: int) -> None:
        """Apply a write, inside its transaction; `before` is the content counter that the write started from."""
        ...

    def catch_up(self, version: int) -> None:
        """Bring the engine up to date with the index; cheap while `version` stays the same."""
        ...

    def candidates(
        self, query: NDArray[np.float32], limit: int, filters: Filters, standardized: StandardizedCosines | None
    ) -> NDArray[np.int64]:
        """Return the chunks with the best `limit` for a unit query, and everything within rounding of the last one.

        The best have the highest cosines or, with `standardized`, stand out most in their script.
        """
        ...

    def take(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the chunks that have a vector, ascending, and the vectors: (n,) and (n, dims)."""
        ...

    def ids(self) -> NDArray[np.int64]:
        """Return every chunk with a vector, ascending."""
        ...


def load_sqlite_vec(connection: Database, extension_path: str | None) -> str | None:
    """Test sqlite-vec in a separate database, then load it here; return the problem, or None."""
    import apsw

    try:
        path = extension_path or _bundled()
        with closing(cast("Database", apsw.Connection(":memory:"))) as scratch:
            _load(scratch, path)
            problem = _probe(scratch)
        if problem is None:
            _load(connection, path)
    # Whatever the library raises, the exact engine can be used instead.
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return problem


def _bundled() -> str:
    import sqlite_vec  # pyright: ignore[reportMissingTypeStubs] (the package has none)

    return str(sqlite_vec.loadable_path())  # pyright: ignore[reportUnknownMemberType] (as above)


def _load(connection: Database, path: str) -> None:
    connection.enable_load_extension(True)
    try:
        connection.load_extension(path)
    finally:
        connection.enable_load_extension(False)


def _probe(scratch: Database) -> str | None:
    import struct

    scratch.execute("SELECT vec_version()").fetchall()
    # Libraries for another processor have loaded successfully and then failed here.
    scratch.execute("CREATE VIRTUAL TABLE probe USING vec0(embedding float[2] distance_metric=cosine)")
    pairs = [(1, struct.pack("<2f", 1, 0)), (2, struct.pack("<2f", 0, 1))]
    scratch.executemany("INSERT INTO probe(rowid, embedding) VALUES (?, ?)", pairs)
    statement = "SELECT rowid FROM probe WHERE embedding MATCH ? AND k = 1 AND rowid IN (1, 2)"
    nearest = scratch.execute(statement, (pairs[1][1],)).get
    return None if nearest == 2 else "a test search gave a wrong answer"
