"""Copies of notes that sync programs make when two machines change one note. The note itself is next to them."""
# ruff: noqa: PTH118, PTH120, PTH119 - plain strings throughout, as in a scan

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from memoriter.plain_file import read_plain

_CERTAIN = re.compile(
    r"\.sync-conflict-"  # Syncthing
    r"|[\[(][^()\[\]]*conflict(?:ed|ing)? copy|_conflict(?:ed)?[_ ]copy"  # Dropbox, Nextcloud, Obsidian Sync
    r"|\((?:case|selective sync|unicode encoding|whitespace) conflict"  # Dropbox
    r"|\((?:[^()]* )?(?:in konflikt stehende kopie|copie en conflit|copia en conflicto|copia in conflitto"
    r"|cópia em conflito|conflicterende kopie|конфликтующая копия|[^()]*(?:競合コピー|冲突副本|衝突複本|충돌 ?사본))"
    r"|_conflict-\d{8}-\d{6}"  # ownCloud
    r"|_[a-z]{3}-\d\d-\d{4,6}-\d{4}_conflict"  # Synology Drive
    r"|\(sfconflict "  # Seafile
    r"|\[conflict(?:ed)?\]|\(conflicted\)"  # Google Drive, pCloud
    r"|\.conflict(?:\(\d+\))?\."  # Resilio Sync
    r"|_(?:backup|base|local|remote)_\d{2,}\.",  # git mergetool
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"(?P<stem>.+?)(?: \(\d{1,3}\)"  # Google Drive
    r"|-(?:DESKTOP|LAPTOP|WIN|PC|SURFACE)-[A-Z0-9]{3,15}(?:-\d)?"  # OneDrive, after the name of a computer
    r"|-[\w-]{0,20}(?:MacBook|iMac|Mac-mini)[\w-]{0,20}"
    r"|(?P<numbered> [2-9]))(?P<suffix>\.\w+)"  # iCloud
)
"""Names that only the note next to them makes copies."""
_MOST_BYTES = 1 << 20


def is_sync_copy(name: str) -> bool:
    """Return whether a sync program certainly gave a file its name."""
    return _CERTAIN.search(name) is not None


def sync_copy_of(original: str) -> str:
    """Return why a copy of a note is left out."""
    return f"it looks like a copy of {original!r} that a sync tool left behind"


def original_beside(file: str) -> str | None:
    """Return the name of the note that a file is a copy of, if that note is next to it; else None.

    `Plan 2.md` may be a note of its own. It is a copy if the note has half of its lines, not counting headings.

    Args:
        file: path on disk.
    """
    match = _BESIDE.fullmatch(os.path.basename(file))
    if match is None:
        return None
    name = match["stem"] + match["suffix"]
    original = os.path.join(os.path.dirname(file), name)
    try:
        stamps = [(status.st_mtime_ns, status.st_size) for status in map(os.lstat, (file, original))]
    except (OSError, ValueError):
        return None
    return name if not match["numbered"] or _has_half(file, original, *stamps) else None


@lru_cache(maxsize=1_024)
def _has_half(file: str, original: str, *_stamps: tuple[int, int]) -> bool:
    """Return whether a note has half of the lines of a file; the stamps tell one state of the two from another."""
    try:
        copied, own = (_lines(read_plain(Path(path), _MOST_BYTES)) for path in (file, original))
    except OSError:
        return False
    return bool(copied) and 2 * sum(line in own for line in copied) >= len(copied)


def _lines(content: bytes) -> list[bytes]:
    lines = (line.strip() for line in content.splitlines())
    return [line for line in lines if line and not line.startswith(b"#")]
