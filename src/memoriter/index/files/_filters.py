"""Filters as SQL, so that they apply before any ranking."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from memoriter.ids import normalize
from memoriter.index.store._connection import storable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import date

    from memoriter.types import Filters


class Condition(NamedTuple):
    """An SQL condition; an empty one excludes nothing."""

    sql: str = ""
    values: tuple[str | int, ...] = ()


def _sources(kinds: Collection[str]) -> Condition:
    return Condition("files.kind IN (SELECT value FROM json_each(?))", (json.dumps(sorted(kinds)),))


def _path(path: str) -> Condition:
    plain = _plain(storable(path))
    if not plain:
        return Condition()
    # "0" is the character after "/", so the range contains everything in the folder, whatever its name.
    sql = "(files.path = ? OR (files.path >= ? AND files.path < ?) OR path_matches(files.path, ?))"
    return Condition(sql, (plain, f"{plain}/", f"{plain}0", plain.replace("[^", "[!")))


def _tags(tags: Collection[str]) -> Condition:
    """Return the condition that a file has all of the tags, or others below them: `a/b` is below `a`."""
    wanted = sorted(folded for tag in tags if (folded := normalize("NFC", storable(tag)).casefold().strip("#/ ")))
    # "0" is the character after "/".
    one = "files.id IN (SELECT tags.file FROM tags WHERE tag = ? OR (tag >= ? AND tag < ?))"
    values = [value for tag in wanted for value in (tag, f"{tag}/", f"{tag}0")]
    return Condition(" AND ".join([one] * len(wanted)), tuple(values))


def _since(day: date) -> Condition:
    return Condition("chunks.day >= ?", (day.toordinal(),))


def _until(day: date) -> Condition:
    return Condition("chunks.day <= ?", (day.toordinal(),))


FILE_CONDITIONS: Mapping[str, Callable[[Any], Condition]] = {"sources": _sources, "path": _path, "tags": _tags}
"""Conditions over `files`, by the field of `Filters`."""


def _phrases(phrases: Collection[str]) -> Condition:
    one = "holds_phrase(chunks.heading, chunks.text, ?)"
    return Condition(" AND ".join([one] * len(phrases)), tuple(map(storable, phrases)))


def _without(phrases: Collection[str]) -> Condition:
    one = "NOT holds_phrase(chunks.heading, chunks.text, ?)"
    return Condition(" AND ".join([one] * len(phrases)), tuple(map(storable, phrases)))


CHUNK_CONDITIONS: Mapping[str, Callable[[Any], Condition]] = {
    "since": _since,
    "until": _until,
    "phrases": _phrases,
    "without": _without,
}
"""Conditions over `chunks`, by the field of `Filters`."""


def condition(filters: Filters) -> tuple[str, tuple[str | int, ...]]:
    """Return an SQL condition over `chunks` and its values; `1` if there is nothing to filter."""
    file, chunk = _joined(filters, FILE_CONDITIONS), _joined(filters, CHUNK_CONDITIONS)
    of_file = f"chunks.file IN (SELECT files.id FROM files WHERE {file.sql})" if file.sql else ""  # noqa: S608 (fixed text; values are bound)
    return " AND ".join(filter(None, (of_file, chunk.sql))) or "1", (*file.values, *chunk.values)


def _joined(filters: Filters, conditions: Mapping[str, Callable[[Any], Condition]]) -> Condition:
    """Return one condition for all filters of a table that are set."""
    parts = [
        part
        for name, make in conditions.items()
        if (value := getattr(filters, name)) is not None and (part := make(value)).sql
    ]
    return Condition(" AND ".join(part.sql for part in parts), tuple(value for part in parts for value in part.values))


def _plain(path: str) -> str:
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/")
    return "" if path == "." else path
