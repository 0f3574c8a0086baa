"""The notes that earlier imports have written, read from the disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoriter.extensions.importing._notes import IMPORTED, entries_in, read_imported
from memoriter.ids import bytes_hash, content_hash
from memoriter.layout import SUFFIX
from memoriter.plain_file import read_plain
from memoriter.values import dataclass
from memoriter.workspace import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.extensions.importing._notes import Imported


@dataclass(frozen=True, slots=True)
class KnownNote:
    """A note of an earlier import."""

    path: str
    """Below the folder of notes."""
    front: Imported
    unchanged: bool
    """Whether nobody has edited it since."""
    expected: str
    """`ids.bytes_hash` of its content."""
    text: str


@dataclass(frozen=True, slots=True)
class KnownRecord:
    """Where an imported record is, and whether it still says the same."""

    path: str
    hash: str
    """Of the note for a page, and of its lines for an entry."""
    run: str
    unchanged: bool


def imported_notes(root: Path, source: str = "") -> Iterator[KnownNote]:
    """Yield the imported notes of a folder of notes, or only those of one format. Other files are left out."""
    pending = [f"{IMPORTED}/{source}" if source else IMPORTED]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif entry.name.endswith(SUFFIX) and not entry.name.startswith("."):
                try:
                    content = read_plain(root / path, MAX_BYTES)
                except OSError:
                    continue
                text = content.decode("utf-8", "replace")
                if front := read_imported(text):
                    yield KnownNote(path, front, front.is_unchanged(text), bytes_hash(content), text)


def known_records(root: Path, source: str) -> dict[str, KnownRecord]:
    """Return the records of a format that were imported before, by the key of their id."""
    known = dict[str, KnownRecord]()
    for note in imported_notes(root, source):
        if note.front.id:
            known[note.front.id] = KnownRecord(note.path, note.front.hash, note.front.run, note.unchanged)
            continue
        for key, text in entry_texts(note.text).items():
            known[f"entry {key}"] = KnownRecord(note.path, content_hash(text), note.front.run, note.unchanged)
    return known


def entry_texts(text: str) -> dict[str, str]:
    """Return the lines of each imported entry of a note, by the key of its id."""
    lines = text.split("\n")
    found = dict[str, str]()
    for key, first, last in entries_in(text):
        found[key] = found.get(key, "") + "".join(f"{line}\n" for line in lines[first - 1 : last]).rstrip("\n") + "\n"
    return found


def entry_places(text: str) -> dict[str, tuple[int, int]]:
    """Return the first and last line (1-based) of each imported entry of a note, by the key of its id."""
    found = dict[str, tuple[int, int]]()
    for key, first, last in entries_in(text):
        found[key] = found.get(key, (first, last))[0], last
    return found
