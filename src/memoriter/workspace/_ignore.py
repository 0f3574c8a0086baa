"""What is left out: built-in rules, and `.memoryignore` files with the syntax of `.gitignore`."""
# ruff: noqa: PTH118, PTH206 - plain strings throughout, as a scan makes ten thousand of them

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.plain_file import open_plain, read_plain

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".memoryignore"
_LONGEST_IGNORE_FILE = 1 << 20
_FOLDERS = frozenset(
    {".git", "node_modules", ".pnpm-store", ".venv", "venv", ".tox", "__pycache__", ".trash", ".obsidian"}
)
_LEFTOVER = re.compile(
    r"\..*|~\$.*|#.*#|.*~|.*\.(?:swp|swo|swx|tmp|temp|bak|orig|part|crdownload)(?:\.md)?"
    r"|.*\.sync-conflict-.*|.* \(.*conflicted copy.*\).*",
    re.DOTALL,
)
"""Hidden files, and what editors, browsers and Syncthing or Dropbox leave beside a note."""


def in_ignored_folder(path: str) -> bool:
    """Does the path lead through a folder of tools (`.git`, `node_modules`, `venv` …), in any case of letters?"""
    return any(_is_tool_folder(name) for name in os.path.normpath(path).split(os.sep))


def _is_tool_folder(name: str) -> bool:
    return name.strip().lower() in _FOLDERS


def built_in(name: str, *, folder: bool) -> str | None:
    """Why a folder or file of this name is never memory, or `None`."""
    if folder:
        return "hidden folder" if name.startswith(".") else "folder of a tool" if _is_tool_folder(name) else None
    if name.startswith("."):
        return "hidden file"
    return "left behind by an editor or a sync tool" if _LEFTOVER.fullmatch(name) else None


@dataclass(frozen=True, slots=True)
class Rules:
    """The ignore files from the top folder down to here; a deeper one has the last word, as in git."""

    chain: tuple[tuple[int, GitIgnoreSpec], ...] = ()
    """How many characters of a path (from the top) lead to the ignore file's folder, and its patterns."""

    def entering(self, folder: str, prefix: str) -> Rules:
        """The rules inside `folder` (on disk), which is `prefix` seen from the top: empty, or with a `/` at its end."""
        spec = _read(os.path.join(folder, IGNORE_FILE))
        return Rules((*self.chain, (len(prefix), spec))) if spec else self

    def excludes(self, path: str, *, folder: bool) -> bool:
        """Is `path`, seen from the top, left out? Its own name only: ask for each folder above it first."""
        asked = f"{path}/" if folder else path
        for start, spec in reversed(self.chain):
            decision = spec.check_file(asked[start:]).include
            if decision is not None:
                return decision
        return False


def not_in_force(folder: str) -> str | None:
    """Return why the rules of the folder's ignore file do not count, or None: they do, or there is no such file."""
    try:
        read_plain(Path(folder, IGNORE_FILE), _LONGEST_IGNORE_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.EFBIG:
            return None
        return f"{error.strerror or error}, so its rules do not count"
    return None


def _read(file: str) -> GitIgnoreSpec | None:
    try:
        opened = open_plain(Path(file))
    except OSError:
        return None
    with opened:
        lines = opened.read(_LONGEST_IGNORE_FILE).decode("utf-8-sig", "replace").splitlines()
    return _compile([line for line in lines if line.strip()])


def _compile(lines: list[str]) -> GitIgnoreSpec | None:
    """The patterns; a line that is none is left out, as git does."""
    from pathspec import GitIgnoreSpec

    good: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good) if good else None
