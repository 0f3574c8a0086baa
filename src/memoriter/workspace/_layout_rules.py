"""What the layout of a folder means for its notes: which ones are outside the memory, and where a day's note is."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused
from memoriter.layout import OPENCLAW_FILES, markdown_files
from memoriter.types import Diagnostic, Skipped
from memoriter.workspace._paths import ReadablePath, admit, list_areas

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from memoriter.workspace._paths import Area


def notes_outside(root: str, areas: Sequence[Area]) -> Diagnostic | None:
    """Return a diagnostic if Markdown files below a folder are in none of its areas.

    At most `layout.MOST_ENTRIES` directory entries are looked at. Files that an ignore rule excludes and OpenClaw's
    own files, such as `AGENTS.md`, do not count.
    """
    anywhere = list_areas(root, (), "notes")
    count = sum(
        path not in OPENCLAW_FILES
        and isinstance(admit(areas, root, path), Skipped)
        and isinstance(admit(anywhere, root, path), ReadablePath)
        for path in markdown_files(root)
    )
    if not count:
        return None
    files = "1 Markdown file is" if count == 1 else f"{count:,} Markdown files are"
    return Diagnostic(
        "notes_outside",
        f"{files} not memory: in {root!r}, only MEMORY.md and memory/ are.",
        f"To search all Markdown files of this folder, run `memoriter init -w {quote(root)} --layout=notes`.",
    )


def daily_file(root: Path, pattern: str, day: date) -> Path:
    """Return the path of a day's note.

    Args:
        root: the folder of notes.
        pattern: the path below it, with date codes of `strftime`.
        day: the day.

    Raises:
        PathRefused: a folder on the way is a symbolic link, so scans would not find a note that is written there.
    """
    *folders, name = day.strftime(pattern).split("/")
    folder = root
    for part in folders:
        folder /= part
        if folder.is_symlink():
            raise PathRefused(
                f"{folder.relative_to(root).as_posix()!r} is a symbolic link and is not followed.",
                remedy="Make it a plain folder.",
            )
    return folder / name
