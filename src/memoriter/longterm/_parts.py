"""What long-term memories are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from memoriter.backends import Embedding, MemoryBackend
    from memoriter.longterm._own_statements import OwnStatementsFile
    from memoriter.longterm._records import Origin
    from memoriter.longterm._store import LongTermStore
    from memoriter.longterm._vector_file import VectorFile
    from memoriter.workspace import Workspace


@dataclass(frozen=True, slots=True)
class LongTermParts:
    """The parts of the long-term memories of one folder of notes."""

    workspace: Workspace
    backend: MemoryBackend
    embedding: Embedding
    open_store: Callable[[str, int], LongTermStore]
    """Returns the store for vectors of a model: its fingerprint, and the length of a vector."""
    database: str
    vectors: VectorFile
    """A copy of the vectors, for recall before a turn."""
    principal: str
    """Whose memories these are."""
    shared: bool
    """Whether other folders of notes have memories of the same principal in the database."""
    note: str
    """The key of this folder of notes."""
    own: OwnStatementsFile
    """What the owner approved on this machine, and what they wrote in the note of a project."""
    owned: bool
    """Whether the notes are the owner's, and not those of a project."""
    trusted: frozenset[Origin]
    """Whose memories, besides those of the owner, may be put before a turn without approval."""
    openclaw: Path | None
    """The folder of a table of OpenClaw that the settings name, which is only read; None: they name none."""
    inbox_days: int
    """Days after which a candidate of the inbox is dropped."""
    wall: Callable[[], float]
    new_id: Callable[[], str]
