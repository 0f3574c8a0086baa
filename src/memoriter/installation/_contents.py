"""Read configuration files of other programs, and compare what they hold: values and comments, whatever the layout."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from memoriter import json_text
from memoriter.errors import ConfigError, sentence
from memoriter.installation import _yaml_text
from memoriter.plain_file import read_plain

if TYPE_CHECKING:
    from pathlib import Path

BYTE_ORDER_MARK = "\ufeff"
LONGEST = 64 * 1024 * 1024
"""Bytes of a configuration file; Claude Code's holds the history of every project."""


def read_text(file: Path) -> tuple[bytes | None, str, str]:
    """Return the content of a configuration file, or None if it is missing; its text; and its byte order mark.

    Raises ConfigError: the file cannot be read, or is not UTF-8.
    """
    try:
        content = read_plain(file, LONGEST, follow=True)
    except FileNotFoundError:
        content = None
    except OSError as error:
        message = f"{file} cannot be read: {sentence(error.strerror)}"
        raise ConfigError(message, remedy="Nothing was written. Put a file in its place that you can read.") from error
    try:
        text = (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: This is not UTF-8 text.", remedy="Nothing was written.") from error
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    return content, text.removeprefix(BYTE_ORDER_MARK), mark


def same_but_for_layout(original: str, text: str, file: Path) -> bool:
    """Return whether a text has the values and comments of the original, and no others.

    It may lack null and empty values of the original, which an edit may take.
    """
    before = _values(original, file)
    after = _values(text, file)
    same = _holds(before, after) and _holds(_without_empty(after), _without_empty(before))  # unlike ==, true is not 1
    return same and _comments(original, file) == _comments(text, file)


def is_empty(text: str, file: Path) -> bool:
    """Return whether a text has no values and no comments."""
    return not _values(text, file) and not _comments(text, file)


def lacks(text: str, original: str, file: Path) -> bool:
    """Return whether a text lacks a value or a comment of the original; what was added to it does not count."""
    missing = Counter(_comments(original, file)) - Counter(_comments(text, file))
    return bool(missing) or not _holds(_values(text, file), _values(original, file))


def _values(text: str, file: Path) -> Any:
    """Return the values of a configuration file; its lines if it is malformed."""
    plain = text.removeprefix(BYTE_ORDER_MARK)
    name = str(file)
    try:
        if file.suffix == ".toml":
            return tomllib.loads(plain)
        if file.suffix == ".yaml":
            return _yaml_text.read(plain, name)
        return json_text.parse(plain if plain.strip() else "{}", name, comments=True)
    except (ValueError, ConfigError):
        return text.splitlines()


def _comments(text: str, file: Path) -> list[str]:
    """Return the comments of a configuration file; of TOML and YAML, the lines that may hold one."""
    if file.suffix not in {".toml", ".yaml"}:
        return json_text.comments(text)
    return sorted(line.strip() for line in text.splitlines() if "#" in line)


def _holds(value: Any, original: Any) -> bool:
    """Return whether a value has all keys of the original, and all items of its lists in their order."""
    if isinstance(original, dict):
        if not isinstance(value, dict):
            return False
        mine = cast("dict[str, Any]", value)
        members = cast("dict[str, Any]", original)
        return all(key in mine and _holds(mine[key], each) for key, each in members.items())
    if isinstance(original, list):
        if not isinstance(value, list):
            return False
        left = iter(cast("list[Any]", value))
        return all(any(_holds(each, item) for each in left) for item in cast("list[Any]", original))
    return type(value) is type(original) and value == original


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        members = {key: _without_empty(each) for key, each in cast("dict[str, Any]", value).items()}
        return {key: each for key, each in members.items() if each not in ({}, [], None)}
    return [_without_empty(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value
