"""The folders that QMD indexes, where its results are on the disk, and what can be read of them."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.errors import PathRefused
from memoriter.extensions.qmd._plan import unused_name
from memoriter.types import Diagnostic
from memoriter.values import dataclass
from memoriter.workspace import ExtraPath, Workspace, split_citation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memoriter.extensions.qmd._plan import QmdPlan
    from memoriter.layout import Layout
    from memoriter.types import Excerpt

CollectionKind = Literal["memory", "custom", "sessions"]
PREFIX = "qmd/"
"""Beginning of the cited path of a file outside the workspace."""
EXCLUDED = frozenset({"node_modules", ".git", ".cache", "vendor", "dist", "build"})
"""Folders that QMD never indexes, at any depth."""
MOST_FILES = 20_000
"""Files after which changes are no longer detected by listing them."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A collection of QMD."""

    name: str
    path: Path
    """Absolute path of a folder."""
    pattern: str
    kind: CollectionKind

    @property
    def exists(self) -> bool:
        return self.path.is_dir()


def folders_of(plan: QmdPlan, agent: str, home: Path, layout: Layout, suffixes: Iterable[str]) -> tuple[Folder, ...]:
    """Return the collections of an agent.

    QMD's private home holds exported sessions unless the settings name a folder. The layout tells which files of the
    workspace are notes; in a folder of notes, that is all of them with the suffixes of notes.
    """
    folders: list[Folder] = []
    for each in plan.collections:
        if each.kind == "memory" and layout == "notes":
            if not any(folder.kind == "memory" for folder in folders):
                patterns = ",".join(f"**/*{suffix}" for suffix in suffixes)
                name = each.name.replace("memory-root", "memory-notes", 1)
                folders.append(Folder(name, each.path, patterns, "memory"))
        elif each.path.is_file():  # QMD accepts folders only
            folders.append(Folder(each.name, each.path.parent, _literal(each.path.name), each.kind))
        else:
            folders.append(Folder(each.name, each.path, each.pattern, each.kind))
    if plan.sessions_enabled:
        name = f"sessions-{re.sub(r'[^a-z0-9-]+', '-', agent.lower()).strip('-') or 'agent'}"
        name = unused_name(name, {folder.name for folder in folders})
        folders.append(Folder(name, plan.export_dir or home / "sessions", "**/*.md", "sessions"))
    return tuple(folders)


def _literal(name: str) -> str:
    """Return a pattern that matches only this name."""
    return re.sub(r"([*?{}\[\]()!+@,\\])", r"\\\1", name)


