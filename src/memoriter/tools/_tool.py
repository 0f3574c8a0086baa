"""A tool as a value: MCP, HTTP and agent frameworks show and run it in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import date

    from memoriter.config import Configuration, MemorySearch, Place
    from memoriter.types import Excerpt, Remembered, SearchResult, SourceKind

DOCTOR = "Ask the owner to run `memoriter doctor`."
"""The agent's next step if the memory fails."""


class MemoryLike(Protocol):
    """The memory interface that the tools need; `memoriter.Memory` implements it."""

    @property
    def configuration(self) -> Configuration: ...
    @property
    def settings(self) -> MemorySearch: ...
    @property
    def place(self) -> Place: ...

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        sources: Collection[SourceKind] | None = None,
        since: date | None = None,
        until: date | None = None,
        path: str | None = None,
        tags: Collection[str] | None = None,
        explain: bool = False,
        deadline_ms: int | None = None,
        operators: bool = False,
    ) -> SearchResult: ...

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt: ...
    def remember(
        self, text: str, *, to: Literal["daily", "long-term"] = "daily", origin: str | None = None
    ) -> Remembered: ...


class ToolFunction(Protocol):
    """The signature of a tool's function. It returns JSON, also for a failure, and raises nothing."""

    def __call__(
        self, memory: MemoryLike, params: Mapping[str, Any], *, session_key: str | None = None
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that an agent can call."""

    name: str
    description: str
    """For the agent: when to call the tool, and what it returns."""
    input_schema: Mapping[str, Any]
    """A JSON schema; an object."""
    run: ToolFunction
    """`run(memory, params, session_key=...)` returns JSON. The session's key decides about citations."""
    title: str = ""
    """For people."""
    output_schema: Mapping[str, Any] | None = None
    """A JSON schema of the result of `run`; an object."""
    writes: bool | None = None
    """True if the tool changes data; None: unknown."""
