"""The settings of a backend for one workspace, and the sources that they let a search cover."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from memoriter.backends._ports import OpenStore
    from memoriter.search import SearchSettings
    from memoriter.sync import SyncSettings
    from memoriter.types import Filters, SourceKind

FIRST_EMBEDDING_MS = 20_000
"""How long the first search of a workspace may compute vectors before it returns."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks that a backend uses."""

    wall: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """The settings of the builtin backend for one workspace."""

    agent: str
    workspace_reason: str
    index_path: Path
    open_store: OpenStore
    search: SearchSettings
    sync: SyncSettings
    sessions_dir: Path | None = None
    """The folder of the agent's transcripts."""
    on_search: bool = True
    debounce_ms: int = 1_500
    sources: tuple[SourceKind, ...] = ("memory",)
    """The kinds of sources that are searched."""
    deadline_ms: int = FIRST_EMBEDDING_MS
    index_reason: str = ""
    """Why the index is at this path; empty if there is nothing to explain."""
    inspect: bool = False
    """True: nothing is created or changed; the index is read as it is, and is empty if there is none."""


TRANSCRIPTS_ARE_OFF = Diagnostic(
    "sessions_off",
    "Transcripts are not searched: `sessions` is not in memorySearch.sources, or experimental.sessionMemory is off.",
    'Set memorySearch.experimental.sessionMemory to true and memorySearch.sources to ["memory", "sessions"].',
)
NOTES_ARE_OFF = Diagnostic(
    "memory_off",
    "Notes are not searched: memorySearch.sources does not hold `memory`.",
    "Add `memory` to memorySearch.sources.",
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The sources that one search covers."""

    filters: Filters
    kinds: tuple[SourceKind, ...]
    """The kinds that share the hits: those that exist, are requested and are allowed."""
    reasons: tuple[Diagnostic, ...] = ()


def scope_of(filters: Filters, allowed: Collection[SourceKind], there: Collection[SourceKind]) -> Scope:
    """Return the sources that a search covers.

    Args:
        filters: the filters of the query.
        allowed: the kinds that the settings allow, whatever the index still holds.
        there: the kinds that the index holds.
    """
    requested = filters.sources if filters.sources is not None else frozenset(allowed)
    kinds = tuple(sorted(requested.intersection(allowed, there)))
    refused = filters.sources is not None and not filters.sources.intersection(allowed)
    reasons = (TRANSCRIPTS_ARE_OFF if "sessions" in requested else NOTES_ARE_OFF,) if refused else ()
    if filters.sources is None and set(there) <= set(allowed):
        return Scope(filters, kinds)
    return Scope(replace(filters, sources=requested.intersection(allowed)), kinds, reasons)
