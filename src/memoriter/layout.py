"""Which Markdown files of a folder are memory: OpenClaw's `MEMORY.md` and `memory/`, or all of them."""
# ruff: noqa: PTH110, PTH112, PTH113, PTH118 - plain strings throughout, as folders can have many thousand entries

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Layout = Literal["openclaw", "notes"]
"""`openclaw`: `MEMORY.md` (or `memory.md`) and `memory/**/*.md`. `notes`: every Markdown file below the folder."""

LONG_TERM = ("MEMORY.md", "memory.md")
"""Names of the long-term file, in order of preference."""
FOLDER = "memory"
SUFFIX = ".md"
VAULT = ".obsidian"
"""Folder that makes its parent an Obsidian vault."""
TOOL_FOLDERS = frozenset(
    {".git", "node_modules", ".pnpm-store", ".venv", "venv", ".tox", "__pycache__", ".trash", VAULT}
)
"""Folders of tools, in lower case; nothing below them is memory."""
PROJECT_DOCUMENTS = frozenset(
    {
        *("readme", "changelog", "changes", "contributing", "license", "licence", "code_of_conduct", "security"),
        *("support", "authors", "maintainers", "governance", "codeowners", "pull_request_template"),
    }
)
"""Names, without `.md` and in lower case, of documents that a program's repository has and that are not notes."""
OPENCLAW_FILES = frozenset(
    f"{name}.md" for name in ("AGENTS", "BOOT", "BOOTSTRAP", "CLAUDE", "HEARTBEAT", "IDENTITY", "SOUL", "TOOLS", "USER")
)
"""Files at the top of an OpenClaw workspace that its agents read at every start, and that are not notes."""
MANY = 5
"""Markdown files that make a folder without any marker a folder of notes."""
MOST_ENTRIES = 20_000
"""Limit of directory entries that are looked at to decide about a folder."""


DAILY_NOTE = f"{FOLDER}/%Y-%m-%d{SUFFIX}"
"""Path of a day's note below the folder, with the date codes of `strftime`."""
_DATE_CODE = re.compile("%(.?)")
_DATE_CODES = "YymdBbAaejGVuU%"


def daily_note_fault(pattern: str) -> str | None:
    """Return why a pattern cannot be the path of a day's note, or None.

    >>> daily_note_fault("Daily/%Y/%m/%Y-%m-%d.md") is None, daily_note_fault("%H.md")
    (True, "'%H' is no date code; there are %Y, %y, %m, %d, %B, %b, %A, %a, %e, %j, %G, %V, %u, %U, %%")
    """
    names = pattern.split("/")
    if not pattern.endswith(SUFFIX) or pattern == SUFFIX:
        return f"it must end in {SUFFIX}"
    if "\\" in pattern or any(name.strip() in {"", ".", ".."} or name.startswith((".", "~")) for name in names):
        return "it must be a path below the folder, with / between its parts and no hidden part"
    for match in _DATE_CODE.finditer(pattern):
        if match[1] not in _DATE_CODES or not match[1]:
            codes = ", ".join(f"%{code}" for code in _DATE_CODES)
            return f"{match[0]!r} is no date code; there are {codes}"
    codes = {match[1] for match in _DATE_CODE.finditer(pattern)}
    full = codes & set("YGy") and (codes & set("j") or (codes & set("mBb") and codes & set("de")) or codes & set("VU"))
    return None if full else "it must name the day, for example with %Y-%m-%d"


def detect_layout(root: str) -> Layout:
    """Return the layout of a folder from what it contains; an empty folder has OpenClaw's."""
    if os.path.isdir(os.path.join(root, VAULT)):
        return "notes"
    if openclaw_marker(root):
        return "openclaw"
    return "notes" if next(markdown_files(root), None) else "openclaw"


def openclaw_marker(root: str) -> str | None:
    """Return `MEMORY.md`, `memory.md` or `memory/`, whichever makes the folder an OpenClaw workspace, or None.

    A folder `memory` without any Markdown file is no marker: it may hold the source code of a program.
    """
    for name in LONG_TERM:
        if os.path.isfile(os.path.join(root, name)):
            return name
    folder = os.path.join(root, FOLDER)
    return f"{FOLDER}/" if os.path.isdir(folder) and next(markdown_files(folder), None) else None


def notes_marker(folder: str) -> str | None:
    """Return what shows that a folder without a marker holds notes, in words, or None.

    A Git repository needs one Markdown file besides the documents of a program, another folder `MANY` files.
    """
    if os.path.exists(os.path.join(folder, ".git")):
        paths = (path.rpartition("/")[2].removesuffix(SUFFIX).lower() for path in markdown_files(folder))
        return "Markdown files in a Git repository" if any(name not in PROJECT_DOCUMENTS for name in paths) else None
    files = sum(1 for _ in zip(markdown_files(folder), range(MANY), strict=False))
    return "Markdown files" if files >= MANY else None


def markdown_files(folder: str) -> Iterator[str]:
    """Yield the Markdown files below a folder in any order, relative with `/`; it looks at `MOST_ENTRIES` entries.

    Hidden folders and files, folders of tools and symbolic links are left out; what cannot be read is empty.
    """
    pending, looked_at = [""], 0
    while pending:
        prefix = pending.pop()
        try:
            listing = os.scandir(os.path.join(folder, prefix))
        except OSError:
            continue
        with listing:
            for entry in listing:
                looked_at += 1
                if looked_at > MOST_ENTRIES:
                    return
                if entry.name.startswith(".") or entry.is_symlink():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name.strip().lower() not in TOOL_FOLDERS:
                        pending.append(f"{prefix}{entry.name}/")
                elif entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                    yield f"{prefix}{entry.name}"
