"""Changes of a JSON text that leave every other byte as it is: values are found by their offsets and spliced."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple[str | int, ...]
"""Keys of objects and positions in arrays, from the outside in."""

_BLANK = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_DECODER = json.JSONDecoder()
EMPTY = {"{": "{}", "[": "[]"}


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object or an item of an array, by offsets."""

    key: str | int
    start: int
    value: int
    """Where its value starts; an item is its value."""
    end: int


def parse(text: str, name: str) -> dict[str, Any]:
    """What the text stands for. Raises ConfigError with the position where it is no JSON, or no object."""
    try:
        value: Any = json.loads(text)
    except RecursionError as error:
        raise ConfigError(f"{name}: the objects are nested too deeply") from error
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{name}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}",
            remedy="Nothing was written. Mend the file, and try again.",
        ) from error
    if not isinstance(value, dict):
        raise ConfigError(f"{name}: this is not a JSON object", remedy="Nothing was written. Mend the file.")
    return cast("dict[str, Any]", value)


def put(text: str, path: Path, value: Any) -> str:
    """The text with a value at a path; objects on the way are made, and a new member comes first in its object."""
    found = _find(text, path)
    if found is not None:
        start, end = found
        if json.loads(text[start:end]) == value:
            return text
        return text[:start] + _rendered(value, text, _indent_at(text, start)) + text[end:]
    parent, depth = None, len(path)
    while parent is None:
        depth -= 1
        parent = _find(text, path[:depth])
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _inserted(text, parent[0], path[depth], value)


def prepend(text: str, path: Path, value: Any) -> str:
    """The text with a value before the first item of the array at a path, which is made if it is not there."""
    found = _find(text, path)
    return put(text, path, [value]) if found is None else _inserted(text, found[0], 0, value)


def remove(text: str, path: Path) -> str:
    """The text without what is at a path, and without what is empty thereby; as it is if there is nothing."""
    if _find(text, path) is None:
        return text
    parent = _find(text, path[:-1])
    assert parent is not None
    entries = list(_entries(text, parent[0]))
    number = max(number for number, entry in enumerate(entries) if entry.key == path[-1])
    if len(entries) == 1:
        if len(path) > 1:
            return remove(text, path[:-1])
        return text[: parent[0]] + EMPTY[text[parent[0]]] + text[parent[1] :]
    if number == 0:
        return text[: entries[0].start] + text[entries[1].start :]
    less = text[: entries[number - 1].end] + text[entries[number].end :]
    return less if isinstance(path[-1], int) else remove(less, path)  # an object may name a member twice


def _find(text: str, path: Path) -> tuple[int, int] | None:
    """Where the value at a path starts and ends. Of members with one name the last counts, as for every reader."""
    start = _after_blank(text, 0)
    end = _DECODER.raw_decode(text, start)[1]
    for key in path:
        inside = [entry for entry in _entries(text, start) if entry.key == key]
        if not inside:
            return None
        start, end = inside[-1].value, inside[-1].end
    return start, end


def _entries(text: str, start: int) -> Iterator[JsonMember]:
    """The entries of the object or array that starts there; of anything else none."""
    if text[start] not in EMPTY:
        return
    at, position = _after_blank(text, start + 1), 0
    while text[at] not in "]}":
        begin, key = at, position
        if text[start] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _after_blank(text, _after_blank(text, at) + 1)
        value = at
        at = _DECODER.raw_decode(text, value)[1]
        yield JsonMember(key, begin, value, at)
        at, position = _after_blank(text, at), position + 1
        if text[at] == ",":
            at = _after_blank(text, at + 1)


def _inserted(text: str, start: int, key: str | int, value: Any) -> str:
    """The text with a new first entry of the object or array that starts there."""
    assert text[start] in EMPTY, "the caller has looked"
    name = f"{json.dumps(key, ensure_ascii=False)}: " if text[start] == "{" else ""
    first = next(_entries(text, start), None)
    if first is not None:
        blank = text[start + 1 : first.start]
        indent = blank.rpartition("\n")[2] if "\n" in blank else None
        return f"{text[: first.start]}{name}{_rendered(value, text, indent)},{blank}{text[first.start :]}"
    close = _after_blank(text, start + 1)
    if "\n" not in text.strip() and len(text.strip()) > len(EMPTY["{"]):
        return f"{text[: start + 1]}{name}{_rendered(value, text, None)}{text[close:]}"
    outer = _indent_at(text, start) or ""
    inner, line = outer + _unit(text), _line_end(text)
    return f"{text[: start + 1]}{line}{inner}{name}{_rendered(value, text, inner)}{line}{outer}{text[close:]}"


def _rendered(value: Any, text: str, indent: str | None) -> str:
    """A value in the style of the text around it; in one line where `indent` is None."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return f"{_line_end(text)}{indent}".join(lines)


def _indent_at(text: str, at: int) -> str | None:
    """The white space that the line of an offset begins with; None where the whole text is one line."""
    if "\n" not in text.strip() and text.strip() not in EMPTY.values():
        return None
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation, as the text has it."""
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()
