"""Export all notes of a folder as a ZIP archive: the bytes of each, and a list with origins, times and hashes.

The archive has the `.memoryignore` files of the folder, too, and a restored folder gets them back.
"""

from __future__ import annotations

import json
import os
import stat
import zipfile
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any

from memoriter.errors import PathRefused, UsageError, WriteConflict, WriteError, sentence
from memoriter.ids import bytes_hash
from memoriter.layout import FOLDER, TOOL_FOLDERS
from memoriter.permissions import open_private
from memoriter.plain_file import read_plain
from memoriter.values import dataclass
from memoriter.workspace import marked_entries, read_note, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memoriter.layout import Layout
    from memoriter.workspace import Workspace

VERSION = 1
IGNORE = "ignore/"
"""Folder of the `.memoryignore` files, numbered in the order in which `export.json` names them."""
_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)
_FIRST_YEAR = 1980
_LAST_YEAR = 2107
"""Of a time in a ZIP archive."""

IGNORE_FILE = ".memoryignore"
LONGEST = 1 << 20
"""Bytes of an ignore file that counts."""
_MOST_FOLDERS = 50_000


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export has."""

    file: Path | None
    """None: it went into a stream."""
    notes: int
    bytes: int
    """Of all notes together."""
    left_out: tuple[str, ...]
    """Notes outside of the folder, or that changed or vanished meanwhile."""


def export_notes(
    workspace: Workspace,
    file: Path,
    *,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Exported:
    """Write all notes of a folder into a new ZIP archive that only its owner can read.

    With `force`, a plain file of this name is replaced. `progress` is called with the number of notes that are done,
    and of all.

    Raises:
        UsageError: the file exists, or its folder does not.
        WriteError: it cannot be written; nothing of it is left.
    """
    _check_place(file, force=force)
    if not file.parent.is_dir():
        raise UsageError(f"The folder {str(file.parent)!r} does not exist.", remedy="Create it, or name another file.")
    draft = file.with_name(f".{file.name}.{os.urandom(6).hex()}.part")
    try:
        with open(draft, "xb", opener=open_private) as opened:
            exported = write_export(workspace, opened, progress)
            opened.flush()
            os.fsync(opened.fileno())
        _check_place(file, force=force)  # it may have appeared meanwhile
        draft.replace(file)
    except OSError as error:
        reason = sentence(error.strerror or error)
        raise WriteError(f"The export {str(file)!r} could not be written: {reason}") from error
    finally:
        draft.unlink(missing_ok=True)
    return Exported(file, exported.notes, exported.bytes, exported.left_out)


def _check_place(file: Path, *, force: bool) -> None:
    """Raise UsageError if something is there that must not be replaced."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        remedy = "Name another file."
        raise UsageError(
            f"The file {str(file)!r} cannot be written: {sentence(error.strerror)}", remedy=remedy
        ) from error
    if not stat.S_ISREG(mode):
        kind = next((kind for is_kind, kind in _KINDS if is_kind(mode)), "not a plain file")
        remedy = "Name another file; `memoriter export -` writes to the standard output."
        raise UsageError(f"{str(file)!r} is {kind}, which is not replaced.", remedy=remedy)
    if not force:
        raise UsageError(f"The file {str(file)!r} exists.", remedy="Name another file, or add --force to replace it.")


