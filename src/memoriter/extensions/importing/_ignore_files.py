"""The `.memoryignore` files of a folder of notes: an export has them, and a restored folder gets them back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, WriteConflict
from memoriter.layout import FOLDER, TOOL_FOLDERS
from memoriter.plain_file import read_plain
from memoriter.workspace import replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.layout import Layout

IGNORE_FILE = ".memoryignore"
LONGEST = 1 << 20
"""Bytes of an ignore file that counts."""
_MOST_FOLDERS = 50_000


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
