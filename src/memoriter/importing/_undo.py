"""List the imports of a folder of notes, and remove what one of them added."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.importing._known import imported_notes
from memoriter.importing._notes import IMPORTED, entries_in
from memoriter.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PastImport:
    """An import, as its notes show it."""

    id: str
    source: str
    notes: int
    records: int
    edited: int
    """Notes that were edited since."""


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """The notes of an import."""

    id: str
    notes: tuple[str, ...]
    """Notes that are as they were imported; they are removed."""
    hashes: tuple[str, ...]
    """`ids.bytes_hash` of each."""
    kept: tuple[str, ...]
    """Notes that were edited since; they stay."""


def past_imports(root: Path) -> list[PastImport]:
    """Return the imports that have notes in a folder of notes, by format and id."""
    found = dict[tuple[str, str], PastImport]()
    for note in imported_notes(root):
        key = note.front.source, note.front.run
        past = found.get(key, PastImport(note.front.run, note.front.source, 0, 0, 0))
        records = 1 if note.front.id else len({each for each, _, _ in entries_in(note.text)})
        edited = past.edited + (not note.unchanged)
        found[key] = PastImport(past.id, past.source, past.notes + 1, past.records + records, edited)
    return [found[key] for key in sorted(found)]


def plan_undo(root: Path, identifier: str) -> UndoPlan:
    """Return what undoing an import would remove. Raises UsageError if no note is of that import."""
    notes = [note for note in imported_notes(root) if note.front.run == identifier.strip().lower()]
    if not notes:
        remedy = "See the imports with `memoriter import --list`."
        raise UsageError(f"No note is of an import {identifier!r}.", remedy=remedy)
    removed = [note for note in notes if note.unchanged]
    return UndoPlan(
        notes[0].front.run,
        tuple(note.path for note in removed),
        tuple(note.expected for note in removed),
        tuple(note.path for note in notes if not note.unchanged),
    )


def undo(workspace: Workspace, plan: UndoPlan) -> None:
    """Remove the notes of a plan, and the folders that become empty.

    Raises:
        WriteError: a note could not be removed, or was changed since; the notes after it are still there.
    """
    for path, expected in zip(plan.notes, plan.hashes, strict=True):
        workspace.remove(path, expected=expected)
        folder = PurePosixPath(path).parent
        with suppress(OSError):
            while str(folder).startswith(IMPORTED):
                os.rmdir(workspace.root / folder)  # noqa: PTH106 - fails if anything is left in it, as it should
                folder = folder.parent
