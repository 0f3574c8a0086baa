"""Read the configuration files of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.errors import ConfigError, sentence
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
