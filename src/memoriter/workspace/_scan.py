"""Scan the disk for memory files, and apply the layout of a folder: the notes outside memory, and the day's note.

A scan takes one listing per folder and one stat per file.

A folder of notes has the long-term memories of one principal, whom the comment of an item names, as in
`principal=team%2Falpha`. If the folder is also that of another one, their notes of single statements are no memory
there: no search, read or tool reaches them.
"""

# ruff: noqa: PTH116, PTH118 - plain strings throughout, as a scan makes ten thousand of them
from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import replace
from math import inf
from operator import attrgetter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING
from urllib.parse import unquote

from memoriter.errors import PathRefused
from memoriter.layout import MOST_ENTRIES, OPENCLAW_FILES, OTHER_SUFFIXES, SUFFIX, is_note
from memoriter.types import Diagnostic, Skipped, Source
from memoriter.values import dataclass, field
from memoriter.workspace._ignore import (
    COPY_NAME,
    IGNORE_FILE,
    LOGSEQ,
    RULES_NAMES,
    Rules,
    RulesFault,
    built_in_exclusion,
    original_beside,
    sync_copy_of,
)
from memoriter.workspace._paths import changed_ns, list_areas, name_fault, read_bytes, real_path, shown_name, stamp_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.codes import SkipReason
    from memoriter.workspace._paths import Area, ReadablePath


_NOTE_LIKE = (SUFFIX, *(suffix for suffix in OTHER_SUFFIXES if suffix != ".txt"), ".mdown")
"""Suffixes, in any case, of files that are reported where they are not memory."""
_SYMLINK = "symbolic links are not followed"


@dataclass(frozen=True, slots=True)
class Scan:
    """The memory files and the skipped files of a scan, each sorted by path."""

    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...]
    folders: Mapping[str, int] = field(default_factory=dict[str, int])
    """Inode by path of every folder that was listed or leads to one; a watcher must watch them."""


@dataclass(frozen=True, slots=True)
class _ScannedFolder:
    path: str
    names: tuple[str, ...]
    """Names from the area's path to this folder."""
    prefix: str
    """Path from the area's first folder to this one, for the ignore rules; empty, or ends in `/`."""
    rules: Rules


