"""Which files of a folder are memory: OpenClaw's `MEMORY.md` and `memory/`, or all with the suffix of a note."""
# ruff: noqa: PTH110, PTH112, PTH113, PTH118 - plain strings throughout, as folders can have many thousand entries

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

Layout = Literal["openclaw", "notes"]
"""`openclaw`: `MEMORY.md` (or `memory.md`) and `memory/**/*.md`. `notes`: every Markdown file below the folder."""

LONG_TERM = ("MEMORY.md", "memory.md")
"""Names of the long-term file, in order of preference."""
FOLDER = "memory"
SUFFIX = ".md"
OTHER_SUFFIXES = (".markdown", ".mdx", ".txt")
"""Suffixes that are those of notes if `memory.extraSuffixes` names them."""
SUFFIX_PATTERN = "|".join(map(re.escape, (SUFFIX, *OTHER_SUFFIXES)))
"""A regular expression for the suffix of any note."""
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
_DIGITS = {"Y": r"\d{4}", "G": r"\d{4}", "j": r"\d{3}", "u": r"\d", "e": r"[ \d]?\d"} | dict.fromkeys("ymdVU", r"\d\d")
"""How the codes of numbers are written; those of names have no digits."""


def is_note(name: str, suffixes: tuple[str, ...] = (SUFFIX,)) -> bool:
    """Return whether a file has the suffix of a note, in any case.

    >>> is_note("PLAN.MD"), is_note("plan.txt")
    (True, False)
    """
    return name.lower().endswith(suffixes)


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
    codes = date_codes(pattern)
    full = codes & set("YGy") and (codes & set("j") or (codes & set("mBb") and codes & set("de")) or codes & set("VU"))
    return None if full else "it must name the day, for example with %Y-%m-%d"


def date_codes(pattern: str) -> set[str]:
    """Return the date codes in the path of a day's note, without `%`."""
    return {match[1] for match in _DATE_CODE.finditer(pattern)}


def daily_title(pattern: str, day: date) -> str:
    """Return the first heading of a new note of the day: its file name if that names the day, or else the date.

    >>> from datetime import date
    >>> [daily_title(pattern, date(2026, 11, 2)) for pattern in ("Daily/%d.%m.%Y.md", "%Y/%m/%d.md")]
    ['02.11.2026', '2026-11-02']
    """
    name = pattern.rpartition("/")[2]
    return day.isoformat() if daily_note_fault(name) else day.strftime(name.removesuffix(SUFFIX))


def daily_day(pattern: str, path: str) -> date | None:
    """Return the day of the note at a path, if the pattern of a day's note gives that path; of a week, the first day.

    >>> daily_day("Daily/%d.%m.%Y.md", "Daily/10.02.2026.md"), daily_day("Daily/%d.%m.%Y.md", "Daily/plan.md")
    (datetime.date(2026, 2, 10), None)
    """
    from datetime import UTC, datetime

    match = _daily_path(pattern).fullmatch(path)
    if match is None:
        return None
    values = match.groupdict()
    if not names_one_day(pattern):
        values["u"] = "1"
    codes = " ".join(f"%{code}".replace("%e", "%d") for code in values)
    try:
        return datetime.strptime(" ".join(values.values()), codes).replace(tzinfo=UTC).date()
    except ValueError:
        return None


@lru_cache(maxsize=8)
def _daily_path(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for the paths of a pattern, with one group for each code; repeated ones are equal."""
    expression = ""
    at = 0
    seen = set[str]()
    for match in _DATE_CODE.finditer(pattern):
        code = match[1]
        name = _DIGITS.get(code, r"[^/\d]+?")
        expression += re.escape(pattern[at : match.start()])
        if code == "%":
            expression += "%"
        elif code in seen:
            expression += f"(?P={code})"
        else:
            expression += f"(?P<{code}>{name})"
        seen.add(code)
        at = match.end()
    return re.compile(expression + re.escape(pattern[at:]))


def names_one_day(pattern: str) -> bool:
    """Return whether the notes of a pattern are of one day each, and not of a week."""
    codes = date_codes(pattern)
    return "j" in codes or bool(codes & set("mBb") and codes & set("de")) or bool(codes & set("uaA"))


def detect_layout(root: str, suffixes: tuple[str, ...] = (SUFFIX,)) -> Layout:
    """Return the layout of a folder from what it contains; an empty folder has OpenClaw's."""
    if os.path.isdir(os.path.join(root, VAULT)):
        return "notes"
    if openclaw_marker(root, suffixes):
        return "openclaw"
    return "notes" if next(note_files(root, suffixes), None) else "openclaw"


def openclaw_marker(root: str, suffixes: tuple[str, ...] = (SUFFIX,)) -> str | None:
    """Return `MEMORY.md`, `memory.md` or `memory/`, whichever makes the folder an OpenClaw workspace, or None.

    A folder `memory` without any note is no marker: it may hold the source code of a program.
    """
    for name in LONG_TERM:
        if os.path.isfile(os.path.join(root, name)):
            return name
    folder = os.path.join(root, FOLDER)
    return f"{FOLDER}/" if os.path.isdir(folder) and next(note_files(folder, suffixes), None) else None


def notes_marker(folder: str) -> str | None:
    """Return what shows that a folder without a marker holds notes, in words, or None.

    A Git repository needs one Markdown file besides the documents of a program, another folder `MANY` files.
    """
    if os.path.exists(os.path.join(folder, ".git")):
        paths = (path.rpartition("/")[2].removesuffix(SUFFIX).lower() for path in note_files(folder))
        return "Markdown files in a Git repository" if any(name not in PROJECT_DOCUMENTS for name in paths) else None
    files = sum(1 for _ in zip(note_files(folder), range(MANY), strict=False))
    return "Markdown files" if files >= MANY else None


def note_files(folder: str, suffixes: tuple[str, ...] = (SUFFIX,)) -> Iterator[str]:
    """Yield the files of notes below a folder in any order, relative with `/`; it looks at `MOST_ENTRIES` entries.

    Hidden folders and files, folders of tools and symbolic links are left out; what cannot be read is empty.
    """
    pending = [""]
    examined = 0
    while pending:
        prefix = pending.pop()
        try:
            listing = os.scandir(os.path.join(folder, prefix))
        except OSError:
            continue
        with listing:
            for entry in listing:
                examined += 1
                if examined > MOST_ENTRIES:
                    return
                if entry.name.startswith(".") or entry.is_symlink():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name.strip().lower() not in TOOL_FOLDERS:
                        pending.append(f"{prefix}{entry.name}/")
                elif is_note(entry.name, suffixes) and entry.is_file(follow_symlinks=False):
                    yield f"{prefix}{entry.name}"
