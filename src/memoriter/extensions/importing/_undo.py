"""List the imports of a folder of notes, and undo one: remove what it added, and restore what it changed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.extensions.importing._notes import IMPORTED, entries_in, imported_notes
from memoriter.ids import bytes_hash
from memoriter.import_history import History
from memoriter.permissions import folder_lock
from memoriter.plain_file import read_plain
from memoriter.values import dataclass
from memoriter.workspace import MAX_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.import_history import RunRecord
    from memoriter.workspace import Workspace


@dataclass(frozen=True, slots=True)
class PastImport:
    """An import, as its notes and its record show it."""

    id: str
    source: str
    notes: int
    """Notes that it added and that are there."""
    records: int
    edited: int
    """Notes that were edited since."""
    changed: int = 0
    """Notes of earlier imports that it changed."""


@dataclass(frozen=True, slots=True)
class Restoring:
    """A note that gets the content again that it had before an import."""

    note: str
    expected: str
    """`ids.bytes_hash` of its content now."""
    content: bytes


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What undoing an import does."""

    id: str
    notes: tuple[str, ...]
    """Notes that are as they were imported; they are removed."""
    hashes: tuple[str, ...]
    """`ids.bytes_hash` of each."""
    kept: tuple[str, ...]
    """Notes that were edited since; they stay."""
    restored: tuple[Restoring, ...] = ()
    """Notes of earlier imports that are as this one left them; they get back what they had before."""


def past_imports(root: Path, records: Path) -> list[PastImport]:
    """Return the imports of a folder of notes, by format and id; `records` is what `run_import` has as `locks`."""
    found = dict[tuple[str, str], PastImport]()
    for note in imported_notes(root):
        key = note.front.source, note.front.run
        past = found.get(key, PastImport(note.front.run, note.front.source, 0, 0, 0))
        texts = 1 if note.front.id else len({each for each, _, _ in entries_in(note.text)})
        edited = past.edited + (not note.unchanged)
        found[key] = PastImport(past.id, past.source, past.notes + 1, past.records + texts, edited)
    for run in History(records, root).runs():
        changed = sum(bool(change.version) for change in run.changes)
        added = sum((root / change.note).is_file() for change in run.changes if not change.version)
        past = found.get((run.source, run.id), PastImport(run.id, run.source, added, added, 0))
        found[run.source, run.id] = PastImport(past.id, past.source, past.notes, past.records, past.edited, changed)
    return [found[key] for key in sorted(found)]


def plan_undo(root: Path, identifier: str, records: Path) -> UndoPlan:
    """Return what undoing an import would do. The id of a first import names all notes of its source.

    Raises:
        UsageError: there is no such import, or a later one has changed the same notes.
    """
    identifier = identifier.strip().lower()
    runs = History(records, root).runs()
    own = [run for run in runs if run.id == identifier]
    notes = [note for note in imported_notes(root) if note.front.run == identifier]
    if not notes and not own:
        remedy = "See the imports with `memoriter import --list`."
        raise UsageError(f"No note is of an import {identifier!r}.", remedy=remedy)
    removed = {note.path: note.expected for note in notes if note.unchanged}
    kept = [note.path for note in notes if not note.unchanged]
    restored = list[Restoring]()
    for run in own:
        later = [each for each in runs if each.number > run.number]
        plan = _plan_record(root, run, later, {note.path for note in notes})
        removed |= plan.added
        restored += plan.restored
        kept += plan.kept
    return UndoPlan(identifier, tuple(removed), tuple(removed.values()), tuple(kept), tuple(restored))


@dataclass(frozen=True, slots=True)
class _RecordPlan:
    added: dict[str, str]
    restored: list[Restoring]
    kept: list[str]


def _plan_record(root: Path, run: RunRecord, later: list[RunRecord], covered: set[str]) -> _RecordPlan:
    """Return what undoing a recorded import does, without the notes that are removed anyway. Raises UsageError."""
    plan = _RecordPlan({}, [], [])
    followers = set[int]()
    versions = {change.note: change for change in reversed(run.changes)}  # the first version of each
    written = {change.note: change.written for change in run.changes}
    for note, change in versions.items():
        content = _content(root / note)
        if note in covered or content is None:  # a note that is gone was deleted by its owner
            continue
        if bytes_hash(content) != written[note]:
            followers |= {place for place, each in enumerate(later) if any(it.note == note for it in each.changes)}
            plan.kept.append(note)
        elif not change.version:
            plan.added[note] = written[note]
        elif (version := _content(run.folder / change.version)) is not None:
            plan.restored.append(Restoring(note, written[note], version))
    if followers:
        last = later[max(followers)].id
        message = f"The import {last!r} came after {run.id!r} and changed the same notes."
        raise UsageError(message, remedy=f"Undo it first: `memoriter import --undo {last}`.")
    return plan


def _content(file: Path) -> bytes | None:
    try:
        return read_plain(file, MAX_BYTES)
    except OSError:
        return None


def undo(workspace: Workspace, plan: UndoPlan, records: Path) -> None:
    """Carry a plan out, and remove the folders that become empty.

    Raises:
        WriteError: a note could not be removed or restored, or was changed since; the notes after it are as before.
    """
    history = History(records, workspace.root)
    with folder_lock(records):
        for each in plan.restored:
            workspace.replace(each.note, each.content, expected=each.expected)
        for path, expected in zip(plan.notes, plan.hashes, strict=True):
            workspace.remove(path, expected=expected)
            folder = PurePosixPath(path).parent
            with suppress(OSError):
                while str(folder).startswith(IMPORTED):
                    os.rmdir(workspace.root / folder)  # noqa: PTH106 - fails if anything is left in it, as it should
                    folder = folder.parent
        for run in history.runs():
            if run.id == plan.id:
                run.delete()
        history.prune()
