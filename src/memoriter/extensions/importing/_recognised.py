"""Recognise which program has written an export that was given for another one."""

from __future__ import annotations

import re
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from memoriter.errors import MemoriterError
from memoriter.extensions.importing._files import open_files
from memoriter.extensions.importing._records import Entry, Original, Page
from memoriter.extensions.importing._sources import records_of
from memoriter.extensions.importing.formats import FORMATS

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.extensions.importing._records import Format

_BY_CONTENT = ("memoriter", "chatgpt", "claude", "gemini-takeout", "claude-mem", "mem0", "openclaw", "jsonl")
"""Formats that read nothing of another program, the most particular first; those of Markdown files read any."""
_FIRST_RECORDS = 20
_LIST = re.compile(r"(?:.*/)?notes\.jsonl")
_NOTION_PAGE = re.compile(r".* [0-9a-f]{32}\.(?:md|html)", re.IGNORECASE)


def recognise(path: Path, given: str) -> str | None:
    """Return the format of an export, if it is certain and not the given one; else None."""
    if given == "memoriter" and _has_file(path, _LIST):  # it is damaged
        return None
    found = next((name for name in _BY_CONTENT if name != given and _reads(FORMATS[name], path)), None)
    if found is None and given != "obsidian" and (path / ".obsidian").is_dir():
        return "obsidian"
    if found is None and given != "notion" and _has_file(path, _NOTION_PAGE):
        return "notion"
    return found


def _reads(form: Format, path: Path) -> bool:
    """Return whether a format finds text at the beginning of an export."""
    try:
        with open_files(path, form.inner) as files, closing(records_of(form, files, own=False, name="")) as records:
            return any(isinstance(record, Page | Entry | Original) for record in islice(records, _FIRST_RECORDS))
    except (MemoriterError, OSError):
        return False


def _has_file(path: Path, pattern: re.Pattern[str]) -> bool:
    try:
        with open_files(path, FORMATS["notion"].inner) as files:
            return any(pattern.fullmatch(name) for name in files.names)
    except (MemoriterError, OSError):
        return False
