"""Edit one table of a TOML text and keep everything else.

A table is appended and removed as text because tomlkit takes the comments and the blank lines before the next table
for those of the table that it removes.
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memoriter.errors import ConfigError, sentence

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_HEADER = re.compile(r"[ \t]*\[")
_BLANK_OR_COMMENT = re.compile(r"[ \t]*(?:#.*)?\Z")


def read(text: str, name: str) -> dict[str, Any]:
    """Return the values of a TOML text. Raises ConfigError: the text is not TOML; the message names the position."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _not_toml(name, error) from error


def put(
    text: str, name: str, path: tuple[str, str], values: Mapping[str, Any], *, without: Collection[str] = ()
) -> str:
    """Return the text with these values in the table at a path; other keys of that table stay.

    The names in the path have letters, digits, `-` and `_`; the values are texts, lists of texts, and objects of texts.
    Keys in `without` are removed. Messages name the file.

    Raises:
        ConfigError: the text is not TOML, or the path holds another kind of value.
    """
    import tomlkit
    from tomlkit.items import InlineTable

    document: Any = _parse(text, name)
    outer, inner = path
    parent = document.get(outer)
    if parent is None or (
        _check_table(parent, name, outer) and inner not in parent and not _is_instance(parent, InlineTable)
    ):
        return _check_parses(_append_table(text, path, values), name)
    if inner not in parent:
        parent[inner] = tomlkit.inline_table()
    table = parent[inner]
    _check_table(table, name, f"{outer}.{inner}")
    for key, value in values.items():
        if _unwrap(table.get(key)) != value:
            table[key] = _item(value)
    for key in without:
        if key in table:
            del table[key]
    return _check_parses(tomlkit.dumps(document), name)


def remove(text: str, name: str, path: tuple[str, str]) -> str:
    """Return the text without the table at a path, which is there, and without the outer one if this empties it.

    Raises ConfigError: the text is not TOML.
    """
    import tomlkit

    document: Any = _parse(text, name)
    outer, inner = path
    del document[outer][inner]
    if not document[outer]:
        del document[outer]
    expected = _unwrap(document)
    for candidate in _removal_candidates(text, path):
        with suppress(ConfigError):
            if _unwrap(_parse(candidate, name)) == expected:
                return candidate
    return _check_parses(tomlkit.dumps(document), name)


def _append_table(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """Return the text with the table at its end."""
    import tomlkit

    table = tomlkit.table()
    for key, value in values.items():
        table[key] = _item(value)
    block = f"[{'.'.join(path)}]\n{table.as_string()}"
    newline = "\r\n" if "\r\n" in text else "\n"
    existing = text if not text or text.endswith("\n") else f"{text}{newline}"
    return f"{existing}{newline if existing else ''}{block.replace(chr(10), newline)}"


def _removal_candidates(text: str, path: tuple[str, str]) -> Iterator[str]:
    """Return the text without the lines of the table, for every line that looks like its header."""
    own_header = re.compile(rf"[ \t]*\[{re.escape('.'.join(path))}(?:\.[^\]]*)?\]")
    lines = text.splitlines(keepends=True)
    for start in (number for number, line in enumerate(lines) if own_header.match(line)):
        end = start + 1
        while end < len(lines) and (own_header.match(lines[end]) or not _HEADER.match(lines[end])):
            end += 1
        while _BLANK_OR_COMMENT.match(lines[end - 1].rstrip("\r\n")):  # these comments belong to the next table
            end -= 1
        drop_blank = end == len(lines) and start and not lines[start - 1].strip()  # `put` added it
        yield "".join([*lines[: start - 1 if drop_blank else start], *lines[end:]])


def _item(value: Any) -> Any:
    import tomlkit

    if not isinstance(value, dict):
        return value
    table: Any = tomlkit.inline_table()
    table.update(value)
    return table


def _is_instance(value: Any, kind: type) -> bool:
    return isinstance(value, kind)


def _check_table(value: Any, name: str, key: str) -> bool:
    """Return True if a value is a table. Raises ConfigError: the value is not a table."""
    if not hasattr(value, "keys"):
        raise ConfigError(f"{name}: {key} is not a table.", remedy="Nothing was written. Correct the file and retry.")
    return True


def _unwrap(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value


def _parse(text: str, name: str) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise _not_toml(name, error) from error


def _not_toml(name: str, error: Exception) -> ConfigError:
    message = f"{name}: This is not TOML: {sentence(error)}"
    return ConfigError(message, remedy="Nothing was written. Correct the file and retry.")


def _check_parses(text: str, name: str) -> str:
    """Return the text after a check that it can be parsed again."""
    _parse(text, name)
    return text
