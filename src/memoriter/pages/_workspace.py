"""The folder of notes behind a memory, for what changes whole notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.notes import open_notes

if TYPE_CHECKING:
    from memoriter.memory import Memory
    from memoriter.workspace import Workspace


def workspace_of(memory: Memory) -> Workspace:
    """Return the folder of notes of a memory. Raises TrustRemoved."""
    config = memory.configuration.path
    notes = open_notes(memory.place.workspace, config=config, agent=memory.agent, env=memory.environment)
    return notes.trusted_workspace
