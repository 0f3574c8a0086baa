"""The settings of a backend for one workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.index import EngineName
    from memoriter.search import SearchSettings
    from memoriter.sync import SyncSettings
    from memoriter.types import SourceKind

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
    search: SearchSettings
    sync: SyncSettings
    engine: EngineName = "auto"
    extension_path: str | None = None
    sessions_dir: Path | None = None
    """The folder of the agent's transcripts."""
    on_search: bool = True
    debounce_ms: int = 1_500
    sources: tuple[SourceKind, ...] = ("memory",)
    """The kinds of sources that are searched."""
    deadline_ms: int = FIRST_EMBEDDING_MS
    index_reason: str = ""
    """Why the index is at this path; empty if there is nothing to explain."""
    network: bool | None = None
    """Whether the index is on a network file system; None detects it."""
    inspect: bool = False
    """True: nothing is created or changed; the index is read as it is, and is empty if there is none."""
