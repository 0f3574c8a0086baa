"""The folder in which a session of a coding agent was started."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, cast

from memoriter import plain_file

_FIRST_LINES = 1 << 20
"""Bytes at the beginning of a transcript that are searched."""


def started_in(path: str) -> str | None:
    """Return the folder in which a session of Codex or Claude Code was started, from the first line that names one."""
    try:
        with plain_file.open_plain(Path(path)) as file:
            lines = file.read(_FIRST_LINES).splitlines()
    except OSError:
        return None
    for line in lines:
        if b'"cwd"' in line and (folder := _folder_of(line)):
            return os.path.normpath(folder)
    return None


def _folder_of(line: bytes) -> str | None:
    try:
        fields: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    payload: Any = cast("dict[str, Any]", fields).get("payload")
    folder: Any = cast("dict[str, Any]", payload if isinstance(payload, dict) else fields).get("cwd")
    return folder if isinstance(folder, str) else None
