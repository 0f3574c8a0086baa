"""Files with a secret, which are read only if no other user can have read or written them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from memoriter.permissions import HAS_MODES, OTHERS, open_private
from memoriter.plain_file import open_plain

if TYPE_CHECKING:
    from pathlib import Path

LONGEST = 1 << 16
"""Maximum number of bytes that are read."""


def read_private(file: Path) -> bytes:
    """Return the content of a file that belongs to this user and that no other user can read or write.

    Raises:
        PermissionError: another user owns the file, or other users can read or write it.
        OSError: it is not a regular file, or it cannot be opened or read.
    """
    with open_plain(file) as opened:
        if fault := privacy_fault(os.fstat(opened.fileno())):
            raise PermissionError(f"{file} {fault}.")
        return opened.read(LONGEST)


def privacy_fault(status: os.stat_result) -> str:
    """Return why a file is not private, as the predicate of a sentence, or an empty string if it is private."""
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if not HAS_MODES:
        return ""
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be read or changed by other users" if status.st_mode & OTHERS else ""


def is_own_folder(folder: Path) -> bool:
    """Return whether a folder exists, belongs to this user, and only this user can add or remove files."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not HAS_MODES or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def write_new(file: Path, content: bytes) -> None:
    """Create a file that no other user can ever read. Raises OSError, also if the file exists."""
    with open(file, "xb", opener=open_private) as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
