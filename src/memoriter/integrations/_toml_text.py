"""Changes of one table in a TOML text that keep everything else: a new table is put at the end, as text."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memoriter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_HEADER = re.compile(r"[ \t]*\[")
_IDLE = re.compile(r"[ \t]*(?:#.*)?\Z")


def put(
    text: str, name: str, path: tuple[str, str], values: Mapping[str, Any], *, without: Collection[str] = ()
) -> str:
    """The text with these values in the table at a path; other keys of that table stay.

    Args:
        text: TOML.
        name: of the file, for messages.
        path: names of letters, digits, `-` and `_`.
        values: texts, lists of texts, and objects of texts.
        without: keys that the table must not have.

    Raises:
        ConfigError: the text is no TOML, or something else is at the path.
    """
    import tomlkit
    from tomlkit.items import InlineTable

    document: Any = _parsed(text, name)
    outer, inner = path
    parent = document.get(outer)
    if parent is None or (_is_table(parent, name, outer) and inner not in parent and not _within(parent, InlineTable)):
        return _checked(_appended(text, path, values), name)
    if inner not in parent:
        parent[inner] = tomlkit.inline_table()
    table = parent[inner]
    _is_table(table, name, f"{outer}.{inner}")
    for key, value in values.items():
        if _plain(table.get(key)) != value:
            table[key] = _item(value)
    for key in without:
        if key in table:
            del table[key]
    return _checked(tomlkit.dumps(document), name)


def remove(text: str, name: str, path: tuple[str, str]) -> str:
    """The text without the table at a path; as it is if there is none. Raises ConfigError where it is no TOML."""
    import tomlkit

    document: Any = _parsed(text, name)
    outer, inner = path
    if inner not in _plain(document).get(outer, {}):
        return text
    del document[outer][inner]
    if not document[outer]:
        del document[outer]
    meant = _plain(document)
    for cut in _cuts(text, path):
        with suppress(ConfigError):
            if _plain(_parsed(cut, name)) == meant:
                return cut
    return _checked(tomlkit.dumps(document), name)


def _appended(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    import tomlkit

    table = tomlkit.table()
    for key, value in values.items():
        table[key] = _item(value)
    block = f"[{'.'.join(path)}]\n{table.as_string()}"
    line = "\r\n" if "\r\n" in text else "\n"
    before = text if not text or text.endswith("\n") else f"{text}{line}"
    return f"{before}{line if before else ''}{block.replace(chr(10), line)}"


def _cuts(text: str, path: tuple[str, str]) -> Iterator[str]:
    """The text without the lines of the table, for every line that looks like its beginning."""
    own = re.compile(rf"[ \t]*\[{re.escape('.'.join(path))}(?:\.[^\]]*)?\]")
    lines = text.splitlines(keepends=True)
    for start in (number for number, line in enumerate(lines) if own.match(line)):
        end = start + 1
        while end < len(lines) and (own.match(lines[end]) or not _HEADER.match(lines[end])):
            end += 1
        while _IDLE.match(lines[end - 1].rstrip("\r\n")):  # what follows owns the comments before it
            end -= 1
        blank = end == len(lines) and start and not lines[start - 1].strip()  # it came with the table
        yield "".join([*lines[: start - 1 if blank else start], *lines[end:]])


def _item(value: Any) -> Any:
    import tomlkit

    if not isinstance(value, dict):
        return value
    table: Any = tomlkit.inline_table()
    table.update(value)
    return table


def _within(value: Any, kind: type) -> bool:
    return isinstance(value, kind)


def _is_table(value: Any, name: str, key: str) -> bool:
    if not hasattr(value, "keys"):
        raise ConfigError(f"{name}: {key} is not a table", remedy="Nothing was written. Mend the file, and try again.")
    return True


def _plain(value: Any) -> Any:
    return value.unwrap() if hasattr(value, "unwrap") else value


def _parsed(text: str, name: str) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigError(
            f"{name}: this is not TOML: {error}", remedy="Nothing was written. Mend the file, and try again."
        ) from error


def _checked(text: str, name: str) -> str:
    """The text, once it is clear that it can be read again."""
    _parsed(text, name)
    return text