@dataclass(slots=True)
class Walk:
    """A walk through the areas that collects each file once."""

    max_bytes: int
    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    skipped: dict[str, Skipped] = field(default_factory=dict[str, Skipped])
    folders: dict[str, int] = field(default_factory=dict[str, int])
    previous: Mapping[str, Source] = field(default_factory=dict[str, Source])
    """Sources of the previous scan by path on disk; an unchanged file keeps its `Source`."""
    current: dict[str, Source] = field(default_factory=dict[str, Source])
    """Sources of this scan by path on disk."""
    entries_left: float = inf
    """Directory entries after which the walk ends."""
    _inodes: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    _tops: dict[str, Rules] = field(default_factory=dict[str, Rules])
    """The rules in the first folders of the areas, most of which have the same one."""

    def add_area(self, area: Area) -> None:
        """Walk from the area's first folder to its path, then through all folders below it."""
        place = self._open_area(area)
        if place is None:
            return
        path, prefix, rules, status = place
        if area.refused:
            self._skip(area.cited, "too_large", area.refused)
        elif stat.S_ISDIR(status.st_mode) and not area.is_long_term:
            self._walk_tree(area, _ScannedFolder(path, (), prefix, rules), real_path(path))
        elif not stat.S_ISREG(status.st_mode):
            self._skip(area.cited, "special", "it is not a plain file")
        elif not (path.endswith(area.suffixes) or is_note(path, area.suffixes) or is_note(area.cited, area.suffixes)):
            self._skip(area.cited, "not_markdown", area.suffix_rule)
        elif not area.is_long_term or (status.st_dev, status.st_ino) not in self._inodes:
            # On a disk that ignores case, MEMORY.md and memory.md are one file.
            self._inodes.add((status.st_dev, status.st_ino))
            self._add_file(area.cited, path, real_path(path), status)

    def _open_area(self, area: Area) -> tuple[str, str, Rules, os.stat_result] | None:
        path = area.base
        prefix = ""
        rules = self._tops.get(area.base)
        if rules is None:
            rules = self._tops[area.base] = Rules().enter(area.base, "")
        cited_prefix = (
            area.cited.removesuffix("/".join(area.names)) if area.names else f"{area.cited}/".removeprefix("./")
        )
        try:
            status = os.stat(path)
            self.folders[path] = status.st_ino
            if rules.fault:
                return self._skip_ignore_file(cited_prefix, rules.fault)
            for depth, name in enumerate(area.names, 1):
                path = os.path.join(path, name)
                status = os.lstat(path)
                last = depth == len(area.names)
                if stat.S_ISLNK(status.st_mode):
                    return self._skip(area.cited, "symlink", _SYMLINK)
                folder = not last or stat.S_ISDIR(status.st_mode)
                if (rules.chain or rules.fault) and (why := rules.excludes(prefix + name, folder=folder)):
                    return self._skip(area.cited, "ignored", why)
                if stat.S_ISDIR(status.st_mode):
                    self.folders[path] = status.st_ino
                    prefix = f"{prefix}{name}/"
                    rules = rules.enter(path, prefix)
                    if rules.fault:
                        return self._skip_ignore_file(cited_prefix + prefix, rules.fault)
        except (FileNotFoundError, NotADirectoryError):
            return self._skip(area.cited, "missing", "nothing is there") if area.configured else None
        except (OSError, ValueError) as error:
            return self._skip(area.cited, "unreadable", getattr(error, "strerror", None) or str(error))
        return path, prefix, rules, status

    def _skip_ignore_file(self, folder: str, fault: RulesFault) -> None:
        """Report the ignore file of a folder, whose rules cannot be used."""
        self._skip(f"{folder}{fault.file}", fault.reason, fault.message)

    def _walk_tree(self, area: Area, top: _ScannedFolder, real: str) -> None:
        pending = [top]
        while pending:
            folder = pending.pop()
            cited = "/".join((area.cited, *folder.names)) + "/" if area.cited != "." else "/".join((*folder.names, ""))
            try:
                with os.scandir(folder.path) as listing:
                    entries = list(listing)
            except OSError as error:
                self._skip(cited.rstrip("/") or ".", "unreadable", error.strerror or str(error))
                continue
            self.entries_left -= len(entries)
            if self.entries_left < 0:
                return
            rules = folder.rules
            is_logseq = bool(folder.names) and folder.names[-1].lower() == LOGSEQ  # its name alone gives it rules
            if folder.names and (is_logseq or any(entry.name in RULES_NAMES for entry in entries)):
                rules = rules.enter(folder.path, folder.prefix)
                if rules.fault:
                    self._skip_ignore_file(cited, rules.fault)
                    continue
            for entry in entries:
                if self._skip_entry(area, entry, cited, folder.prefix, rules):
                    continue
                names = (*folder.names, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    self.folders[entry.path] = entry.inode()
                    pending.append(_ScannedFolder(entry.path, names, f"{folder.prefix}{entry.name}/", rules))
                elif area.accepts(names):
                    self._add_entry(cited + entry.name, entry, real + entry.path[len(top.path) :])

    def _skip_entry(self, area: Area, entry: os.DirEntry[str], cited: str, prefix: str, rules: Rules) -> bool:
        """Return whether the name or kind of the entry excludes it, and report why."""
        name = entry.name
        folder = entry.is_dir(follow_symlinks=False)
        if why := built_in_exclusion(name, folder=folder):
            if name != IGNORE_FILE:
                self._skip(cited + name, "ignored", why)
        elif fault := name_fault(name):
            self._skip(cited + name, "unreadable", fault)
        elif rules.chain and (why := rules.excludes(prefix + name, folder=folder)):
            self._skip(cited + name, "ignored", why)
        elif not folder and COPY_NAME.fullmatch(name) and (original := original_beside(entry.path)):
            self._skip(cited + name, "ignored", sync_copy_of(original))
        elif entry.is_symlink():
            self._skip(cited + name, "symlink", _SYMLINK)
        elif folder or name.endswith(area.suffixes) or is_note(name, area.suffixes):
            return False
        elif (area.listed and not area.configured) or name.lower().endswith(_NOTE_LIKE):
            self._skip(cited + name, "not_markdown", area.suffix_rule)
        return True

    def _add_entry(self, cited: str, entry: os.DirEntry[str], real: str) -> None:
        if not entry.is_file(follow_symlinks=False):
            self._skip(cited, "special", "it is a device, pipe or socket")
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self._skip(cited, "unreadable", error.strerror or str(error))
            return
        self._add_file(cited, entry.path, real, status)

    def _add_file(self, cited: str, path: str, real: str, status: os.stat_result) -> None:
        if status.st_size > self.max_bytes:
            self._skip(cited, "too_large", f"{status.st_size} bytes, more than {self.max_bytes}")
        elif real not in self.sources:
            identity = cited, status.st_size, changed_ns(status), stamp_of(status)
            source = self.previous.get(path)
            if source is None or (source.path, source.size, source.mtime_ns, source.stamp) != identity:
                source = Source(cited, "memory", Path(path), *identity[1:])
            self.sources[real] = self.current[path] = source

    def _skip(self, cited: str, reason: SkipReason, message: str) -> None:
        name = shown_name(cited)
        self.skipped.setdefault(name, Skipped(name, reason, message))


def scan_areas(
    areas: Sequence[Area],
    max_bytes: int,
    previous: Mapping[str, Source] | None = None,
    *,
    most_entries: float = inf,
) -> tuple[Scan, Mapping[str, Source]]:
    """Return all files of the areas; a file that two areas contain keeps the path in the first.

    Files of more than `max_bytes` are skipped. What comes after `most_entries` directory entries is missing. The second
    value makes the next scan of these areas faster, which gets it as `previous`.
    """
    walk = Walk(max_bytes, previous=previous or {}, entries_left=most_entries)
    for area in areas:
        walk.add_area(area)
    sources = sorted(walk.sources.values(), key=attrgetter("path"))
    source_paths = {source.path for source in sources}
    skipped = [skip for skip in walk.skipped.values() if skip.path not in source_paths]
    scan = Scan(tuple(sources), tuple(sorted(skipped, key=attrgetter("path"))), walk.folders)
    return scan, walk.current


def notes_outside(root: str, areas: Sequence[Area], max_bytes: int, suffixes: tuple[str, ...]) -> Diagnostic | None:
    """Return a diagnostic if files with the suffix of a note, below a folder, are in none of its areas.

    At most `layout.MOST_ENTRIES` directory entries are looked at. Files that an ignore rule excludes and OpenClaw's
    own files, such as `AGENTS.md`, do not count.
    """
    memory, _ = scan_areas(areas, max_bytes)
    everywhere, _ = scan_areas(list_areas(root, (), "notes", suffixes), max_bytes, most_entries=MOST_ENTRIES)
    outside = {source.file: source.path for source in everywhere.sources}
    for source in memory.sources:
        outside.pop(source.file, None)
    count = sum(path not in OPENCLAW_FILES for path in outside.values())
    if not count:
        return None
    kind = "Markdown file" if len(suffixes) == 1 else "file"
    files = f"1 {kind} is" if count == 1 else f"{count:,} {kind}s are"
    return Diagnostic(
        "notes_outside",
        f"{files} not memory: in {root!r}, only MEMORY.md and memory/ are.",
        f"To search all {kind}s of this folder, run `memoriter init -w {quote(root)} --layout=notes`.",
    )


STATEMENTS = ("memory/long-term.md", "memory/inbox.md")
"""Ends of the paths of notes with single statements. The text of a statement cannot hold the mark: it is escaped."""
_OWNER = re.compile(rb"<!-- (?:memory|candidate): [^<>]*? principal=([^ <>]+)[^<>]*? -->")


def check_principal(content: bytes, path: str, principal: str) -> None:
    """Raise PathRefused if a note whose path ends like one of `STATEMENTS` holds memories of another principal."""
    foreign = _foreign(content, principal)
    if foreign is None:
        return
    here = f"this is {principal!r}" if principal else "no principal is configured here"
    message = f"The note {path!r} holds long-term memories of the principal {foreign!r}, and {here}."
    setting = "plugins.entries.memory-lancedb.config.principal"
    remedy = f"Name another folder of notes with -w DIR. If these memories are yours, set {setting} to {foreign!r}."
    raise PathRefused(message, remedy=remedy)


def without_foreign(scan: Scan, place_of: Callable[[str], ReadablePath], limit: int, principal: str) -> Scan:
    """Return a scan in which the notes with long-term memories of another principal are skipped."""
    skipped = list[Skipped]()
    for path in [source.path for source in scan.sources if source.path.endswith(STATEMENTS)]:
        with suppress(PathRefused, OSError):  # indexing reports what cannot be read
            if _foreign(read_bytes(place_of(path), limit)[0], principal) is not None:
                skipped.append(Skipped(path, "other_principal", "it holds long-term memories of another principal"))
    if not skipped:
        return scan
    names = {each.path for each in skipped}
    sources = tuple(source for source in scan.sources if source.path not in names)
    return replace(scan, sources=sources, skipped=tuple(sorted((*scan.skipped, *skipped), key=lambda each: each.path)))


def _foreign(content: bytes, principal: str) -> str | None:
    """Return another principal whose memories a note with single statements holds, or None."""
    owners = (unquote(owner.decode("ascii", "replace")) for owner in _OWNER.findall(content))
    return next((owner for owner in owners if owner != principal), None)
