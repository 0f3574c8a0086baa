"""Define the areas that contain memory, and decide whether a path is in one of them."""
# ruff: noqa: PTH112, PTH118 - plain strings throughout, as a scan makes ten thousand of them

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoriter.types import Skipped
from memoriter.values import dataclass
from memoriter.workspace import _paths as paths
from memoriter.workspace._globs import LONGEST_PATTERN, MOST_ALTERNATIVES, glob_matches, spread_braces
from memoriter.workspace._ignore import Rules, built_in_exclusion

if TYPE_CHECKING:
    from collections.abc import Sequence

TOO_MANY = (
    f"the pattern of its extra path has more than {LONGEST_PATTERN:,} characters or {MOST_ALTERNATIVES} alternatives"
)


@dataclass(frozen=True, slots=True)
class ExtraPath:
    """A file or folder that is memory in addition to the workspace's own notes."""

    path: str
    """Path of the file or folder, absolute or relative to the workspace."""
    pattern: str | None = None
    """A glob below the folder (`**/*.md`, `work/*.{md,txt}`); if None, every Markdown file is memory."""


@dataclass(frozen=True, slots=True)
class Area:
    """A file, or a folder with everything below it, that is memory."""

    path: str
    """Absolute path of the file or folder."""
    base: str
    """Folder that is opened first. Its path may lead through links, because the owner chose it."""
    names: tuple[str, ...]
    """Names from `base` to the file or folder; no link is followed below `base`."""
    cited: str
    """Path by which `path` is cited."""
    configured: bool = False
    """True for an extra path, False for the workspace's own areas."""
    globs: tuple[tuple[str, ...], ...] = ()
    refused: str = ""
    """Reason that the pattern cannot be used, or empty; with a reason, the area accepts no file."""

    @property
    def is_long_term(self) -> bool:
        """True for the long-term file; a folder of this name is not memory."""
        return not self.configured and self.cited in paths.LONG_TERM

    def accepts(self, names: Sequence[str]) -> bool:
        """Return whether the patterns, if any, match the file with these names below the area's path."""
        if self.refused:
            return False
        return not (self.globs and names) or any(glob_matches(names, glob) for glob in self.globs)


@dataclass(frozen=True, slots=True)
class ReadablePath:
    """A path that may be read: the folder to open it from, the names below that, and the cited path."""

    base: str
    names: tuple[str, ...]
    cited: str


def list_areas(root: str, extra_paths: Sequence[ExtraPath]) -> tuple[Area, ...]:
    """Return every area as the disk is now; an extra path outside the workspace may be a link, one inside may not."""
    own = [Area(os.path.join(root, name), root, (name,), name) for name in (*paths.LONG_TERM, paths.FOLDER)]
    return (*own, *(_extra_area(root, extra) for extra in extra_paths if extra.path.strip()))


def _extra_area(root: str, extra: ExtraPath) -> Area:
    path = rebase(root, paths.absolute(root, extra.path.strip()))
    base, start = root, paths.names_below(root, path)
    if start is None and os.path.isdir(path):
        base, start = path, ()
    elif start is None:
        base, name = os.path.split(real_path(path))
        start = (name,)
    alternatives = spread_braces(extra.pattern or "")
    globs = tuple(tuple(glob.strip("/").split("/")) for glob in alternatives or () if glob)
    refused = TOO_MANY if alternatives is None else ""
    return Area(path, base, start, paths.cite(root, path), configured=True, globs=globs, refused=refused)


def real_path(path: str) -> str:
    """Return the path with all links resolved, or the path itself if they cannot be resolved."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path  # the name is invalid, or a link changed meanwhile; opening the file will fail


def rebase(root: str, path: str) -> str:
    """Return a path below the target of the link `root` as a path below `root`, and any other path unchanged."""
    real = real_path(root)
    names = paths.names_below(real, path) if real != root else None
    return path if names is None else os.path.join(root, *names)


def admit(areas: Sequence[Area], root: str, path: str) -> ReadablePath | Skipped:
    """Return where a cited or absolute path may be read, or why it may not, from names and ignore files alone."""
    clean = path.strip()
    if fault := paths.path_fault(clean, windows=os.name == "nt"):
        return Skipped(path, "outside", fault)
    target = rebase(root, paths.absolute(root, clean))
    refusal: Skipped | None = None
    for area in areas:
        names = paths.names_below(area.path, target)
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
        if why := built_in_exclusion(name, folder=depth < len(names)):
            return Skipped(cited, "ignored", why)
    if is_ignored(area, names):
        return Skipped(cited, "ignored", "a .memoryignore file leaves it out")
    return ReadablePath(area.base, (*area.names, *names), cited)


def may_hold(areas: Sequence[Area], root: str, path: str) -> bool:
    """Return whether a folder at the absolute `path` leads to memory or may contain it, by name and ignore rules."""
    target = rebase(root, paths.absolute(root, path))
    for area in areas:
        if paths.names_below(target, area.path) is not None:
            return True
        names = paths.names_below(area.path, target)
        if names and not area.is_long_term and not any(built_in_exclusion(name, folder=True) for name in names):
            return not is_ignored(area, names)
    return False


def is_ignored(area: Area, names: tuple[str, ...]) -> bool:
    """Return whether an ignore file between the area's first folder and the file excludes the file."""
    rules, folder, prefix = Rules().enter(area.base, ""), area.base, ""
    path_names = (*area.names, *names)
    for depth, name in enumerate(path_names, 1):
        is_folder = depth < len(path_names)
        if rules.excludes(prefix + name, folder=is_folder):
            return True
        folder, prefix = os.path.join(folder, name), f"{prefix}{name}/"
        rules = rules.enter(folder, prefix) if is_folder else rules
    return False
