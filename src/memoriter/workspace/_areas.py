"""The places that memory may be in, and whether a path is in one of them."""
# ruff: noqa: PTH112, PTH118 - plain strings throughout, as a scan makes ten thousand of them

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoriter.types import Skipped
from memoriter.workspace import _paths as paths
from memoriter.workspace._globs import LONGEST_PATTERN, MOST_ALTERNATIVES, glob_matches, spread_braces
from memoriter.workspace._ignore import Rules, built_in

if TYPE_CHECKING:
    from collections.abc import Sequence

TOO_MANY = (
    f"the pattern of its extra path has more than {LONGEST_PATTERN:,} characters or {MOST_ALTERNATIVES} alternatives"
)


@dataclass(frozen=True, slots=True)
class ExtraPath:
    """A file or folder beside the workspace's own notes that is memory too."""

    path: str
    """Absolute, or relative to the workspace."""
    pattern: str | None = None
    """A glob below the folder (`**/*.md`, `work/*.{md,txt}`); without it every Markdown file is taken."""


@dataclass(frozen=True, slots=True)
class Area:
    """A file, or a folder with all below it, that is memory."""

    at: str
    """The absolute path it is known by."""
    base: str
    """The folder that is opened first. It may be reached through links: the owner chose it."""
    start: tuple[str, ...]
    """The names from `base` to the place; no link is followed from here on."""
    cited: str
    """How `at` is cited."""
    configured: bool = False
    """An extra path, not the workspace's own."""
    globs: tuple[tuple[str, ...], ...] = ()
    refused: str = ""
    """Why its pattern cannot be used; then it takes no file."""

    @property
    def is_long_term(self) -> bool:
        """Is it the long-term file, so that a folder of this name is not memory?"""
        return not self.configured and self.cited in paths.LONG_TERM

    def accepts(self, names: Sequence[str]) -> bool:
        """Does a pattern, if there is one, take the file with these names below the place?"""
        if self.refused:
            return False
        return not (self.globs and names) or any(glob_matches(names, glob) for glob in self.globs)


@dataclass(frozen=True, slots=True)
class ReadablePath:
    """A path that may be read: where to open it and how to cite it."""

    base: str
    names: tuple[str, ...]
    cited: str


def areas_of(root: str, extra_paths: Sequence[ExtraPath]) -> tuple[Area, ...]:
    """Every area, as the disk is now: an extra path outside the workspace may be a link, one inside may not."""
    own = [Area(os.path.join(root, name), root, (name,), name) for name in (*paths.LONG_TERM, paths.FOLDER)]
    return (*own, *(_extra_area(root, extra) for extra in extra_paths if extra.path.strip()))


def _extra_area(root: str, extra: ExtraPath) -> Area:
    at = rebase(root, paths.absolute(root, extra.path.strip()))
    base, start = root, paths.below(root, at)
    if start is None and os.path.isdir(at):
        base, start = at, ()
    elif start is None:
        base, name = os.path.split(real_path(at))
        start = (name,)
    alternatives = spread_braces(extra.pattern or "")
    globs = tuple(tuple(glob.strip("/").split("/")) for glob in alternatives or () if glob)
    refused = TOO_MANY if alternatives is None else ""
    return Area(at, base, start, paths.cite(root, at), configured=True, globs=globs, refused=refused)


def real_path(path: str) -> str:
    """Return the path without links, or the path itself where none can be followed to its end."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path  # no file can have this name, or a link changed meanwhile; opening the file tells


def rebase(root: str, path: str) -> str:
    """A path below the folder that `root` is a link to, as a path below `root`."""
    real = real_path(root)
    names = paths.below(real, path) if real != root else None
    return path if names is None else os.path.join(root, *names)


def admit(areas: Sequence[Area], root: str, path: str) -> ReadablePath | Skipped:
    """Where the cited or absolute `path` may be read, or why it may not. Looks at names and ignore files only."""
    clean = path.strip()
    if fault := paths.path_fault(clean, windows=os.name == "nt"):
        return Skipped(path, "outside", fault)
    target = rebase(root, paths.absolute(root, clean))
    refusal: Skipped | None = None
    for area in areas:
        names = paths.below(area.at, target)
        if names is None or (names and area.is_long_term):
            continue
        verdict = _admit_to_area(area, names)
        if isinstance(verdict, ReadablePath):
            return verdict
        refusal = refusal or verdict
    return refusal or Skipped(path, "outside", "it is not one of the memory files")


def _admit_to_area(area: Area, names: tuple[str, ...]) -> ReadablePath | Skipped:
    cited = "/".join((area.cited, *names)) if area.cited != "." else "/".join(names)
    if not cited.endswith(paths.SUFFIX):
        return Skipped(cited, "not_markdown", "only files that end in .md are memory")
    if not area.accepts(names):
        return Skipped(cited, "outside", area.refused or "the pattern of its extra path does not take it")
    for depth, name in enumerate(names, 1):
        if why := built_in(name, folder=depth < len(names)):
            return Skipped(cited, "ignored", why)
    if is_ignored(area, names):
        return Skipped(cited, "ignored", "a .memoryignore file leaves it out")
    return ReadablePath(area.base, (*area.start, *names), cited)


def may_hold(areas: Sequence[Area], root: str, path: str) -> bool:
    """Whether a folder at the absolute `path` leads to memory, or may hold some, by its name and the ignore rules."""
    target = rebase(root, paths.absolute(root, path))
    for area in areas:
        if paths.below(target, area.at) is not None:
            return True
        names = paths.below(area.at, target)
        if names and not area.is_long_term and not any(built_in(name, folder=True) for name in names):
            return not is_ignored(area, names)
    return False


def is_ignored(area: Area, names: tuple[str, ...]) -> bool:
    """Does an ignore file between the area's first folder and the file leave it out?"""
    rules, folder, prefix = Rules().enter(area.base, ""), area.base, ""
    path_names = (*area.start, *names)
    for depth, name in enumerate(path_names, 1):
        is_folder = depth < len(path_names)
        if rules.excludes(prefix + name, folder=is_folder):
            return True
        folder, prefix = os.path.join(folder, name), f"{prefix}{name}/"
        rules = rules.enter(folder, prefix) if is_folder else rules
    return False
