"""Words about paths, without touching the disk."""
# ruff: noqa: PTH118, PTH206 - plain strings throughout, and pathlib keeps `..`

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LONG_TERM = ("MEMORY.md", "memory.md")
"""The long-term file, in the order of preference."""
FOLDER = "memory"
SUFFIX = ".md"
LONGEST = 4096
"""Characters of a path; no file system that we run on takes more."""
_NEVER_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in "123456789¹²³")}


def normalise_path(path: str) -> str:
    """The path with slashes only, without blanks around it and without the dots and slashes in front."""
    return path.strip().lstrip("./").replace("\\", "/")


def is_memory_path(path: str) -> bool:
    """Does the path name, by its words alone, the long-term file or something under `memory/`?"""
    name = normalise_path(path)
    return name in LONG_TERM or name.startswith(f"{FOLDER}/")


def extra_files(root: str, paths: Sequence[str]) -> tuple[str, ...]:
    """The configured extra paths as absolute ones, each once, in the given order; blank ones are left out."""
    return tuple(dict.fromkeys(absolute(root, path.strip()) for path in paths if path.strip()))


def absolute(root: str, path: str) -> str:
    """`path` seen from `root`, with `.` and `..` worked out by name (no link is followed)."""
    normalized = os.path.normpath(os.path.join(root, path))
    return normalized if os.name == "nt" or not normalized.startswith("//") else "/" + normalized.lstrip("/")


def below(folder: str, path: str) -> tuple[str, ...] | None:
    """The names that lead from `folder` to `path`: none if they are the same, `None` if it is not inside."""
    if path == folder:
        return ()
    prefix = folder.rstrip(os.sep) + os.sep
    return tuple(path.removeprefix(prefix).split(os.sep)) if path.startswith(prefix) else None


def cite(root: str, path: str) -> str:
    """How an absolute path is cited: relative to the workspace, with `/`; another drive keeps its absolute path."""
    try:
        return os.path.relpath(path, root).replace(os.sep, "/")
    except ValueError:
        return path.replace(os.sep, "/")


def path_fault(path: str, *, windows: bool) -> str | None:
    """Why no file can have this path, or `None`."""
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
    r"""Return why a file of this name cannot be cited, or None. On Linux a name may be any bytes.

    A name with a line break would put a line of its own choosing into a list of files.

    >>> name_fault("notes.md"), name_fault("a\\nb.md")
    (None, 'its name holds a line break or another control character')
    """
    match = _NEVER_SHOWN.search(name)
    if match is None:
        return None
    if "\ud800" <= match[0] <= "\udfff":
        return "its name is not UTF-8"
    return "its name holds a line break or another control character"


def shown_name(name: str) -> str:
    """Return the name on one line, with U+FFFD for what cannot be shown."""
    return _NEVER_SHOWN.sub("\ufffd", name)


def _is_windows_trap(name: str) -> bool:
    """A device, a stream (`a.md:b`), or a name whose dots and spaces at the end Windows drops."""
    drive = len(name) == 2 and name[1] == ":"
    stem = name.partition(".")[0].rstrip().lower()
    dropped = name not in {"", ".", ".."} and name[-1:] in {".", " "}
    return stem in _DEVICES or dropped or (":" in name and not drive)
