"""Edit a JSON text in place: find values by their offsets and replace them, so all other bytes stay as they are.

The text may have comments and a comma after the last member, as the files of many editors do. `_plain` replaces both by
blanks of the same length, so that offsets of the plain text are those of the file.
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

_WHITESPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_LAST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=[ \t\r\n]*[}\]])')
_NOT_LINE_END = re.compile(r"[^\r\n]")
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


def parse(text: str, name: str, *, comments: bool = False) -> dict[str, Any]:
    """Return the JSON object in a text.

    Args:
        text: JSON.
        name: name of the file, for messages.
        comments: whether the program that owns the file accepts comments and a comma after the last member.

    Raises:
        ConfigError: the text is not JSON, or not an object; the message names the position.
    """
    try:
        value: Any = json.loads(_plain(text) if comments else text) if has_value(text) or not comments else {}
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
    """Return whether a text holds more than blanks and comments."""
    return bool(_without_comments(text).strip())


def with_object(text: str) -> str:
    """Return the text, with an empty object at its end if it holds nothing but comments."""
    if has_value(text):
        return text
    return f"{text.rstrip()}{_line_end(text)}{{}}{_line_end(text)}".lstrip()


def comments(text: str) -> list[str]:
    """Return the comments of a text, in order."""
    found = _STRING_OR_COMMENT.finditer(text) if _plain(text) is not text else ()
    return [match[0].strip() for match in found if not match[0].startswith('"')]


def put(text: str, path: Path, value: Any) -> str:
    """Return the text with a value at a path.

    Missing objects of the path are created, also in place of null, and a new member becomes the first of its object.
    """
    plain = _plain(text)
    span = _find_span(plain, path)
    if span is not None:
        start, end = span
        if json.loads(plain[start:end]) == value:
            return text
        return text[:start] + _render(value, text, _indent_at(text, start)) + text[end:]
    parent = None
    depth = len(path)
    while parent is None:
        depth -= 1
        parent = _find_span(plain, path[:depth])
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    if plain[slice(*parent)] == "null":
        return put(text, path[:depth], {path[depth]: value})
    return _insert_first(text, parent, path[depth], value)


def append(text: str, path: Path, value: Any) -> str:
    """Return the text with a value after the last item of the array at a path; a missing array is created."""
    plain = _plain(text)
    span = _find_span(plain, path)
    if span is None or plain[slice(*span)] == "null":
        return put(text, path, [value])
    items = list(_members(plain, span[0]))
    if not items:
        return _insert_first(text, span, 0, value)
    last = items[-1].start
    blank = plain[items[-2].end : last].partition(",")[2] if len(items) > 1 else plain[span[0] + 1 : last]
    indent = blank.rpartition("\n")[2] if "\n" in blank else None
    if plain != text:  # comments are not repeated
        blank = " " if indent is None else f"{_line_end(text)}{indent}"
    end = items[-1].end
    return f"{text[:end]},{blank}{_render(value, text, indent)}{text[end:]}"


def remove(text: str, path: Path) -> str:
    """Return the text without the value at a path, and without objects and arrays that this empties.

    The text is unchanged if there is no value at the path. Comments stay, and so does what holds one.
    """
    plain = _plain(text)
    if _find_span(plain, path) is None:
        return text
    parent = _find_span(plain, path[:-1])
    assert parent is not None
    members = list(_members(plain, parent[0]))
    number = max(number for number, member in enumerate(members) if member.key == path[-1])
    if text[slice(*parent)] != plain[slice(*parent)]:
        shortened = _cut(text, members, number)
    elif len(members) == 1:
        emptied = text[: parent[0]] + EMPTY[text[parent[0]]] + text[parent[1] :]
        shortened = remove(text, path[:-1]) if len(path) > 1 else emptied
        return shortened if comments(shortened) == comments(text) else emptied  # one may stand before the colon
    elif number == 0:
        return text[: members[0].start] + text[members[1].start :]
    else:
        shortened = text[: members[number - 1].end] + text[members[number].end :]
    return shortened if isinstance(path[-1], int) else remove(shortened, path)  # an object may hold a member twice


def _cut(text: str, members: list[JsonMember], number: int) -> str:
    """Return the text without a member, its comma and the white space before it; comments around it stay."""
    member = members[number]
    bare = _without_comments(text)
    comma = _skip_whitespace(bare, member.end)
    rest = text[member.end : comma] + text[comma + 1 :] if bare[comma] == "," else text[member.end :]
    start = len(text[: member.start].rstrip(" \t\r\n"))
    if rest.partition("\n")[0].strip() and _ends_line_comment(text, start):
        start = member.start  # what follows in this line must not become part of the comment
    if number == 0 or number + 1 < len(members):
        return text[:start] + rest
    before = bare.index(",", members[number - 1].end)
    return text[:before] + text[before + 1 : start] + text[member.end :]


def _ends_line_comment(text: str, end: int) -> bool:
    """Return whether the character before an offset belongs to a comment that only the end of the line ends."""
    comments = (match for match in _STRING_OR_COMMENT.finditer(text) if match.start() < end <= match.end())
    return any(match[0].startswith("//") for match in comments)


def _plain(text: str) -> str:
    """Return the text with blanks in the place of comments and of a comma after the last member."""
    try:
        json.loads(text)
    except ValueError:
        bare = _without_comments(text)
        return _STRING_OR_LAST_COMMA.sub(lambda match: " " if match[0] == "," else match[0], bare)
    return text


def _without_comments(text: str) -> str:
    """Return the text with blanks in the place of comments, as long as before and with the same lines."""
    return _STRING_OR_COMMENT.sub(
        lambda match: match[0] if match[0].startswith('"') else _NOT_LINE_END.sub(" ", match[0]), text
    )


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
        start = matches[-1].value
        end = matches[-1].end
    return start, end


def _members(text: str, start: int) -> Iterator[JsonMember]:
    """Return the members of the object or array that starts at an offset; other values have none."""
    if text[start] not in EMPTY:
        return
    at = _skip_whitespace(text, start + 1)
    position = 0
    while text[at] not in "]}":
        member_start = at
        key = position
        if text[start] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip_whitespace(text, _skip_whitespace(text, at) + 1)
        value = at
        at = _DECODER.raw_decode(text, value)[1]
        yield JsonMember(key, member_start, value, at)
        at = _skip_whitespace(text, at)
        position += 1
        if text[at] == ",":
            at = _skip_whitespace(text, at + 1)


def _insert_first(text: str, span: tuple[int, int], key: str | int, value: Any) -> str:
    """Return the text with a new first member of the object or array between two offsets."""
    start, end = span
    assert text[start] in EMPTY, "the caller has looked"
    name = f"{json.dumps(key, ensure_ascii=False)}: " if text[start] == "{" else ""
    plain = _plain(text)
    first = next(_members(plain, start), None)
    if text[start:end] != plain[start:end]:
        return _insert_after_comment(text, start, name, value, first)
    if first is not None:
        blank = text[start + 1 : first.start]
        indent = blank.rpartition("\n")[2] if "\n" in blank else None
        return f"{text[: first.start]}{name}{_render(value, text, indent)},{blank}{text[first.start :]}"
    close = _skip_whitespace(text, start + 1)
    if "\n" not in text.strip() and len(text.strip()) > len(EMPTY["{"]):
        return f"{text[: start + 1]}{name}{_render(value, text, None)}{text[close:]}"
    outer = _indent_at(text, start) or ""
    inner = outer + _indent_unit(text)
    line = _line_end(text)
    return f"{text[: start + 1]}{line}{inner}{name}{_render(value, text, inner)}{line}{outer}{text[close:]}"


def _insert_after_comment(text: str, start: int, name: str, value: Any, first: JsonMember | None) -> str:
    """Return the text with a new first member, after the comments in the line of the opening bracket."""
    at = start + 1
    while (comment := _STRING_OR_COMMENT.match(text, _skip_blanks(text, at))) and not comment[0].startswith('"'):
        at = comment.start() + len(comment[0].rstrip(" \t"))
    comma = "" if first is None else ","
    outer = _indent_at(text, start)
    if outer is None:
        return f"{text[:at]} {name}{_render(value, text, None)}{comma}{text[at:]}"
    blank = text[at : first.start] if first else ""
    indent = blank.rpartition("\n")[2] if "\n" in blank else outer + _indent_unit(text)
    indent = indent if not indent.strip() else outer + _indent_unit(text)
    return f"{text[:at]}{_line_end(text)}{indent}{name}{_render(value, text, indent)}{comma}{text[at:]}"


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


def _skip_blanks(text: str, at: int) -> int:
    """Return the offset of the next character in a line that is no blank."""
    while text[at : at + 1] in {" ", "\t"}:
        at += 1
    return at
