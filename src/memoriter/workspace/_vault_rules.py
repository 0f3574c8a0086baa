"""What note programs exclude from their own searches: the excluded files of Obsidian, and Logseq's backups."""
# ruff: noqa: PTH118, PTH119 - plain strings throughout, as in a scan

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from memoriter.layout import VAULT
from memoriter.plain_file import read_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGSEQ = "logseq"
"""Folder with the settings and backups of Logseq."""
OBSIDIAN_FILE = f"{VAULT}/app.json"
_LONGEST_FILE = 1 << 20
_SECONDS = 0.05
"""Time for one regular expression and one path; a note that takes longer is left out."""


@dataclass(frozen=True, slots=True)
class VaultRules:
    """Beginnings of paths, and regular expressions, that exclude files, without regard to case."""

    reason: str
    prefixes: tuple[str, ...]
    expressions: tuple[str, ...] = ()
    rules: ClassVar[tuple[()]] = ()

    def decision(self, path: str, *, folder: bool) -> bool | None:
        """Return True if a path is excluded, or None."""
        name = f"{path}/".casefold() if folder else path.casefold()
        if name.startswith(self.prefixes):
            return True
        return True if any(_matches(each, path) for each in self.expressions) else None


def vault_rules(folder: str) -> Iterator[VaultRules]:
    """Yield the rules of the program whose folder of notes this is.

    Raises:
        OSError: the settings of Obsidian cannot be read.
        ValueError: they are not JSON, or a regular expression in them is not valid.
        TypeError: the excluded files are no list.
    """
    if os.path.basename(folder).lower() == LOGSEQ:
        yield VaultRules("a copy that Logseq keeps", ("bak/", "version-files/"))
    file = os.path.join(folder, OBSIDIAN_FILE)
    if os.path.lexists(file):
        filters = _obsidian_filters(read_plain(Path(file), _LONGEST_FILE))
        expressions = [each[1:-1] for each in filters if len(each) > 2 and each[0] == each[-1] == "/"]
        prefixes = [each.casefold() for each in filters if each[1:-1] not in expressions]
        for each in expressions:
            _matches(each, "")
        if filters:
            yield VaultRules("Obsidian excludes it", tuple(prefixes), tuple(expressions))


def _obsidian_filters(content: bytes) -> list[str]:
    import json

    settings: Any = json.loads(content)
    filters: Any = cast("dict[str, Any]", settings).get("userIgnoreFilters") if isinstance(settings, dict) else None
    if not isinstance(filters, list | None):
        raise TypeError("userIgnoreFilters is no list")
    return [each for each in cast("list[object]", filters or []) if isinstance(each, str) and each.strip()]


def _matches(expression: str, path: str) -> bool:
    """Return whether an expression matches a part of a path; True if it takes too long. Raises ValueError."""
    import regex

    try:
        return regex.search(expression, path, regex.IGNORECASE, timeout=_SECONDS) is not None
    except TimeoutError:
        return True
    except regex.error as error:
        raise ValueError(str(error)) from error
