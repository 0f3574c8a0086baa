"""Files that hold a secret: read only where nobody but this user can have written or read them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LONGEST = 1 << 16
"""Bytes of the largest file that is read."""
OPENING = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A symbolic link is refused, and a named pipe does not block."""
HAS_OWNERS = hasattr(os, "geteuid")
"""Whether files have an owner and permissions here; Windows keeps a person's folder from others by itself."""


def read_private(file: Path) -> bytes:
    """Return the content of a file that belongs to this user and that nobody else can read or write.

    Raises:
        PermissionError: other users own, read or write the file, or it is no regular file.
        OSError: the file cannot be opened or read.
    """
    descriptor = os.open(file, OPENING)
    try:
        status = os.fstat(descriptor)
        if fault := fault_of(status):
            raise PermissionError(f"{file} {fault}.")
        return os.read(descriptor, LONGEST)
    finally:
        os.close(descriptor)


def fault_of(status: os.stat_result) -> str:
    """Return what keeps a file from being private, as the rest of a sentence about it; empty if nothing does."""
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if not HAS_OWNERS:
        return ""
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be read or changed by other users" if status.st_mode & 0o077 else ""


def is_own_folder(folder: Path) -> bool:
    """Return whether a folder is there, belongs to this user, and only this user can add or remove files."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not HAS_OWNERS or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def write_new(file: Path, content: bytes) -> None:
    """Create a file that nobody else can read from its first byte on. Raises OSError, also if it is there."""
    with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
