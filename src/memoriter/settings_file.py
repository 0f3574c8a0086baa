"""Write settings into a configuration file; its comments and all its other text stay as they are."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memoriter.config import LONGEST_FILE, check_text, remove_value, set_value
from memoriter.errors import ConfigError, WriteConflict, sentence
from memoriter.ids import bytes_hash
from memoriter.layout import DAILY_NOTE
from memoriter.permissions import PRIVATE_FILE, make_private_folder
from memoriter.plain_file import read_plain
from memoriter.workspace import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TEMPLATE = """\
// The settings of this folder. Remove the // in front of a line to use it.
// `memoriter config set KEY VALUE --here` changes this file, and `memoriter config show` lists all settings.
{
  memory: {
    // Which Markdown files are memory: "notes": all of this folder; "openclaw": MEMORY.md and memory/.
    // "auto" decides by what the folder holds.
    layout: "auto",

    // Suffixes of files that are notes too, besides .md.
    // extraSuffixes: [".markdown", ".mdx", ".txt"],

    // The note of a day, to which `memoriter remember` adds.
    // dailyNote: "DAILY_NOTE",
  },
  memorySearch: {
    // More files and folders inside this folder.
    // extraPaths: ["docs"],

    query: {
      // Hits in an answer.
      // maxResults: 6,
    },
  },
}
""".replace("DAILY_NOTE", DAILY_NOTE)
"""The file that `memoriter init` writes into a folder of notes."""
_TRIES = 20
"""Attempts of a write that meets other processes. Each one changes only its own settings in what the others wrote."""


def write_settings(
    file: Path,
    values: Mapping[tuple[str, ...], Any],
    *,
    removed: Sequence[tuple[str, ...]] = (),
    workspace: Path | None = None,
    text: str | None = None,
) -> bool:
    """Set and remove settings in a file, which is created if it is missing.

    Args:
        file: The configuration file.
        values: The new values by the names that lead to a setting.
        removed: Settings to remove.
        workspace: The folder whose own file this is; None: it is the user's file, which only the owner can read.
        text: The text to begin with if the file does not exist.

    Returns:
        Whether the file was changed.

    Raises:
        ConfigError: The file or a value is not valid. Nothing was written.
        WriteError: The file cannot be written, or other processes change it again and again. It is as it was.
    """
    for _ in range(_TRIES - 1):
        with suppress(WriteConflict):
            return _write_once(file, values, removed, workspace, text)
    return _write_once(file, values, removed, workspace, text)


def _write_once(
    file: Path,
    values: Mapping[tuple[str, ...], Any],
    removed: Sequence[tuple[str, ...]],
    workspace: Path | None,
    text: str | None,
) -> bool:
    """Do what `write_settings` says. Raises WriteConflict if another process wrote meanwhile."""
    try:
        content: bytes | None = read_plain(file, LONGEST_FILE, follow=workspace is None)
        before = (content or b"").decode("utf-8")
    except FileNotFoundError:
        content = None
        before = ""
    except (OSError, UnicodeDecodeError) as error:
        reason = sentence(getattr(error, "strerror", None) or "It is not UTF-8 text")
        raise ConfigError(f"{file} cannot be read: {reason}", remedy="Nothing was written.") from error
    mark = "\ufeff" if before.startswith("\ufeff") else ""
    crlf = "\r\n" in before
    after = (text if content is None and text is not None else before.removeprefix(mark)).replace("\r\n", "\n")
    for names in removed:
        after = remove_value(after, names, str(file))
    for names, value in values.items():
        after = set_value(after, names, value, str(file))
    _check(after, before.removeprefix(mark), file, workspace)
    after = mark + (after.replace("\n", "\r\n") if crlf else after)
    if content is not None and after == before:
        return False
    if workspace is None:
        make_private_folder(file.parent)
    replace(
        file.resolve() if workspace is None else file,
        after,
        expected=None if content is None else bytes_hash(content),
        mode=PRIVATE_FILE if workspace is None else 0o666,
    )
    return True


def _check(after: str, before: str, file: Path, workspace: Path | None) -> None:
    """Check the new text of a file. Raises ConfigError, about the new values if the old text was valid."""
    try:
        check_text(after, file, workspace=workspace)
    except ConfigError as error:
        try:
            check_text(before, file, workspace=workspace)
        except ConfigError:
            raise error from None
        place = re.compile(rf"^{re.escape(str(file))}(?::\d+:\d+)?: ", re.MULTILINE)
        raise ConfigError(place.sub("", error.message), remedy="Nothing was written. Give another value.") from error
