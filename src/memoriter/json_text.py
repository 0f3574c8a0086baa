"""Edit JSON, JSON with comments and JSON5 in place: only the text of one value changes, all else stays as it is.

Values are found by their offsets. A parser has accepted each text before it comes here: mistakes are not noticed.

This is written by hand because no maintained package does it: those for Python parse into a tree and write all of it
anew, and jsonc-edit needs Node.js.
"""

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

_COMMENT = r"//[^\r\n\u2028\u2029]*|/\*.*?\*/"
_GAP = re.compile(rf"(?:[\s\ufeff]|{_COMMENT})*+", re.DOTALL)
_TOKEN = re.compile(
    rf"""{_COMMENT}|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[{{}}\[\],:]|[^\s\ufeff{{}}\[\],:"'/]+""", re.DOTALL
)
_REST_OF_LINE = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")
"""The comments that follow a value in its line."""
_INDENT = re.compile(r"\n([ \t]+)[^\s/]")
_STRING_OR_LAST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"|,(?=\s*[}\]])')
_IN_LINE = re.compile(r"[^\r\n]")
_QUOTED_NAME = re.compile(r'(?<!\\)"([A-Za-z_$][A-Za-z0-9_$]*)":')
"""A key that needs no quotes in JSON5."""
_LAST_LINE_END = re.compile(r"(?<=[^\s{\[,])(?=\s*\n[ \t]*[}\]])")
"""The end of the last member of an object or array in several lines, which has no comma in JSON."""
_EMPTY = {"{": "{}", "[": "[]"}


@dataclass(frozen=True, slots=True)
class Member:
    """Offsets of a member of an object or an item of an array."""

    key: str | int
    start: int
    value: int
    """Start of the member's value; an item is its value."""
    end: int


def parse(text: str, name: str, *, comments: bool = False) -> dict[str, Any]:
    """Return the JSON object in a text.

    Raises:
        ConfigError: the text is not JSON, or not an object; the message names the position.
    """
    try:
        value: Any = json.loads(plain(text) if comments else text) if has_value(text) or not comments else {}
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


def has_value(text: str) -> bool:
    """Return whether a text holds more than white space and comments."""
    return outermost(text) < len(text)


def with_object(text: str) -> str:
    """Return the text, with an empty object at its end if it holds nothing but comments."""
    if has_value(text):
        return text
    newline = _newline(text)
    return f"{text.rstrip()}{newline}{{}}{newline}".lstrip()


def comments(text: str) -> list[str]:
    """Return the comments of a text, in order."""
    return [token[0].strip() for token in _TOKEN.finditer(text) if token[0].startswith("/")]


def outermost(text: str) -> int:
    """Return the offset at which the outermost value of a text starts."""
    return _skip_gap(text, 0)


def members(text: str, start: int) -> Iterator[Member]:
    """Yield the members of the object or array that starts at an offset; other values have none."""
    if text[start] not in _EMPTY:
        return
    at = _skip_gap(text, start + 1)
    position = 0
    while text[at] not in "]}":
        member_start = at
        key = position
        if text[start] == "{":
            end = _value_end(text, at)
            key = _key(text[at:end])
            at = _skip_gap(text, _skip_gap(text, end) + 1)
        end = _value_end(text, at)
        yield Member(key, member_start, at, end)
        at = _skip_gap(text, end)
        position += 1
        if text[at] == ",":
            at = _skip_gap(text, at + 1)


def find(text: str, path: Path) -> Member | None:
    """Return the member at a path, or None; an empty path names the outermost value.

    Of members with the same key, the last counts, as in JSON readers.
    """
    start = outermost(text)
    member = Member("", start, start, _value_end(text, start))
    for key in path:
        same = [each for each in members(text, member.value) if each.key == key]
        if not same:
            return None
        member = same[-1]
    return member


