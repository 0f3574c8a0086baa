"""The tree of all files that are memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_DEPTH = 32
"""Folders within folders that are shown; the names of those further down are part of the names of files."""
MOST_OPEN = 1_000
"""With more files than this, only the folders that lead to the open one show what they contain."""


@dataclass(slots=True)
class Folder:
    """A folder with its folders and files."""

    path: str
    """With a slash at the end; empty: the root."""
    name: str
    open: bool
    """Whether its content is listed."""
    current: bool = False
    """Whether the open note is below it."""
    files: int = 0
    """The files in it and in folders below it."""
    folders: dict[str, Folder] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Paths and names of the files in it."""


def tree_of(files: Iterable[Mapping[str, Any]], current: str) -> Folder:
    """Return the tree of files in the JSON form of the API.

    Args:
        files: the files, sorted by path.
        current: the path of the open note or folder; empty: there is none.
    """
    paths = [str(each["path"]) for each in files]
    all_open = len(paths) <= MOST_OPEN
    root = Folder("", "", open=True)
    for path in paths:
        names = path.split("/")
        folders = names[:-1][:MOST_DEPTH]
        name = "/".join(names[len(folders) :])
        here = root
        here.files += 1
        for each in folders:
            below = f"{here.path}{each}/"
            is_current = current.startswith(below)
            if each not in here.folders:
                here.folders[each] = Folder(below, each, all_open or is_current, is_current)
            here = here.folders[each]
            here.files += 1
        if here.open:
            here.notes.append((path, name))
    return root
