"""Read the configuration files of other programs."""

from __future__ import annotations

import os
from pathlib import Path

from memoriter.errors import ConfigError, sentence
from memoriter.plain_file import read_plain

BYTE_ORDER_MARK = "\ufeff"
LONGEST = 64 * 1024 * 1024
"""Bytes of a configuration file; Claude Code's holds the history of every project."""


def read_text(file: Path) -> tuple[bytes | None, str, str]:
    """Return the content of a configuration file, or None if it is missing; its text; and its byte order mark.

    Raises:
        ConfigError: the file cannot be read, or is not UTF-8.
    """
    try:
        content = read_plain(Path(os.path.realpath(file)), LONGEST)
    except FileNotFoundError:
        content = None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {sentence(error.strerror)}") from error
    try:
        text = (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: This is not UTF-8 text.", remedy="Nothing was written.") from error
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    return content, text.removeprefix(BYTE_ORDER_MARK), mark
