"""The SQL of filters, over `chunks`."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from memoriter.folding import fold_tag, holds_phrase

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from memoriter.types import Filters


_ESCAPE = "\ufdd0"
"""No character, so hardly ever in a text; four hexadecimal digits follow it."""
_NOT_STORABLE = re.compile(f"[\0{_ESCAPE}\ud800-\udfff]")
_ESCAPED = re.compile(f"{_ESCAPE}([0-9a-f]{{4}})")


class Condition(NamedTuple):
    """An SQL condition over the alias `chunks`, and its values; `true` excludes nothing."""

    sql: str
    values: tuple[Any, ...]


def condition(filters: Filters, *, space: int, edition: int, paths: Iterable[str], kinds: Collection[str]) -> Condition:
    """Return the condition of all filters but those on phrases.

    A pattern selects some of the paths of all files, which are read only if there is one. A filter that allows all
    kinds of sources excludes nothing.
    """
    files = list[str]()
    values = list[Any]()
    if filters.sources is not None and not filters.sources.issuperset(kinds):
        files.append("kind = ANY(%s)")
        values.append(sorted(filters.sources))
    if filters.path is not None and (plain := _plain(storable(filters.path))):
        # "0" is the character after "/", so the range contains everything in the folder, whatever its name.
        files.append("(path = %s OR (path >= %s AND path < %s) OR path = ANY(%s))")
        pattern = plain.replace("[^", "[!")
        matching = [path for path in paths if fnmatchcase(path, pattern)] if is_pattern(plain) else []
        values += [plain, f"{plain}/", f"{plain}0", matching]
    tags = {fold_tag(storable(tag)) for tag in filters.tags or ()}
    for tag in sorted(tag for tag in tags if tag):
        files.append(
            "id IN (SELECT file FROM tags WHERE space = %s AND edition = %s AND (tag = %s OR (tag >= %s AND tag < %s)))"
        )
        values += [space, edition, tag, f"{tag}/", f"{tag}0"]
    parts = list[str]()
    all_values = list[Any]()
    if files:
        where = " AND ".join(files)
        parts.append(f"chunks.file IN (SELECT id FROM files WHERE space = %s AND edition = %s AND {where})")  # noqa: S608 (fixed text; values are bound)
        all_values += [space, edition, *values]
    of_day = "abs(chunks.day)" if filters.changed else "chunks.day"
    for sign, day in ((">=", filters.since), ("BETWEEN 1 AND", filters.until)):
        if day is not None:
            parts.append(f"{of_day} {sign} %s")
            all_values.append(day.toordinal())
    return Condition(" AND ".join(parts) or "true", tuple(all_values))


def is_pattern(path: str) -> bool:
    """Return whether a path has characters that stand for others."""
    return any(each in path for each in "*?[")


def holds(filters: Filters, heading: str, text: str) -> bool:
    """Return whether a chunk passes the filters on phrases."""
    return all(holds_phrase(heading, text, phrase) for phrase in filters.phrases) and not any(
        holds_phrase(heading, text, phrase) for phrase in filters.without
    )


def storable(text: str) -> str:
    """Return the text as PostgreSQL can store it: each lone surrogate and NUL replaced by U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def escaped(text: str) -> str:
    r"""Return the text of a passage as PostgreSQL can store it, from which `restored` makes the same text again.

    >>> escaped("a\0b") == "a\ufdd00000b", restored(escaped("a\0b\ud800")) == "a\0b\ud800"
    (True, True)
    """
    return _NOT_STORABLE.sub(lambda found: f"{_ESCAPE}{ord(found[0]):04x}", text)


def restored(text: str) -> str:
    """Return a text that `escaped` has made storable."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if _ESCAPE in text else text


def all_storable(texts: Collection[str]) -> list[str]:
    return [storable(text) for text in texts]


def _plain(path: str) -> str:
    while path.startswith("./"):
        path = path[2:]
    path = path.rstrip("/")
    return "" if path == "." else path
