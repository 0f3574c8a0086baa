"""Which files are memory now: one listing of each folder, one stat of each file."""
# ruff: noqa: PTH116, PTH118 - plain strings throughout, as a scan makes ten thousand of them

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.types import Skipped, Source
from memoriter.workspace._areas import real_path
from memoriter.workspace._confined import changed_ns, stamp_of
from memoriter.workspace._ignore import IGNORE_FILE, Rules, built_in
from memoriter.workspace._paths import SUFFIX, name_fault, shown_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.workspace._areas import Area

_MARKDOWN_LIKE = (".md", ".markdown", ".mdown", ".mdx")
_SYMLINK = "symbolic links are not followed"
_FORBIDDEN = "a .memoryignore file leaves it out"


@dataclass(frozen=True, slots=True)
class Scan:
    """The files that are memory and what looked like it, each sorted by path."""

    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...]
    folders: Mapping[str, int] = field(default_factory=dict[str, int])
    """Every folder that was listed or led there, on disk, with its inode: those that a watcher must hear of."""


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    names: tuple[str, ...]
    """From the area's place to here."""
    prefix: str
    """From the area's first folder to here, for the ignore rules; empty or with a `/` at its end."""
    rules: Rules


@dataclass(slots=True)
class Walk:
    """Collects what the areas hold, each file once."""

    max_bytes: int
    sources: dict[str, Source] = field(default_factory=dict[str, Source])
    skipped: dict[str, Skipped] = field(default_factory=dict[str, Skipped])
    folders: dict[str, int] = field(default_factory=dict[str, int])
    before: Mapping[str, Source] = field(default_factory=dict[str, Source])
    """What the last scan found, by the path on disk: a file that is as it was needs no new value."""
    seen: dict[str, Source] = field(default_factory=dict[str, Source])
    """The same of this scan."""
    _inodes: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def result(self) -> Scan:
        sources = sorted(self.sources.values(), key=lambda source: source.path)
        known = {source.path for source in sources}
        skipped = [skip for skip in self.skipped.values() if skip.path not in known]
        return Scan(tuple(sources), tuple(sorted(skipped, key=lambda skip: skip.path)), self.folders)

    def area(self, area: Area) -> None:
        """Go from the area's first folder to its place, then through all below it."""
        place = self._reach(area)
        if place is None:
            return
        path, prefix, rules, found = place
        if area.refused:
            self._skip(area.cited, "too_large", area.refused)
        elif stat.S_ISDIR(found.st_mode) and not area.single:
            self._tree(area, _Folder(path, (), prefix, rules), real_path(path))
        elif not stat.S_ISREG(found.st_mode):
            self._skip(area.cited, "special", "it is not a plain file")
        elif not path.endswith(SUFFIX) and not area.cited.endswith(SUFFIX):
            self._skip(area.cited, "not_markdown", "only files that end in .md are memory")
        elif not area.single or (found.st_dev, found.st_ino) not in self._inodes:
            # On a disk that ignores case, MEMORY.md and memory.md are one file.
            self._inodes.add((found.st_dev, found.st_ino))
            self._file(area.cited, path, real_path(path), found)

    def _reach(self, area: Area) -> tuple[str, str, Rules, os.stat_result] | None:
        path, prefix, rules = area.base, "", Rules().entering(area.base, "")
        above = area.cited.removesuffix("/".join(area.start)) if area.start else f"{area.cited}/".removeprefix("./")
        self._ignore_file(rules, above)
        try:
            found = os.stat(path)
            self.folders[path] = found.st_ino
            if rules.refused:
                return self._unusable(area, "", rules)
            for depth, name in enumerate(area.start, 1):
                path = os.path.join(path, name)
                found = os.lstat(path)
                last = depth == len(area.start)
                if stat.S_ISLNK(found.st_mode):
                    return self._skip(area.cited, "symlink", _SYMLINK)
                if rules.excludes(prefix + name, folder=not last or stat.S_ISDIR(found.st_mode)):
                    return self._skip(area.cited, "ignored", _FORBIDDEN)
                if stat.S_ISDIR(found.st_mode):
                    self.folders[path] = found.st_ino
                    prefix = f"{prefix}{name}/"
                    rules = rules.entering(path, prefix)
                    self._ignore_file(rules, above + prefix)
                    if rules.refused:
                        return self._unusable(area, prefix, rules)
        except (FileNotFoundError, NotADirectoryError):
            return self._skip(area.cited, "missing", "nothing is there") if area.configured else None
        except (OSError, ValueError) as error:
            return self._skip(area.cited, "unreadable", getattr(error, "strerror", None) or str(error))
        return path, prefix, rules, found

    def _unusable(self, area: Area, prefix: str, rules: Rules) -> None:
        """Name the ignore file whose patterns cannot be used."""
        folder = prefix if area.start else f"{area.cited}/"
        self._skip(f"{folder}{IGNORE_FILE}", "too_large", rules.refused)

    def _tree(self, area: Area, top: _Folder, real: str) -> None:
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            cited = "/".join((area.cited, *folder.names)) + "/" if area.cited != "." else "/".join((*folder.names, ""))
            try:
                with os.scandir(folder.path) as listing:
                    entries = list(listing)
            except OSError as error:
                self._skip(cited.rstrip("/") or ".", "unreadable", error.strerror or str(error))
                continue
            rules = folder.rules
            if folder.names and any(entry.name == IGNORE_FILE for entry in entries):
                rules = rules.entering(folder.path, folder.prefix)
                self._ignore_file(rules, cited)
                if rules.refused:
                    self._skip(cited + IGNORE_FILE, "too_large", rules.refused)
                    continue
            for entry in entries:
                if self._left_out(area, entry, cited, folder.prefix, rules):
                    continue
                names = (*folder.names, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    self.folders[entry.path] = entry.inode()
                    waiting.append(_Folder(entry.path, names, f"{folder.prefix}{entry.name}/", rules))
                elif area.takes(names):
                    self._entry(cited + entry.name, entry, real + entry.path[len(top.path) :])

    def _ignore_file(self, rules: Rules, cited: str) -> None:
        if rules.unread:
            self._skip(f"{cited}{IGNORE_FILE}", "unreadable", rules.unread)

    def _left_out(self, area: Area, entry: os.DirEntry[str], cited: str, prefix: str, rules: Rules) -> bool:
        """Leave the entry out if a rule says so by its name and kind."""
        name, folder = entry.name, entry.is_dir(follow_symlinks=False)
        if why := built_in(name, folder=folder):
            if name != IGNORE_FILE:
                self._skip(cited + name, "ignored", why)
        elif fault := name_fault(name):
            self._skip(cited + name, "unreadable", fault)
        elif rules.chain and rules.excludes(prefix + name, folder=folder):
            self._skip(cited + name, "ignored", _FORBIDDEN)
        elif entry.is_symlink():
            self._skip(cited + name, "symlink", _SYMLINK)
        elif folder or name.endswith(SUFFIX):
            return False
        elif not area.configured or name.lower().endswith(_MARKDOWN_LIKE):
            self._skip(cited + name, "not_markdown", "only files that end in .md are memory")
        return True

    def _entry(self, cited: str, entry: os.DirEntry[str], real: str) -> None:
        if not entry.is_file(follow_symlinks=False):
            self._skip(cited, "special", "it is a device, pipe or socket")
            return
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self._skip(cited, "unreadable", error.strerror or str(error))
            return
        self._file(cited, entry.path, real, found)

    def _file(self, cited: str, path: str, real: str, found: os.stat_result) -> None:
        if found.st_size > self.max_bytes:
            self._skip(cited, "too_large", f"{found.st_size} bytes, more than {self.max_bytes}")
        elif real not in self.sources:
            now = cited, found.st_size, changed_ns(found), stamp_of(found)
            known = self.before.get(path)
            if known is None or (known.path, known.size, known.mtime_ns, known.stamp) != now:
                known = Source(cited, "memory", Path(path), *now[1:])
            self.sources[real] = self.seen[path] = known

    def _skip(self, cited: str, reason: str, message: str) -> None:
        shown = shown_name(cited)
        self.skipped.setdefault(shown, Skipped(shown, reason, message))


def scan_areas(
    areas: Sequence[Area], max_bytes: int, before: Mapping[str, Source] | None = None
) -> tuple[Scan, Mapping[str, Source]]:
    """All files of the areas; a file that two of them reach keeps the path of the first.

    Args:
        areas: where to look.
        max_bytes: a larger file is skipped.
        before: the second value that the last scan of these areas returned.

    Returns:
        The files, and what makes the next scan faster.
    """
    walk = Walk(max_bytes, before=before or {})
    for area in areas:
        walk.area(area)
    return walk.result(), walk.seen