def missing_roots(folders: Iterable[Folder]) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each configured folder that does not exist.

    A workspace without notes has no `memory/` yet, and the first export makes the folder of sessions.
    """
    return tuple(missing_root(folder.path) for folder in folders if folder.kind == "custom" and not folder.exists)


def missing_root(path: Path) -> Diagnostic:
    """Return the diagnostic of a configured folder that does not exist."""
    return Diagnostic(
        "qmd_root_missing",
        f"The folder {str(path)!r} of memory.qmd.paths does not exist, so QMD does not search it.",
        "Create the folder, or correct memory.qmd.paths.",
    )


def locate(folder: Folder, relative: str) -> Path | None:
    """Return the absolute path of a plain file below a folder; None if it is gone, or leads out of the folder."""
    try:
        target = Path(os.path.normpath(folder.path / relative))
        if not relative or target == folder.path or not target.is_relative_to(folder.path):
            return None
        if not target.resolve().is_relative_to(folder.path.resolve()) or not stat.S_ISREG(target.lstat().st_mode):
            return None
    except (OSError, ValueError, RuntimeError):
        return None
    return target


def cited_path(folder: Folder, file: Path, workspace: Path) -> str:
    """Return the path by which a file is cited: relative to the workspace, else `qmd/<collection>/<relative path>`."""
    if file.is_relative_to(workspace):
        return file.relative_to(workspace).as_posix()
    return f"{PREFIX}{folder.name}/{file.relative_to(folder.path).as_posix()}"


def split_cited(path: str, folders: Iterable[Folder]) -> tuple[Folder, str] | None:
    """Return the collection and the relative path of `qmd/<collection>/<relative path>`; None if there is no such."""
    name, _, relative = path.strip().removeprefix("./").removeprefix(PREFIX).partition("/")
    folder = next((each for each in folders if each.name == name), None)
    return (folder, relative) if folder is not None and relative else None


def fingerprint(folders: Iterable[Folder]) -> str | None:
    """Return a text that changes with the files of the folders: names, sizes and times. None for too many files."""
    digest = hashlib.sha256()
    count = 0
    for folder in folders:
        digest.update(f"\0{folder.name}\0{folder.path}\0{folder.pattern}\0".encode("utf-8", "surrogateescape"))
        for path, status in _files(folder):
            count += 1
            if count > MOST_FILES:
                return None
            digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def _files(folder: Folder) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what may match the pattern of a folder, in a fixed order."""
    if not re.search(r"[*?{\[(,\\]", folder.pattern):
        try:
            yield folder.pattern, (folder.path / folder.pattern).lstat()
        except OSError:
            return
        return
    suffix = match[0] if (match := re.search(r"\.\w+\Z", folder.pattern)) and "," not in folder.pattern else ""
    for place, inner, names in os.walk(folder.path):
        inner[:] = sorted(name for name in inner if name not in EXCLUDED and not name.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or not name.endswith(suffix):
                continue
            try:
                status = os.lstat(os.path.join(place, name))  # noqa: PTH118 - thousands of plain strings
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield os.path.join(place, name), status  # noqa: PTH118


def is_cited(path: str, workspace: Workspace, folders: Sequence[Folder]) -> bool:
    """Return whether a path is that of a file of a collection, and not that of a note of the workspace."""
    plain = split_citation(path.strip())[0].removeprefix("./")
    if split_cited(plain, folders) is not None and plain.startswith(PREFIX):
        return True
    if (found := workspace.find(plain)) is not None and (found[1] is not None or not plain.startswith(PREFIX)):
        return False
    return plain.startswith(PREFIX) or _reader(workspace, folders).find(plain) is not None


def read_cited(
    path: str,
    workspace: Workspace,
    folders: Sequence[Folder],
    *,
    start: int | None,
    lines: int | None,
) -> Excerpt:
    """Read lines of a file of a collection. Raises PathRefused."""
    plain, first, count = split_citation(path.strip())
    plain = plain.removeprefix("./")
    if first is not None and start is None:
        start = first
        lines = lines if lines is not None else count
    target = plain
    if plain.startswith(PREFIX):
        found = split_cited(plain, folders)
        if found is None:
            names = ", ".join(folder.name for folder in folders) or "none"
            raise PathRefused(
                f"The path {plain[:200]!r} names no collection of QMD; there are: {names}.",
                remedy="Name a file as a search cites it: `qmd/<collection>/<path>`.",
            )
        folder, relative = found
        if ".." in relative.split("/"):
            raise PathRefused(f"The path {plain[:200]!r} leads out of the folder of its collection.")
        target = str(folder.path / relative)
    excerpt = _reader(workspace, folders).read(target, start=start, lines=lines)
    if not plain.startswith(PREFIX):
        return excerpt
    reason = excerpt.reason
    if reason is not None:
        reason = replace(reason, message=reason.message.replace(excerpt.path, plain))
    return replace(excerpt, path=plain, reason=reason)


def _reader(workspace: Workspace, folders: Sequence[Folder]) -> Workspace:
    """Return the workspace with the folders of the collections as further paths."""
    others = [folder for folder in folders if folder.kind != "memory"]
    extra = [ExtraPath(str(folder.path), pattern) for folder in others for pattern in _patterns(folder.pattern)]
    suffixes = {suffix for folder in others for suffix in _suffixes(folder.pattern)}
    suffixes |= {suffix for suffix in workspace.suffixes if suffix != ".md"}
    return Workspace(
        workspace.root,
        extra,
        make=lambda _: None,
        layout=workspace.layout,
        extra_suffixes=sorted(suffixes - {".md"}),
    )


def _patterns(pattern: str) -> Iterator[str]:
    """Yield the parts of a comma list; commas in braces belong to their pattern."""
    depth = begun = 0
    for place, character in enumerate(pattern):
        depth += (character == "{") - (character == "}")
        if character == "," and depth <= 0 and not pattern[:place].endswith("\\"):
            yield pattern[begun:place].strip()
            begun = place + 1
    yield pattern[begun:].strip()


def _suffixes(pattern: str) -> set[str]:
    """Return the suffixes that a pattern names, such as `.md` and `.txt` for `**/*.{md,txt}`."""
    endings = re.findall(r"\.(\w+|\{[\w,\s]+\})(?=$|,|\})", pattern)
    return {f".{name}" for ending in endings for name in re.findall(r"\w+", ending)}
