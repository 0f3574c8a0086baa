"""What later imports have added and changed, so that each can be undone.

The notes of a first import say themselves which import they are of. A later import of the same source, or one that
changes notes of an earlier import, gets a folder in memoriter's home: `record.jsonl` names its notes, and beside it are
the versions that it replaced. The folder of an import that was interrupted has no last line, so the next run of the
source continues it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING, Any, Protocol, cast

from memoriter.ids import bytes_hash, content_hash
from memoriter.permissions import folder_lock, make_private_folder, open_private, write_new
from memoriter.plain_file import read_plain
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class ImportRun(Protocol):
    """One import, as far as its record goes."""

    @property
    def id(self) -> str: ...
    @property
    def source(self) -> str:
        """The name of the format."""
        ...


RECORDS = "imports"
"""The folder of the records in memoriter's home."""
RECORD = "record.jsonl"
LONGEST = 256 << 20
"""Bytes of a record."""
_FOLDER = re.compile(r"([0-9a-f]{12})-(\d{4,})")


@dataclass(frozen=True, slots=True)
class Change:
    """One note that an import added or changed."""

    note: str
    written: str
    """`ids.bytes_hash` of what the import wrote."""
    version: str = ""
    """The name of the file with the replaced version; empty: the import added the note."""


@dataclass(slots=True)
class RunRecord:
    """One import that is recorded."""

    folder: Path
    number: int
    """Imports of a folder of notes are numbered in their order."""
    id: str
    """Names the import, to undo it."""
    source: str
    run: str
    """The id of the import that the notes name which it added."""
    changes: list[Change] = field(default_factory=list[Change])
    done: bool = False
    continued: bool = False
    """Whether an interrupted run has added or changed notes before."""

    def add_new(self, note: str, text: str) -> None:
        """Record a note that is about to be added, unless it says itself which import it is of. Raises OSError."""
        if self.id != self.run:
            self._add(Change(note, bytes_hash(text.encode())))

    def add_changed(self, note: str, before: bytes, text: str) -> None:
        """Keep the version of a note that is about to be replaced. Raises OSError."""
        version = f"{len(self.changes) + 1:04}.md"
        write_new(self.folder / version, before)
        self._add(Change(note, bytes_hash(text.encode()), version))

    def finish(self, *, changed: bool) -> None:
        """Record that the import is complete, or delete the record if nothing was changed. Raises OSError."""
        if self.changes and (changed or self.continued):
            _append(self.folder, {"done": True})
        else:
            self.delete()

    def delete(self) -> None:
        """Delete the record and the versions."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _add(self, change: Change) -> None:
        self.changes.append(change)
        _append(self.folder, {"note": change.note, "written": change.written, "version": change.version})


class History:
    """The recorded imports of one folder of notes."""

    def __init__(self, folder: Path, root: Path) -> None:
        """Name the private folder of the records, and the folder of notes."""
        self._folder = folder
        self._key = content_hash(os.path.realpath(root))[:12]
        self.root = root

    def runs(self) -> list[RunRecord]:
        """Return the recorded imports in their order."""
        return sorted(self._read(), key=lambda run: run.number)

    def id_of(self, run: ImportRun, *, repeated: bool) -> str:
        """Return the id that an import has if it begins now; `repeated`: notes of its source are there already."""
        return self._next(run, repeated=repeated).id

    def begin(self, run: ImportRun, *, repeated: bool) -> RunRecord:
        """Return the record of an import that begins, or continues an interrupted one. Raises OSError."""
        self.prune()
        record = self._next(run, repeated=repeated)
        if not record.folder.exists():
            make_private_folder(record.folder)
            _append(record.folder, {"id": record.id, "format": record.source, "run": record.run})
        return record

    def prune(self) -> None:
        """Delete versions of notes that are not there any more, and records that have only such notes."""
        for run in self.runs():
            gone = [change for change in run.changes if not os.path.lexists(self.root / change.note)]
            for change in gone:
                if change.version:
                    (run.folder / change.version).unlink(missing_ok=True)
            if run.changes and len(gone) == len(run.changes):
                run.delete()

    def _next(self, run: ImportRun, *, repeated: bool) -> RunRecord:
        runs = self.runs()
        unfinished = [each for each in runs if each.run == run.id and each.source == run.source and not each.done]
        if unfinished:
            unfinished[-1].continued = bool(unfinished[-1].changes)
            return unfinished[-1]
        number = runs[-1].number + 1 if runs else 1
        repeated = repeated or any(each.id == run.id for each in runs)
        name = content_hash(f"{run.id}\n{number}")[:8] if repeated else run.id
        return RunRecord(self._folder / f"{self._key}-{number:04}", number, name, run.source, run.id)

    def _read(self) -> Iterator[RunRecord]:
        try:
            folders = list(self._folder.iterdir())
        except OSError:
            return
        for folder in folders:
            match = _FOLDER.fullmatch(folder.name)
            if match and match[1] == self._key and not folder.is_symlink():
                rows = _rows(folder / RECORD)
                first = next(rows, dict[str, Any]())
                identifier, source, name = (str(first.get(key, "")) for key in ("id", "format", "run"))
                run = RunRecord(folder, int(match[2]), identifier, source, name)
                for row in rows:
                    run.done = "done" in row
                    if "note" in row:
                        run.changes.append(Change(*(str(row.get(key, "")) for key in ("note", "written", "version"))))
                yield run


def forget_versions(root: Path, records: Path) -> None:
    """Delete the versions that imports replaced of notes that are not there any more."""
    with folder_lock(records):
        History(records, root).prune()


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a record; a last one that was not written to its end is left out."""
    try:
        lines = read_plain(file, LONGEST).splitlines()
    except OSError:
        return
    for line in lines:
        try:
            row: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield cast("dict[str, Any]", row)


def _append(folder: Path, row: dict[str, Any]) -> None:
    with open(folder / RECORD, "a", encoding="utf-8", opener=open_private) as record:
        record.write(json.dumps(row) + "\n")
