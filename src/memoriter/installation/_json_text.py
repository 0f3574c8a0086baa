"""Edit a JSON text in place: find values by their offsets and replace them, so all other bytes stay as they are."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import ConfigError, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple[str | int, ...]
"""Keys of objects and positions in arrays, from the outermost value inwards."""

_WHITESPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_DECODER = json.JSONDecoder()
EMPTY = {"{": "{}", "[": "[]"}


@dataclass(frozen=True, slots=True)
class JsonMember:
    """Offsets of a member of an object or an item of an array."""

    key: str | int
    start: int
    value: int
    """Start of the member's value; an item is its value."""
    end: int


def parse(text: str, name: str) -> dict[str, Any]:
    """Return the JSON object in a text.

    Raises:
        ConfigError: the text is not JSON, or not an object; the message names the position.
    """
    try:
        value: Any = json.loads(text)
    except RecursionError as error:
        raise ConfigError(f"{name}: The objects are nested too deeply.") from error
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{name}:{error.lineno}:{error.colno}: This is not JSON: {sentence(error.msg)}",
            remedy="Nothing was written. Correct the file and retry.",
        ) from error
    if not isinstance(value, dict):
        raise ConfigError(f"{name}: This is not a JSON object.", remedy="Nothing was written. Correct the file.")
    return cast("dict[str, Any]", value)


def put(text: str, path: Path, value: Any) -> str:
    """Return the text with a value at a path.

    Missing objects of the path are created, and a new member becomes the first of its object.
    """
    span = _find_span(text, path)
    if span is not None:
        start, end = span
        if json.loads(text[start:end]) == value:
            return text
        return text[:start] + _render(value, text, _indent_at(text, start)) + text[end:]
    parent, depth = None, len(path)
    while parent is None:
        depth -= 1
        parent = _find_span(text, path[:depth])
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _insert_first(text, parent[0], path[depth], value)


def append(text: str, path: Path, value: Any) -> str:
    """Return the text with a value after the last item of the array at a path; a missing array is created."""
    span = _find_span(text, path)
    if span is None:
        return put(text, path, [value])
    items = list(_members(text, span[0]))
    if not items:
        return _insert_first(text, span[0], 0, value)
    last = items[-1].start
    blank = text[items[-2].end : last].partition(",")[2] if len(items) > 1 else text[span[0] + 1 : last]
    indent = blank.rpartition("\n")[2] if "\n" in blank else None
    end = items[-1].end
    return f"{text[:end]},{blank}{_render(value, text, indent)}{text[end:]}"


def remove(text: str, path: Path) -> str:
    """Return the text without the value at a path, and without objects and arrays that this empties.

    The text is unchanged if there is no value at the path.
    """
    if _find_span(text, path) is None:
        return text
    parent = _find_span(text, path[:-1])
    assert parent is not None
    members = list(_members(text, parent[0]))
    number = max(number for number, member in enumerate(members) if member.key == path[-1])
    if len(members) == 1:
        if len(path) > 1:
            return remove(text, path[:-1])
        return text[: parent[0]] + EMPTY[text[parent[0]]] + text[parent[1] :]
    if number == 0:
        return text[: members[0].start] + text[members[1].start :]
    shortened = text[: members[number - 1].end] + text[members[number].end :]
    return shortened if isinstance(path[-1], int) else remove(shortened, path)  # an object may hold a member twice


def _find_span(text: str, path: Path) -> tuple[int, int] | None:
    """Return the start and end of the value at a path.

    Of members with the same name, the last counts, as in JSON readers.
    """
    start = _skip_whitespace(text, 0)
    end = _DECODER.raw_decode(text, start)[1]
    for key in path:
        matches = [member for member in _members(text, start) if member.key == key]
        if not matches:
            return None
        start, end = matches[-1].value, matches[-1].end
    return start, end


def _members(text: str, start: int) -> Iterator[JsonMember]:
    """Return the members of the object or array that starts at an offset; other values have none."""
    if text[start] not in EMPTY:
        return
    at, position = _skip_whitespace(text, start + 1), 0
    while text[at] not in "]}":
        member_start, key = at, position
        if text[start] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_whitespace(text, _skip_whitespace(text, at) + 1)
        value = at
        at = _DECODER.raw_decode(text, value)[1]
        yield JsonMember(key, member_start, value, at)
        at, position = _skip_whitespace(text, at), position + 1
        if text[at] == ",":
            at = _skip_whitespace(text, at + 1)


def _insert_first(text: str, start: int, key: str | int, value: Any) -> str:
    """Return the text with a new first member of the object or array that starts at an offset."""
    assert text[start] in EMPTY, "the caller has looked"
    name = f"{json.dumps(key, ensure_ascii=False)}: " if text[start] == "{" else ""
    first = next(_members(text, start), None)
    if first is not None:
        blank = text[start + 1 : first.start]
        indent = blank.rpartition("\n")[2] if "\n" in blank else None
        return f"{text[: first.start]}{name}{_render(value, text, indent)},{blank}{text[first.start :]}"
    close = _skip_whitespace(text, start + 1)
    if "\n" not in text.strip() and len(text.strip()) > len(EMPTY["{"]):
        return f"{text[: start + 1]}{name}{_render(value, text, None)}{text[close:]}"
    outer = _indent_at(text, start) or ""
    inner, line = outer + _indent_unit(text), _line_end(text)
    return f"{text[: start + 1]}{line}{inner}{name}{_render(value, text, inner)}{line}{outer}{text[close:]}"


def _render(value: Any, text: str, indent: str | None) -> str:
    """Return a value in the style of the surrounding text; in one line if `indent` is None."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_indent_unit(text)).split("\n")
    return f"{_line_end(text)}{indent}".join(lines)


def _indent_at(text: str, at: int) -> str | None:
    """Return the white space at the beginning of an offset's line, or None if the whole text is one line."""
    if "\n" not in text.strip() and text.strip() not in EMPTY.values():
        return None
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_unit(text: str) -> str:
    """Return one step of indentation in the style of the text."""
    match = _INDENT.search(text)
    return match[1] if match else "  "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _skip_whitespace(text: str, at: int) -> int:
    match = _WHITESPACE.match(text, at)
    assert match is not None
    return match.end()