def write_export(
    workspace: Workspace, stream: IO[bytes], progress: Callable[[int, int], None] | None = None
) -> Exported:
    """Write all notes of a folder as a ZIP archive into a stream, such as stdout. Raises OSError."""
    sources = [source for source in workspace.scan().sources if source.kind == "memory"]
    lines = list[str]()
    left_out = list[str]()
    size = 0
    with zipfile.ZipFile(stream, "w") as archive:
        for number, source in enumerate(sources):
            if progress:
                progress(number, len(sources))
            content = _content(workspace, source.path)
            if content is None:
                left_out.append(source.path)
                continue
            size += len(content)
            lines.append(json.dumps(_line(source.path, content, source.mtime_ns), ensure_ascii=False))
            archive.writestr(_entry(f"notes/{source.path}", source.mtime_ns), content)
        archive.writestr(_entry("notes.jsonl", 0), "".join(f"{line}\n" for line in lines))
        ignored = dict(ignore_files(workspace.root, workspace.layout))
        for number, content in enumerate(ignored.values()):
            archive.writestr(_entry(f"{IGNORE}{number}.txt", 0), content)
        about: dict[str, Any] = {
            "format": "memoriter",
            "version": VERSION,
            "layout": workspace.layout,
            "notes": len(lines),
            "ignoreFiles": list(ignored),
        }
        archive.writestr(_entry("export.json", 0), json.dumps(about, indent=2) + "\n")
    return Exported(None, len(lines), size, tuple(left_out))


def _content(workspace: Workspace, path: str) -> bytes | None:
    """Return the bytes of a note below the folder, or None."""
    if path.startswith(("/", "../")) or path[1:2] == ":" or not (workspace.root / path).is_file():
        return None
    try:
        return workspace.content(path)
    except PathRefused:
        return None


def _line(path: str, content: bytes, changed_ns: int) -> dict[str, Any]:
    """Return what `notes.jsonl` has of a note."""
    text = content.decode("utf-8", "replace")
    note = read_note(path, text)
    others = marked_entries(text.split("\n"))  # what others than the owner wrote
    return {
        "path": path,
        "title": next(iter(note.names), ""),
        **({"date": note.day.isoformat()} if note.day else {}),
        "tags": list(note.tags),
        "origins": [
            {"start_line": each.start_line, "end_line": each.end_line, "origin": each.origin} for each in others
        ],
        "sha256": bytes_hash(content),
        "changed_ns": changed_ns,
        "text": text,
    }


def _entry(name: str, changed_ns: int) -> zipfile.ZipInfo:
    """Return the entry of a file that only its owner may read; the times of an archive begin in 1980."""
    try:
        at = datetime.fromtimestamp(changed_ns / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        at = datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC)
    at = at if _FIRST_YEAR <= at.year <= _LAST_YEAR else datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC)
    entry = zipfile.ZipInfo(name, at.timetuple()[:6])
    entry.external_attr = 0o600 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def ignore_files(root: Path, layout: Layout) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each ignore file that counts for the notes of a folder."""
    pending = ["", *([f"{FOLDER}/"] if layout == "openclaw" else [])]
    count = 0
    while pending and count < _MOST_FOLDERS:
        folder = pending.pop()
        count += 1
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name == IGNORE_FILE:
                try:
                    yield f"{folder}{IGNORE_FILE}", read_plain(root / folder / IGNORE_FILE, LONGEST)
                except OSError:
                    continue
            elif entry.is_dir(follow_symlinks=False) and _may_hold_notes(entry.name) and (folder or layout == "notes"):
                pending.append(f"{folder}{entry.name}/")


def restore_ignore_file(root: Path, path: str, content: bytes, *, dry_run: bool) -> bool:
    """Write an ignore file, and return whether it is there now with this content.

    Raises:
        PathRefused: it is not the path of an ignore file below the folder.
        WriteError: it could not be written.
    """
    *folders, name = path.split("/")
    if name != IGNORE_FILE or "\\" in path or not all(_may_hold_notes(each) for each in folders):
        raise PathRefused(f"The path {path!r} is not that of an ignore file.")
    parents = [root.joinpath(*folders[: number + 1]) for number in range(len(folders))]
    if any(parent.is_symlink() for parent in parents):
        raise PathRefused(f"The path {path!r} leads through a link.")
    file = root.joinpath(*folders, name)
    try:
        return read_plain(file, LONGEST) == content
    except FileNotFoundError:
        pass
    except OSError:
        return False
    if not dry_run:
        try:
            replace(file, content, expected=None)
        except WriteConflict:
            return False
    return True


def _may_hold_notes(folder: str) -> bool:
    return bool(folder) and not folder.startswith(".") and folder.strip().lower() not in TOOL_FOLDERS
