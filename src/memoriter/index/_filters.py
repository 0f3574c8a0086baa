"""Filters as SQL, so that they apply before any ranking."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from memoriter.index._text import storable

if TYPE_CHECKING:
    from memoriter.types import Filters


def condition(filters: Filters) -> tuple[str, tuple[str | int, ...]]:
    """Return an SQL condition over `chunks` and its values; `1` if there is nothing to filter."""
    parts: list[str] = []
    values: list[str | int] = []
    file, file_values = _files(filters)
    if file:
        parts.append(f"chunks.file IN (SELECT files.id FROM files WHERE {file})")  # noqa: S608 (fixed text; values are bound)
        values += file_values
    if filters.since is not None:
        parts.append("chunks.day >= ?")
        values.append(filters.since.toordinal())
    if filters.until is not None:
        parts.append("chunks.day <= ?")
        values.append(filters.until.toordinal())
    return " AND ".join(parts) or "1", tuple(values)


def _files(filters: Filters) -> tuple[str, list[str]]:
    parts: list[str] = []
    values: list[str] = []
    if filters.sources is not None:
        parts.append("files.kind IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(sorted(filters.sources)))
    path = _plain(storable(filters.path or ""))
    if path:
        # "0" is the character after "/", so the range contains everything in the folder, whatever its name.
        parts.append("(files.path = ? OR (files.path >= ? AND files.path < ?) OR path_matches(files.path, ?))")
        values += [path, f"{path}/", f"{path}0", path.replace("[^", "[!")]
    return " AND ".join(parts), values


def path_matches(path: str, pattern: str) -> bool:
    """Match like SQLite's `GLOB`, whose time grows by another power of the path's length with each `*`."""
    return fnmatchcase(path, pattern)


def _plain(path: str) -> str:
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/")
    return "" if path == "." else path
