"""Restrictions on a workspace's own configuration file, which is untrusted because it came with the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from memoriter.config._check import Problem
from memoriter.config._section import dotted
from memoriter.config._tree import table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memoriter.config._document import ConfigDocument
    from memoriter.config._section import Key
    from memoriter.config._tree import Tree

SEARCH = ("agents", "defaults", "memorySearch")

ALLOWED: tuple[Key, ...] = (
    (*SEARCH, "chunking"),
    (*SEARCH, "query"),
    (*SEARCH, "sources"),
    ("memory", "citations"),
    ("memory", "layout"),
    ("memory", "dailyNote"),
)
"""Keys that affect only searches in the folder. `extraPaths` is allowed too, within the folder."""


def find_forbidden(project: ConfigDocument, workspace: Path) -> Iterator[Problem]:
    """Yield the settings that the file must not contain."""
    for key, value in leaf_values(project.tree):
        if key == (*SEARCH, "extraPaths"):
            yield from find_outside_paths(key, value, workspace)
        elif not any(key[: len(allowed)] == allowed for allowed in ALLOWED):
            yield Problem(key, refusal_text(dotted(key), project.path))
    for name in project.ignored:
        yield Problem(tuple(name.split(".")), refusal_text(name, project.path))


def refusal_text(name: str, path: Path | None) -> str:
    return (
        f"The setting {name} may not be set by {path}: a file that comes with a folder must not choose services, keys,"
        " commands or paths. Set it in your own configuration file."
    )


def leaf_values(tree: Tree, at: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Yield each value of a tree that is not an object, and each empty object, with its key."""
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from leaf_values(table(value), (*at, key))
        else:
            yield (*at, key), value


def find_outside_paths(key: Key, paths: Any, workspace: Path) -> Iterator[Problem]:
    """Yield extra paths outside the workspace, also those behind a symbolic link."""
    root = workspace.resolve()
    for entry in cast("list[Any]", paths) if isinstance(paths, list) else []:
        path = table(entry).get("path")
        if isinstance(path, str) and not is_inside(path, root):
            yield Problem(
                key,
                f"The setting {dotted(key)} names {path[:80]!r}, which leaves the workspace;"
                " this file may only name paths inside of it.",
            )


def is_inside(path: str, root: Path) -> bool:
    try:
        return not path.startswith("~") and (root / path).resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):
        return False
