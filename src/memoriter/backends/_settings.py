"""What a backend is told about one workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.index import EngineName
    from memoriter.search import SearchSettings
    from memoriter.sync import SyncSettings
    from memoriter.types import SourceKind

FIRST_EMBEDDING_MS = 20_000
"""How long the first search of a workspace may spend on vectors before it answers."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Time, given once."""

    wall: Callable[[], float]
    """Seconds since 1970."""
    monotonic: Callable[[], float]


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """What the builtin backend is told about one workspace."""

    agent: str
    workspace_reason: str
    index_path: Path
    search: SearchSettings
    sync: SyncSettings
    engine: EngineName = "auto"
    extension_path: str | None = None
    on_search: bool = True
    debounce_ms: int = 1_500
    sources: tuple[SourceKind, ...] = ("memory",)
    """What is searched."""
    deadline_ms: int = FIRST_EMBEDDING_MS
