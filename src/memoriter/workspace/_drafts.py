"""Write hidden files next to a note: its new content before it is in place, its old content until it is checked."""

from __future__ import annotations

import os
import re
import stat
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from memoriter.ids import bytes_hash
from memoriter.values import dataclass
from memoriter.workspace._locks import has_name, is_written, read_all

if TYPE_CHECKING:
    from collections.abc import Generator

    from memoriter.workspace._folder import Folder

_LONGEST_LABEL = 80


@dataclass(frozen=True, slots=True)
class Draft:
    """Content in a hidden file of the folder, synced to the disk and open for reading."""

    name: str
    descriptor: int
    content: bytes
    leases: bool
    """True if `is_written` is reliable on this disk: it reported no writer of the draft, which has none."""


@contextmanager
def write_draft(
    folder: Folder,
    name: str,
    content: bytes,
    mode: int,
    *,
    final_mode: int | None = None,
    target: os.stat_result | None = None,
) -> Generator[Draft]:
    """Write content to a hidden file, and remove the file afterwards if it still has its name.

    Args:
        folder: folder of the hidden file.
        name: name of the file that the content is for.
        content: the bytes to write.
        mode: permissions from the first byte on, before the umask.
        final_mode: permissions once the content is complete, regardless of the umask.
        target: stat of the file that the draft will be exchanged with. The hidden name contains its inode and size, so
            that `sweep` can recognise what a killed process left there.
    """
    target_id = "" if target is None else f"{target.st_ino:x}-{target.st_size:x}."
    hidden_name = f".{_hidden_label(name)}.{target_id}{os.urandom(6).hex()}.tmp"
    with ExitStack() as stack:
        descriptor = folder.open(hidden_name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        stack.callback(_remove_draft, folder, hidden_name, os.fstat(descriptor))
        try:
            write_all(descriptor, content)
            if final_mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, final_mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        reading = folder.open(hidden_name, os.O_RDONLY)
        stack.callback(os.close, reading)
        # Once the draft is in place, a program that appends must wait until the exchange is complete.
        with suppress(ImportError, OSError):
            import fcntl

            fcntl.flock(reading, fcntl.LOCK_EX)
        yield Draft(hidden_name, reading, content, is_written(reading) is False)


def sweep(folder: Folder, name: str) -> None:
    """Remove the files that a killed process left of a replacement.

    We hold the lock, so no other process is replacing the file now. Lines that another program had added to a file
    that was exchanged out are added to the current file.
    """
    pattern = re.compile(rf"\.{re.escape(_hidden_label(name))}\.(?:([0-9a-f]+)-([0-9a-f]+)\.)?[0-9a-f]{{12}}\.tmp")
    for entry in folder.names():
        if match := pattern.fullmatch(entry):
            with suppress(OSError):
                if match[1]:
                    _recover_lines(folder, name, entry, int(match[1], 16), int(match[2], 16))
                folder.unlink(entry)


def add_lines(folder: Folder, name: str, lines: bytes) -> None:
    """Append lines of another program to the file that still has the name once they are on the disk."""
    while lines:
        descriptor = folder.open(name, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            content = read_all(descriptor)
            needs_newline = content and not content.endswith(b"\n") and not lines.startswith(b"\n")
            write_all(descriptor, b"\n" + lines if needs_newline else lines)
            os.fsync(descriptor)
            if has_name(folder, name, descriptor):
                return
        finally:
            os.close(descriptor)


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of the content, in one write if the system accepts it."""
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def _hidden_label(name: str) -> str:
    """Return the form of the name in hidden names, shortened if it is too long."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST_LABEL else f"{name[:16]}-{bytes_hash(encoded)[:16]}"


def _remove_draft(folder: Folder, hidden: str, draft: os.stat_result) -> None:
    status = folder.look(hidden)
    if status is not None and os.path.samestat(status, draft):
        folder.unlink(hidden)


def _recover_lines(folder: Folder, name: str, entry: str, inode: int, size: int) -> None:
    """Append the bytes beyond `size` of a left file to the current file, if its inode is the one exchanged out."""
    status = folder.look(entry)
    if status is None or status.st_ino != inode or status.st_size <= size or not stat.S_ISREG(status.st_mode):
        return
    descriptor = folder.open(entry, os.O_RDONLY)
    try:
        add_lines(folder, name, read_all(descriptor)[size:])
    finally:
        os.close(descriptor)
