"""The memory that the parts below `memoriter.Memory` use, as a Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import date

    from memoriter.config import Configuration, MemorySearch, Place
    from memoriter.types import Excerpt, Remembered, SearchResult, Source, SourceKind


class MemoryLike(Protocol):
    """A memory as tools, plugins and recall use it; `memoriter.Memory` implements it."""

    @property
    def configuration(self) -> Configuration: ...
    @property
    def settings(self) -> MemorySearch: ...
    @property
    def place(self) -> Place: ...
    @property
    def token(self) -> str | None:
        """The author of what comes with the token of somebody else than the owner; None: an agent of the owner."""
        ...

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        sources: Collection[SourceKind] | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        on: date | str | None = None,
        changed: bool | None = None,
        path: str | None = None,
        tags: Collection[str] | None = None,
        explain: bool = False,
        deadline_ms: int | None = None,
        update: bool = True,
        operators: bool = False,
        session: str | None = None,
        as_of: date | str | None = None,
    ) -> SearchResult: ...

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt: ...
    def authors(self, path: str, *, as_of: date | str | None = None) -> list[str]: ...
    def sources(self) -> Sequence[Source]: ...
    def remember(
        self, text: str, *, to: Literal["daily", "long-term"] = "daily", origin: str | None = None
    ) -> Remembered: ...
