"""A JSON5 parser that keeps the position of each key in the text."""

from __future__ import annotations

import math
from typing import Any, Self, cast

from memoriter.errors import ConfigError, sentence


class Name(str):
    """A key of an object, with its offset in the text in characters. It equals the plain string."""

    __slots__ = ("offset",)

    def __new__(cls, text: str, offset: int) -> Self:
        name = super().__new__(cls, text)
        name.offset = offset
        return name

    offset: int


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
