"""Read the files of collections by the paths of hits, confined to the folders and patterns of the settings."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused
from memoriter.extensions.qmd._collections import PREFIX, split_cited
from memoriter.workspace import ExtraPath, Workspace, split_citation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.extensions.qmd._collections import Folder
    from memoriter.types import Excerpt


def cites(path: str, workspace: Workspace, folders: Sequence[Folder]) -> bool:
    """Return whether a path is that of a file of a collection, and not that of a note of the workspace."""
    plain = split_citation(path.strip())[0].removeprefix("./")
    if split_cited(plain, folders) is not None and plain.startswith(PREFIX):
        return True
    if (found := workspace.find(plain)) is not None and (found[1] is not None or not plain.startswith(PREFIX)):
        return False
    return plain.startswith(PREFIX) or _reader(workspace, folders).find(plain) is not None


def read(
    path: str,
    workspace: Workspace,
    folders: Sequence[Folder],
    *,
    start: int | None,
    lines: int | None,
    max_chars: int,
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
    excerpt = _reader(workspace, folders).read(target, start=start, lines=lines, max_chars=max_chars)
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