def put(text: str, path: Path, value: Any, *, json5: bool = False) -> str:
    """Return the text with a value at a path.

    Missing objects of the path are created, also in place of null. A new member becomes the first of its object.

    Args:
        text: the text, which holds a value.
        path: where the value belongs. What exists of the path is objects and arrays, but for null at its end.
        value: what JSON can hold.
        json5: whether to write as people write JSON5: keys without quotes, and a comma after the last member.
    """
    existing = find(text, path)
    if existing is not None:
        if _is_equal(text[existing.value : existing.end], value):
            return text
        rendered = _render(0, value, text, _indent_at(text, existing.value), json5=json5)
        return text[: existing.value] + rendered + text[existing.end :]
    depth = len(path) - 1
    while (parent := find(text, path[:depth])) is None:
        depth -= 1
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    if text[parent.value : parent.end] == "null":
        return put(text, path[:depth], {path[depth]: value}, json5=json5)
    return _insert_first(text, parent, path[depth], value, json5=json5)


def append(text: str, path: Path, value: Any) -> str:
    """Return the text with a value after the last item of the array at a path; a missing array is created."""
    array = find(text, path)
    if array is None or text[array.value : array.end] == "null":
        return put(text, path, [value])
    items = [*members(text, array.value)]
    if not items:
        return _insert_only(text, array, 0, value, json5=False)
    last = items[-1]
    indent = _own_line_indent(text, last.start)
    blank = " " if indent is None else f"{_newline(text)}{indent}"
    return f"{text[: last.end]},{blank}{_render(0, value, text, indent, json5=False)}{text[last.end :]}"


def remove(text: str, path: Path) -> str:
    """Return the text without the value at a path, and without objects and arrays that this empties.

    The text is unchanged if there is no value at the path. Comments around the value stay, and so does an object or
    array that holds one.
    """
    parent = find(text, path[:-1])
    keys = [member.key for member in members(text, parent.value)] if parent else []
    if parent is None or path[-1] not in keys:
        return text
    if keys.count(path[-1]) == len(keys) and not comments(text[parent.start : parent.end]):
        if len(path) > 1:
            return remove(text, path[:-1])
        return text[: parent.value] + _EMPTY[text[parent.value]] + text[parent.end :]
    for number in reversed(range(len(keys))):  # an object may hold a key twice
        if keys[number] == path[-1]:
            text = _without_member(text, parent.value, number)
    return text


def _insert_first(text: str, parent: Member, key: str | int, value: Any, *, json5: bool) -> str:
    """Return the text with a new first member of an object, after the comments in the line of its bracket.

    The lines of other members stay as they are, so that a list of changed lines shows nothing of them.
    """
    first = next(members(text, parent.value), None)
    if first is None:
        return _insert_only(text, parent, key, value, json5=json5)
    at = cast("re.Match[str]", _REST_OF_LINE.match(text, parent.value + 1)).end()
    indent = _own_line_indent(text, first.start)
    blank = text[at : first.start]
    if not blank.strip():
        return f"{text[: first.start]}{_render(key, value, text, indent, json5=json5)},{blank}{text[first.start :]}"
    if indent is None:  # the comments of other lines belong to the first member
        indent = (_indent_at(text, parent.value) or "") + _indent_unit(text)
    return f"{text[:at]}{_newline(text)}{indent}{_render(key, value, text, indent, json5=json5)},{text[at:]}"


def _insert_only(text: str, parent: Member, key: str | int, value: Any, *, json5: bool) -> str:
    """Return the text with the first member of an empty object or array, after the comments in it."""
    before = text[: parent.end - 1].rstrip()
    after = text[parent.end - 1 :]
    outer = _indent_at(text, parent.value)
    if outer is None and len(before) == parent.value + 1:
        return f"{before}{_render(key, value, text, None, json5=json5)}{after}"
    outer = outer or ""
    indent = outer + _indent_unit(text)
    newline = _newline(text)
    member = f"{indent}{_render(key, value, text, indent, json5=json5)}{',' * json5}"
    return f"{before}{newline}{member}{newline}{outer}{after}"


