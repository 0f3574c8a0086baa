"""The tree of the files that are memory, of which a page has the open branches only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_DEPTH = 32
"""Folders within folders that are shown; the names of those further down are part of the names of files."""
MOST_IN_BRANCH = 500
"""Files of one folder that are listed at once."""


@dataclass(slots=True)
class Folder:
    """A folder with its folders and files."""

    path: str
    """With a slash at the end; empty: the root."""
    name: str
    files: int = 0
    """The files in it and in folders below it."""
    folders: dict[str, Folder] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Paths and names of the files in it."""

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The files that are listed, with names without `.md`."""
        return [(path, name.removesuffix(".md")) for path, name in self.notes[:MOST_IN_BRANCH]]

    @property
    def left_out(self) -> int:
        """The files that are not listed."""
        return max(0, len(self.notes) - MOST_IN_BRANCH)


def tree_of(paths: Iterable[str]) -> Folder:
    """Return the tree of files by their paths."""
    root = Folder("", "")
    for path in paths:
        *folders, name = path.split("/")
        here = root
        here.files += 1
        for each in folders[:MOST_DEPTH]:
            if each not in here.folders:
                here.folders[each] = Folder(f"{here.path}{each}/", each)
            here = here.folders[each]
            here.files += 1
        here.notes.append((path, "/".join([*folders[MOST_DEPTH:], name])))
    return root


def folder_at(root: Folder, path: str) -> Folder | None:
    """Return the folder at a path with a slash at its end; None: there is none."""
    here: Folder | None = root
    for name in path.split("/")[:-1]:
        here = here.folders.get(name) if here else None
    return here


def matching(paths: Iterable[str], words: str, most: int) -> Iterator[str]:
    """Yield the first paths that contain all words, in any case: those with all words in the file name come first.

    >>> [*matching(["a/plan.md", "plan/b.md", "c.md"], "PLAN", 9)]
    ['a/plan.md', 'plan/b.md']
    """
    wanted = words.casefold().split()
    found = [path for path in paths if all(word in path.casefold() for word in wanted)]
    by_name = [path for path in found if all(word in path.rpartition("/")[2].casefold() for word in wanted)]
    yield from list(dict.fromkeys([*by_name, *found]))[:most]
