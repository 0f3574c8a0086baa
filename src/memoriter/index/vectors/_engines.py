"""The vector engine protocol, the engine names and the loading of sqlite-vec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.index.files._files import StoredChange
    from memoriter.index.vectors._ranking import StandardizedCosines
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
