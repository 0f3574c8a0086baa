"""Front matter in TOML, between two lines of `+++`, as Hugo and Zola have it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENTRY = re.compile(r"[ \t]*(?:\[|([\w.\"'-]+)[ \t]*=[ \t]*(.*))")
"""The beginning of an entry: the name of a table, or a key and the first line of its value."""
_OF_TAGS = "taxonomies"
"""The table in which Zola has tags and categories."""


def read_toml(text: str) -> tuple[dict[str, Any], list[int]]:
    """Return the values of TOML, and the lines from 0 that are none.

    Where a few entries are no TOML, their values are read as plain text, and the others count.
    """
    try:
        return _loads(text), []
    except ValueError:
        pass
    document: dict[str, Any] = {}
    wrong = list[int]()
    table = ""
    for number, entry in split_entries(text, lambda line: _ENTRY.match(line) is not None):
        try:
            read = _loads(f"{table}{entry}")
        except ValueError:
            wrong.append(number)
            match = _ENTRY.match(entry)
            key = ((match and match[1]) or "").strip("\"'")
            document.setdefault(key, (match[2] if match and match[1] else entry).strip("\"' \t\r\n"))
            continue
        _merge(document, read)
        table = f"{entry}\n" if entry.lstrip().startswith("[") else table
    return document, wrong


def texts_of(document: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield each text of TOML or JSON: its outermost key, the text, and whether it is in a list or a table."""
    for key, value in document.items():
        if key == _OF_TAGS and isinstance(value, dict):
            yield from texts_of(cast("dict[str, Any]", value))
        else:
            listed = isinstance(value, list | dict)
            yield from ((key, text, listed) for text in _texts(value))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _texts(each)
    else:
        yield str(value)


def _loads(text: str) -> dict[str, Any]:
    """Return the document. Raises ValueError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def split_entries(text: str, begins: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    """Yield the entries of front matter, and their first lines, from 0; `begins` says which lines begin one."""
    entry = list[str]()
    first = 0
    for number, line in enumerate(text.split("\n")):
        if entry and begins(line):
            yield first, "\n".join(entry)
            entry = []
        if not entry:
            if not line.strip():
                continue
            first = number
        entry.append(line)
    if entry:
        yield first, "\n".join(entry)


def _merge(document: dict[str, Any], read: dict[str, Any]) -> None:
    for key, value in read.items():
        known = document.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            cast("dict[str, Any]", known).update(cast("dict[str, Any]", value))
        else:
            document[key] = value
