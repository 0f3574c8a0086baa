"""memoriter's own export, as `memoriter export` writes it: `notes/` and, with their times and hashes, `notes.jsonl`.

With `own`, each note is restored byte by byte, at its place, with the layout and the ignore files of the folder.
Otherwise it is somebody's export, and its notes are imported like those of another program.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from memoriter.errors import UsageError
from memoriter.extensions.importing._export import IGNORE, LONGEST
from memoriter.extensions.importing._json import lists, mapping
from memoriter.extensions.importing._records import (
    Format,
    IgnoreFile,
    LeftOut,
    NotesLayout,
    Original,
    Page,
    Record,
    moment,
    text_of,
)
from memoriter.extensions.importing.formats._jsonl import json_lines
from memoriter.extensions.importing.formats._markdown import split_front
from memoriter.ids import bytes_hash
from memoriter.workspace import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.extensions.importing._files import Files

LIST = "notes.jsonl"
NOTES = "notes/"
ABOUT = "export.json"


class Memoriter(Format):
    """The notes of memoriter."""

    name = "memoriter"
    read_as = "memoriter export, version 1"
    owned = True
    local_ids = True

    def read(self, files: Files) -> Iterator[Record]:
        for note in _notes(files):
            if isinstance(note, LeftOut):
                yield note
                continue
            front, text = split_front(note.content.decode("utf-8", "replace").removeprefix("\ufeff"))
            at = moment(note.changed_ns / 1e9)
            yield Page(note.path, "", text, at, note.path.removesuffix(".md"), front)

    def read_own(self, files: Files) -> Iterator[Record]:
        about = _about(files)
        if about.get("layout") == "notes":
            yield NotesLayout()
        yield from _notes(files)
        for number, path in enumerate(map(text_of, lists(about.get("ignoreFiles")))):
            if (name := f"{IGNORE}{number}.txt") in files.names:
                with files.open(name) as opened:
                    yield IgnoreFile(path, opened.read(LONGEST))


def _notes(files: Files) -> Iterator[Original | LeftOut]:
    """Yield the notes of an export with all of their bytes. Raises UsageError."""
    names = set(files.names)
    if LIST not in names:
        message = f"The export {files.title!r} has no {LIST}."
        raise UsageError(message, remedy="Give the file that `memoriter export` has written.")
    for number, found in json_lines(files, LIST):
        path = text_of(found.get("path"))
        if NOTES + path not in names:
            message = f"Line {number} of {LIST} names {path!r}, which is not in the export."
            raise UsageError(message, remedy="Export again, and give the whole file.")
        with files.open(NOTES + path) as opened:
            content = opened.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            yield LeftOut(path, f"it has more than {MAX_BYTES >> 20} MiB")
            continue
        if bytes_hash(content) != found.get("sha256"):
            message = f"The note {path!r} of the export differs from its hash in {LIST}."
            raise UsageError(message, remedy="Export again: this file was changed or is damaged.")
        changed = found.get("changed_ns")
        yield Original(path, content, changed if isinstance(changed, int) else 0)


def _about(files: Files) -> dict[str, Any]:
    """Return what `export.json` says of the export; empty if it has none."""
    if ABOUT not in files.names:
        return {}
    with files.open(ABOUT) as opened:
        try:
            return mapping(json.loads(opened.read(LONGEST)))
        except (ValueError, RecursionError) as error:
            message = f"The file {ABOUT!r} of the export is not valid JSON."
            raise UsageError(message, remedy="Export again: this file was changed or is damaged.") from error
