"""Normalise, cite and check paths by their text alone, without access to the disk."""
# ruff: noqa: PTH118, PTH206 - plain strings throughout, and pathlib keeps `..`

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from memoriter.layout import FOLDER, LONG_TERM

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 4096
"""Limit of a path in characters; no supported file system accepts more."""
_NEVER_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in "123456789¹²³")}


def normalise_path(path: str) -> str:
    """Return the path with slashes only, without surrounding blanks and without leading dots and slashes."""
    return path.strip().lstrip("./").replace("\\", "/")


def is_memory_path(path: str) -> bool:
    """Return whether the path names the long-term file or an entry under `memory/`, by its text alone."""
    name = normalise_path(path)
    return name in LONG_TERM or name.startswith(f"{FOLDER}/")


def extra_files(root: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the configured extra paths as absolute paths in order, without duplicates and blank ones."""
    return tuple(dict.fromkeys(absolute(root, path.strip()) for path in paths if path.strip()))


def absolute(root: str, path: str) -> str:
    """Return `path` relative to `root` as an absolute path, with `.` and `..` resolved by name (links not followed)."""
    normalized = os.path.normpath(os.path.join(root, path))
    return normalized if os.name == "nt" or not normalized.startswith("//") else "/" + normalized.lstrip("/")


def names_below(folder: str, path: str) -> tuple[str, ...] | None:
    """Return the names that lead from `folder` to `path`: `()` if they are equal, None if `path` is not inside."""
    if path == folder:
        return ()
    prefix = folder.rstrip(os.sep) + os.sep
    return tuple(path.removeprefix(prefix).split(os.sep)) if path.startswith(prefix) else None


def cite(root: str, path: str) -> str:
    """Return the cited form of an absolute path: relative to the workspace, with `/`; absolute on another drive."""
    try:
        return os.path.relpath(path, root).replace(os.sep, "/")
    except ValueError:
        return path.replace(os.sep, "/")


_CITATION = re.compile(
    r"(?P<path>.+\.(?:md|jsonl))(?:#L(?P<first>\d{1,9})(?:-L?(?P<last>\d{1,9}))?|:(?P<from>\d{1,9})(?:-(?P<to>\d{1,9}))?)",
    re.DOTALL,
)


def split_citation(path: str) -> tuple[str, int | None, int | None]:
    """Return the path of a citation, its first line and its number of lines; None where it names none.

    No memory file has a name that ends like this, so a plain path is never mistaken for a citation.

    >>> split_citation("a.md#L4-L6"), split_citation("a.md:4"), split_citation("a.md")
    (('a.md', 4, 3), ('a.md', 4, 1), ('a.md', None, None))
    """
    match = _CITATION.fullmatch(path.strip())
    if match is None:
        return path, None, None
    first = int(match["first"] or match["from"])
    last = int(match["last"] or match["to"] or first)
    if first < 1 or last < first:
        return path, None, None
    return match["path"], first, last - first + 1


def path_fault(path: str, *, windows: bool) -> str | None:
    """Return why no file can have this path, or None."""
    if not path:
        return "path required"
    if len(path) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if fault := name_fault(path):
        return fault
    if windows and any(_is_windows_trap(name) for name in path.replace("\\", "/").split("/")):
        return "Windows gives this name to something that is not a file"
    return None


def name_fault(name: str) -> str | None:
    r"""Return why a file of this name cannot be cited, or None.

    On Linux a name may be any bytes. A name with a line break could add a line of its own to a list of files.

    >>> name_fault("notes.md"), name_fault("a\nb.md")
    (None, 'its name holds a line break or another control character')
    """
    match = _NEVER_SHOWN.search(name)
    if match is None:
        return None
    if "\ud800" <= match[0] <= "\udfff":
        return "its name is not UTF-8"
    return "its name holds a line break or another control character"


def shown_name(name: str) -> str:
    """Return the name on one line, with U+FFFD for characters that cannot be shown."""
    return _NEVER_SHOWN.sub("\ufffd", name)


def _is_windows_trap(name: str) -> bool:
    """Return whether the name is a device, a stream (`a.md:b`), or ends in dots or spaces that Windows drops."""
    drive = len(name) == 2 and name[1] == ":"
    stem = name.partition(".")[0].rstrip().lower()
    dropped = name not in {"", ".", ".."} and name[-1:] in {".", " "}
    return stem in _DEVICES or dropped or (":" in name and not drive)
