"""What the pages know of the notes between two requests: the tree, names, tags and links, without reading all again."""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError
from memoriter.pages._note_links import NoteNames, links_in, plain_name
from memoriter.values import dataclass, field
from memoriter.workspace import read_front_matter, tags_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from memoriter.memory import Memory
    from memoriter.types import Source

FRESH_SECONDS = 10.0
"""A listing of this age is made again in the background. A file that comes or goes is seen at once."""
LONGEST_READ = 400_000
"""Characters of a note that are looked through for tags and links at most."""
MOST_RECENT = 6
"""Notes that were changed last, which are listed first."""
MOST_LINKS = 200
"""Notes that link to one note and are shown at most."""
MOST_KEPT = 64
"""Texts of opened notes that are kept for merging at most."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files that are memory, as they were at one time."""

    sources: tuple[Source, ...]
    names: NoteNames
    tree: Folder
    recent: tuple[Source, ...]
    """The notes that were changed last, the latest first."""
    folders: Mapping[str, int]
    """The time of the last change of each folder with a file, which differs once a file has come or gone."""
    at: float


@dataclass(frozen=True, slots=True)
class Facts:
    """What one note says besides its text."""

    stamp: tuple[int, int]
    tags: tuple[str, ...]
    links: tuple[tuple[str, int, str], ...]
    """The note that each link names, its line, and the text of the line."""


@dataclass(frozen=True, slots=True)
class Backlink:
    """A line that links to a note."""

    path: str
    line: int
    text: str


class Library:
    """What is known of the notes of each workspace of a server. Several threads may ask."""

    def __init__(self) -> None:
        self._listings: dict[Path, Listing] = {}
        self._facts: dict[Path, dict[str, Facts]] = {}
        self._opened: dict[tuple[Path, str, str], str] = {}
        self._lock = threading.Lock()
        self._listing_lock = threading.Lock()
        self._facts_lock = threading.Lock()
        self._renewing = threading.Lock()

    def fill_in_background(self, memory: Memory) -> None:
        """Read all notes in a thread of its own, so that the first page does not wait for it."""

        def fill() -> None:
            with suppress(MemoriterError, OSError):  # a page that needs it says what is wrong
                self._all_facts(memory)

        threading.Thread(target=fill, name="memoriter-library", daemon=True).start()

    def listing(self, memory: Memory) -> Listing:
        """Return the files that are memory; one that has come or gone is noticed by the time of its folder."""
        root = memory.place.workspace
        known = self._listings.get(root)
        if known is None:
            with self._listing_lock:  # who comes while the first listing is made waits for it
                return self._listings.get(root) or self._renew(memory)
        if any(_changed_at(folder) != at for folder, at in known.folders.items()):
            return self._renew(memory)
        if time.monotonic() - known.at > FRESH_SECONDS and self._renewing.acquire(blocking=False):
            threading.Thread(target=self._renew_later, args=(memory,), name="memoriter-listing", daemon=True).start()
        return known

    def _renew_later(self, memory: Memory) -> None:
        try:
            self._renew(memory)
        finally:
            self._renewing.release()

    def _renew(self, memory: Memory) -> Listing:
        root = memory.place.workspace
        at = time.monotonic()
        before = time.time_ns()
        sources = memory.sources()
        folders = {os.fspath(folder): _changed_at(os.fspath(folder)) for folder in _folders_of(sources, root)}
        # A folder that has just changed may change again within the same tick of the clock of the file system.
        settled = {folder: stamp if before - stamp > 20_000_000 else -1 for folder, stamp in folders.items()}
        paths = [source.path for source in sources]
        notes = [source for source in sources if source.kind == "memory"]
        recent = tuple(heapq.nlargest(MOST_RECENT, notes, key=lambda source: source.mtime_ns))
        listing = Listing(sources, NoteNames(paths), tree_of(paths), recent, settled, at)
        self._listings[root] = listing
        return listing

    def tags(self, memory: Memory) -> Counter[str]:
        """Return the number of notes with each tag."""
        return Counter(tag for facts in self._all_facts(memory).values() for tag in facts.tags)

    def links_to(self, memory: Memory, path: str) -> list[Backlink]:
        """Return the lines that link to a note, by the paths of their notes."""
        names = self.listing(memory).names
        stem = _stem(path)
        found = [
            Backlink(other, line, text)
            for other, facts in self._all_facts(memory).items()
            if other != path
            for target, line, text in facts.links
            if _stem(target) == stem and names.find(target, other) == path
        ]
        return found[:MOST_LINKS]

    def notes_with_links(self, memory: Memory, stems: Collection[str]) -> list[str]:
        """Return the notes with links whose last part is one of these plain names."""
        facts = self._all_facts(memory).items()
        return [path for path, each in facts if any(_stem(target) in stems for target, _, _ in each.links)]

    def _all_facts(self, memory: Memory) -> dict[str, Facts]:
        """Return the facts of all notes; only notes that changed are read again."""
        sources = [source for source in self.listing(memory).sources if source.kind == "memory"]
        with self._facts_lock:
            known = self._facts.get(memory.place.workspace, {})
            current = {source.path: _facts_of(source, known.get(source.path)) for source in sources}
            self._facts[memory.place.workspace] = current
        return current

    def keep_opened(self, root: Path, path: str, digest: str, text: str) -> None:
        """Keep the text of a note that somebody edits, so that a change that somebody else saves can be merged."""
        with self._lock:
            self._opened.pop((root, path, digest), None)
            self._opened[root, path, digest] = text
            while len(self._opened) > MOST_KEPT:
                del self._opened[next(iter(self._opened))]

    def opened_text(self, root: Path, path: str, digest: str) -> str | None:
        """Return the text that a note had when it was opened; None: it is not known any more."""
        return self._opened.get((root, path, digest))

    def drop_texts(self, path: str) -> None:
        """Keep no text of a note any longer, because some of it was forgotten."""
        with self._lock:
            self._opened = {key: text for key, text in self._opened.items() if key[1] != path}
        with self._facts_lock:
            for facts in self._facts.values():
                facts.pop(path, None)


def _facts_of(source: Source, known: Facts | None) -> Facts:
    stamp = (0, 0)
    text = ""
    with suppress(OSError):
        status = os.stat(source.file)  # noqa: PTH116 (of many notes for a page: a method of the path would cost more)
        stamp = (status.st_mtime_ns, status.st_size)
        if known is not None and known.stamp == stamp:
            return known
        with source.file.open("rb") as opened:
            text = opened.read(LONGEST_READ).decode("utf-8", "replace")
    front = read_front_matter(text)
    lines = text.split("\n")
    found = [
        *(front.tags if front else ()),
        *tags_in(line for at, line in enumerate(lines) if front is None or at not in front.lines),
    ]
    links = tuple((link.name, link.line, lines[link.line - 1].strip()[:200]) for link in links_in(text))
    return Facts(stamp, tuple(dict.fromkeys(tag.lower() for tag in found)), links)


def _stem(path: str) -> str:
    """Return the last part of a path or of the name in a link, as links are compared."""
    return plain_name(path).rpartition("/")[2]


def _folders_of(sources: Sequence[Source], root: Path) -> set[Path]:
    """Return the folders with a file, and those between them and the root."""
    folders = {root, *(source.file.parent for source in sources)}
    for folder in [*folders]:
        for above in folder.parents:
            if above in folders or not above.is_relative_to(root):
                break
            folders.add(above)
    return folders


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 (a path object for each of many folders would cost more)
    except OSError:
        return 0


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
