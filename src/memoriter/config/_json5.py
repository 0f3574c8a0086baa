"""A JSON5 parser that keeps the position of each key in the text."""

from __future__ import annotations

import math
from typing import Any, Self, cast

from memoriter.errors import ConfigError, sentence
from memoriter.values import dataclass, field

_SPAN = "span"


class Name(str):
    """A key of an object, with its offset in the text in characters. It equals the plain string."""

    __slots__ = ("offset",)

    def __new__(cls, text: str, offset: int) -> Self:
        name = super().__new__(cls, text)
        name.offset = offset
        return name

    offset: int


@dataclass(slots=True)
class Node:
    """A value in a JSON5 text, with offsets in characters."""

    start: int
    end: int
    key_start: int = 0
    """Offset of the member's key; 0 for the outermost value."""
    members: dict[str, Node] | None = None
    """The members of an object; None for any other value."""
    order: list[str] = field(default_factory=list[str])


def position(text: str, offset: int) -> tuple[int, int]:
    """Return the line and column of an offset, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def parse(text: str, file: str) -> Any:
    """Parse a text. The keys of its objects are `Name`s; an empty text is an empty object.

    Raises:
        ConfigError: The text is not JSON5; the message starts with `file:line:column`.
    """
    if not text.strip():
        return {}
    parser: Any = positioning_parser(text)
    try:
        tree, error, offset = parser.parse(global_vars={"_strict": False, "_consume_trailing": True})
        if not error:
            return to_python(tree)
    except RecursionError as caught:
        raise ConfigError(f"{file}: The objects are nested too deeply.") from caught
    except ValueError as caught:
        raise ConfigError(f"{file}: This is not JSON5: {sentence(caught)}") from caught
    line, column = position(text, offset)
    unexpected = repr(text[offset]) if offset < len(text) else "the end of the file"
    raise ConfigError(f"{file}:{line}:{column}: This is not JSON5: {unexpected} is not expected here.")


def parse_value(text: str) -> Any:
    """Return the value that a text is in JSON5, or the text itself if it is no JSON5.

    >>> parse_value("10"), parse_value("[1, 'a']"), parse_value("~/notes"), parse_value("null")
    (10, [1, 'a'], '~/notes', 'null')
    """
    try:
        value = parse(f"{{value: {text}\n}}", "")["value"]
    except ConfigError:
        return text
    return text if value is None or not text.strip() else value


def positioning_parser(text: str) -> Any:
    """Return json5's own parser, changed to keep the offset of each key."""
    from json5 import lib

    parser: Any = cast("Any", lib).Parser(text, "")
    # json5 has no public access to the position of a key; `_member_` and `pos` come from its generated grammar.
    member = parser._member_

    def member_with_offset() -> None:
        start: int = parser.pos
        member()
        if not parser.failed:
            key, below = parser.val
            parser.val = [Name(key, start), below]

    parser._member_ = member_with_offset
    return parser


def parse_spans(text: str, file: str) -> Node:
    """Return the outermost object of a text with the offsets of all values below it, in objects only.

    Raises:
        ConfigError: The text is not JSON5, or not an object; the message starts with `file:line:column`.
    """
    if not isinstance(parse(text, file), dict):
        raise ConfigError(f"{file}:1:1: A configuration is an object in braces.")
    parser: Any = positioning_parser(text)
    member, value, spans = parser._member_, parser._value_, list[tuple[int, int]]()

    def value_with_span() -> None:
        start: int = parser.pos
        value()
        if not parser.failed:
            spans.append((start, parser.pos))

    def member_with_span() -> None:
        member()
        if not parser.failed:
            key, below = parser.val
            parser.val = [key, [_SPAN, *spans[-1], below]]

    parser._value_, parser._member_ = value_with_span, member_with_span
    tree, _, _ = parser.parse(global_vars={"_strict": False, "_consume_trailing": True})

    def node(span: tuple[int, int], key_start: int, below: Any) -> Node:
        if not (isinstance(below, list) and below[:1] == ["object"]):
            return Node(*span, key_start)
        members = {str(key): node((held[1], held[2]), key.offset, held[3]) for key, held in cast("Any", below[1])}
        return Node(*span, key_start, members, list(members))

    return node(spans[-1], 0, tree)


def to_python(tree: Any) -> Any:
    """Return the Python value of a node of json5's syntax tree."""
    match tree:
        case "None":
            return None
        case "True" | "False":
            return tree == "True"
        case ["object", members]:
            return {key: to_python(below) for key, below in members}
        case ["array", items]:
            return [to_python(item) for item in items]
        case ["number", text]:
            return parse_number(text)
        case [_, text]:
            return text
        case _:
            raise ValueError(f"{tree!r} is not a value")


def parse_number(text: str) -> int | float:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if digits in {"Infinity", "NaN"}:
        return sign * (math.inf if digits == "Infinity" else math.nan)
    if digits[:2].lower() == "0x":
        return sign * int(digits, 16)
    return sign * (float(digits) if set(digits) & set(".eE") else int(digits))
