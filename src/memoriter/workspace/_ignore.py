"""Exclude files by built-in rules, and by `.memoryignore` files with the syntax of `.gitignore`."""
# ruff: noqa: PTH118, PTH206 - plain strings throughout, as a scan makes ten thousand of them

from __future__ import annotations

import errno
import os
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from memoriter.layout import TOOL_FOLDERS
from memoriter.plain_file import read_plain
from memoriter.values import dataclass
from memoriter.workspace._globs import LONGEST_PATTERN, ignore_pattern

IGNORE_FILE = ".memoryignore"
MOST_PATTERNS = 1_000
"""Limit of patterns that apply to one path; each path is compared with all of them."""
_LONGEST_IGNORE_FILE = 1 << 20
_EXCLUDED = "Everything below its folder is left out"
_LEFTOVER = re.compile(
    r"\..*|~\$.*|#.*#|.*~|.*\.(?:swp|swo|swx|tmp|temp|bak|orig|part|crdownload)(?:\.md)?"
    r"|.*\.sync-conflict-.*|.* \(.*conflicted copy.*\).*",
    re.DOTALL,
)
"""Hidden files, and files that editors, browsers, Syncthing or Dropbox leave next to a note."""


def in_ignored_folder(path: str) -> bool:
    """Return whether the path leads through a folder of a tool (`.git`, `node_modules`, `venv` …), in any case."""
    return any(_is_tool_folder(name) for name in os.path.normpath(path).split(os.sep))


def _is_tool_folder(name: str) -> bool:
    return name.strip().lower() in TOOL_FOLDERS


def built_in_exclusion(name: str, *, folder: bool) -> str | None:
    """Return why a folder or file of this name is never memory, or None."""
    if folder:
        return "hidden folder" if name.startswith(".") else "folder of a tool" if _is_tool_folder(name) else None
    if name.startswith("."):
        return "hidden file"
    return "left behind by an editor or a sync tool" if _LEFTOVER.fullmatch(name) else None


@dataclass(frozen=True, slots=True)
class Patterns:
    """The rules of one ignore file."""

    rules: tuple[tuple[re.Pattern[str], bool, bool], ...]
    """Each pattern, whether it excludes (or includes again), and whether it applies to folders only."""
    any_pattern: re.Pattern[str]
    """All patterns joined into one for a fast check, since most paths match none."""

    def decision(self, path: str, *, folder: bool) -> bool | None:
        """Return whether the last pattern that matches excludes the path, or None if no pattern matches."""
        if self.any_pattern.fullmatch(path) is None:
            return None
        for pattern, excluded, folders_only in reversed(self.rules):
            if (folder or not folders_only) and pattern.fullmatch(path):
                return excluded
        return None


@dataclass(frozen=True, slots=True)
class Rules:
    """The ignore files from the top folder down to the current one; a deeper file overrides, as in git."""

    chain: tuple[tuple[int, Patterns], ...] = ()
    """For each ignore file, the length of its folder's path from the top in characters, and its patterns."""
    refused_reason: str = ""
    """Reason that the last ignore file cannot be used, or empty.

    Everything below its folder is then excluded, because an ignore file that is too large must not let in the files
    that its owner meant to exclude."""
    unread_reason: str = ""
    """Reason that the ignore file of the folder entered last does not apply, or empty."""

    def enter(self, folder: str, prefix: str) -> Rules:
        """Return the rules inside `folder`.

        Args:
            folder: path on disk.
            prefix: path from the top folder; empty, or ends in `/`.
        """
        if self.refused_reason:
            return self
        lines, unread = _read_patterns(os.path.join(folder, IGNORE_FILE))
        if not lines:
            return replace(self, unread_reason=unread) if unread != self.unread_reason else self
        if sum(len(patterns.rules) for _, patterns in self.chain) + len(lines) > MOST_PATTERNS:
            return replace(self, refused_reason=f"there are more than {MOST_PATTERNS} patterns. {_EXCLUDED}")
        if any(len(line) > LONGEST_PATTERN for line in lines):
            return replace(self, refused_reason=f"a pattern is longer than {LONGEST_PATTERN:,} characters. {_EXCLUDED}")
        patterns = _compile(lines)
        chain = (*self.chain, (len(prefix), patterns)) if patterns else self.chain
        return replace(self, chain=chain, unread_reason="")

    def excludes(self, path: str, *, folder: bool) -> bool:
        """Return whether the rules exclude `path`, which is relative to the top folder.

        Only the path itself is checked: check each folder above it first.
        """
        if self.refused_reason:
            return True
        for start, patterns in reversed(self.chain):
            decision = patterns.decision(path[start:], folder=folder)
            if decision is not None:
                return decision
        return False


def _read_patterns(file: str) -> tuple[tuple[str, ...], str]:
    """Return the lines of an ignore file that may be patterns, and why the file does not apply.

    For a file that is too large, return more lines than are allowed.
    """
    try:
        content = read_plain(Path(file), _LONGEST_IGNORE_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return (), ""
    except OSError as error:
        if error.errno == errno.EFBIG:
            return ("*",) * (MOST_PATTERNS + 1), ""
        return (), f"{error.strerror or error}, so its rules do not count"
    lines = content.decode("utf-8-sig", "replace").splitlines()
    return tuple(line for line in lines if line.strip() and not line.startswith("#")), ""


@lru_cache(maxsize=256)
def _compile(lines: tuple[str, ...]) -> Patterns | None:
    """Compile the patterns; like git, skip a line that is not a valid pattern."""
    rules: list[tuple[re.Pattern[str], bool, bool]] = []
    for line in lines:
        text = line if line.endswith("\\ ") else line.rstrip()
        excluded = not text.startswith("!")
        text = text.removeprefix("!")
        folders_only = text.endswith("/")
        if pattern := ignore_pattern(text.removesuffix("/")):
            rules.append((pattern, excluded, folders_only))
    if not rules:
        return None
    return Patterns(tuple(rules), re.compile("|".join(f"(?:{rule[0].pattern})" for rule in rules), re.DOTALL))