def _without_member(text: str, start: int, number: int) -> str:
    """Return the text without a member of the object or array at an offset, its comma and the white space before it.

    Comments around it stay.
    """
    siblings = [*members(text, start)]
    member = siblings[number]
    comma = _skip_gap(text, member.end)
    has_comma = text[comma] == ","
    rest = text[member.end : comma] + text[comma + 1 :] if has_comma else text[member.end :]
    gap_start = siblings[number - 1].end if number else start + 1
    gap = text[gap_start : member.start]
    before = [token[0] for token in _TOKEN.finditer(gap)]
    if not gap:
        rest = rest.lstrip()
    elif not (before and before[-1].startswith("//") and rest.partition("\n")[0].strip()):
        gap = gap.rstrip()  # but what follows in a line must not become part of the comment before it
    if number and not has_comma:
        gap = _TOKEN.sub(lambda token: "" if token[0] == "," else token[0], gap)
    return text[:gap_start] + gap + rest


def plain(text: str) -> str:
    """Return the text with blanks in the place of comments and of a comma after the last member.

    It is as long as before and has the same lines.
    """
    bare = _TOKEN.sub(lambda token: _IN_LINE.sub(" ", token[0]) if token[0].startswith("/") else token[0], text)
    return _STRING_OR_LAST_COMMA.sub(lambda match: " " if match[0] == "," else match[0], bare)


def _skip_gap(text: str, at: int) -> int:
    """Return the offset after white space and comments."""
    return cast("re.Match[str]", _GAP.match(text, at)).end()


def _value_end(text: str, start: int) -> int:
    """Return the offset after the value, or the key, that starts at an offset."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in _EMPTY) - (token[0] in {"}", "]"})
        if depth == 0:
            return token.end()
    raise ValueError("the value does not end")


def _key(token: str) -> str:
    """Return the key that a token of JSON5 is."""
    if not token.startswith(("'", '"')):
        return token
    inner = token[1:-1].replace("\\'", "'") if token.startswith("'") else token[1:-1]
    try:
        return json.loads(f'"{inner}"')
    except ValueError:
        return inner  # no key that is looked for has another escape of JSON5


def _is_equal(text: str, value: Any) -> bool:
    """Return whether a text without JSON5 is a value; true is not 1."""
    try:
        existing: Any = json.loads(plain(text))
    except ValueError:
        return False
    return json.dumps(existing, sort_keys=True) == json.dumps(value, sort_keys=True)


def _render(key: str | int, value: Any, text: str, indent: str | None, *, json5: bool) -> str:
    """Return a member in the style of the text, or the value alone if the key is a number.

    The value takes one line if `indent` is None or it holds no object.
    """
    rendered = json.dumps(value, ensure_ascii=False)
    if indent is not None and "{" in rendered:
        lines = json.dumps(value, ensure_ascii=False, indent=_indent_unit(text)).split("\n")
        rendered = f"{_newline(text)}{indent}".join(lines)
    if isinstance(key, str):
        rendered = f"{json.dumps(key, ensure_ascii=False)}: {rendered}"
    return _LAST_LINE_END.sub(",", _QUOTED_NAME.sub(r"\1:", rendered)) if json5 else rendered


def _indent_at(text: str, at: int) -> str | None:
    """Return the white space at the beginning of an offset's line, or None if the whole text is one line."""
    if "\n" not in text.strip() and text.strip() not in _EMPTY.values():
        return None
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _own_line_indent(text: str, at: int) -> str | None:
    """Return the white space before an offset that begins a line, or None if something else precedes it there."""
    blank = text[text.rfind("\n", 0, at) + 1 : at]
    return blank if "\n" in text[:at] and not blank.strip(" \t") else None


def _indent_unit(text: str) -> str:
    """Return one step of indentation in the style of the text."""
    match = _INDENT.search(text)
    return match[1] if match else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
