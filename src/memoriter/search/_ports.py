"""Protocols of the index that a search reads. `memoriter.index.Index` implements them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.types import Chunk, Filters, ScriptBaselines, SourceKind


class CorpusLike(Protocol):
    """Counts over all indexed chunks."""

    @property
    def chunks(self) -> int: ...
    @property
    def mean_length(self) -> float: ...


class ScoringRowLike(Protocol):
    """Fields of a stored chunk that ranking reads."""

    @property
    def id(self) -> int: ...
    @property
    def path(self) -> str: ...
    @property
    def source(self) -> SourceKind: ...
    @property
    def length(self) -> int: ...
    @property
    def term_counts(self) -> bytes: ...
    @property
    def day(self) -> int: ...
    @property
    def script(self) -> str: ...


class StoredChunkLike(Protocol):
    """A stored chunk with its text."""

    @property
    def path(self) -> str: ...
    @property
    def source(self) -> SourceKind: ...
    @property
    def chunk(self) -> Chunk: ...
    @property
    def day(self) -> int: ...


class Reader(Protocol):
    """Read access to both retrievers. The ids of one file's chunks are consecutive, in the order of the file."""

    def corpus(self) -> CorpusLike: ...
    def count(self, filters: Filters) -> int: ...
    def document_frequency(self, terms: Collection[str]) -> Mapping[str, int]: ...
    def keyword_search(
        self,
        terms: Sequence[str],
        *,
        limit: int,
        filters: Filters,
        frequency: Mapping[str, int] | None,
        weights: Mapping[str, float] | None,
    ) -> Sequence[tuple[int, float]]: ...
    def keyword_search_all(
        self, terms: Sequence[str], *, limit: int, filters: Filters
    ) -> Sequence[tuple[int, float]]: ...
    def vector_search(
        self, query: NDArray[np.float32], *, limit: int, filters: Filters, levels: ScriptBaselines | None = None
    ) -> Sequence[tuple[int, float]]: ...
    def vectors_at(self, ids: Collection[int]) -> tuple[list[int], NDArray[np.float32]]: ...
    def rows(self, ids: Collection[int]) -> Mapping[int, StoredChunkLike]: ...
    def scoring_rows(self, ids: Collection[int]) -> Mapping[int, ScoringRowLike]: ...
