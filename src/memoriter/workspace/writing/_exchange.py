"""Replace a note with a draft without losing the writes of programs that take no lock.

Such a program may append to the note, or save another file under its name, between our last check and the exchange.
Therefore the replaced file is checked once no program writes to it any more. Appended lines are added to the new
content; after any other change, the replaced file is restored. Drafts are hidden files next to the note: its new text
before it is in place, its old text until it is checked.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from memoriter.ids import bytes_hash
from memoriter.values import dataclass
from memoriter.workspace.writing._folder import has_name, is_written, read_all, wait_for_no_writer

if TYPE_CHECKING:
    from collections.abc import Generator

    from memoriter.workspace.writing._folder import Folder

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
            if target is not None:
                _keep_owner(descriptor, target)
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


def _keep_owner(descriptor: int, target: os.stat_result) -> None:
    """Give a draft the owner and the group of the file that it replaces, or only the group, where that is allowed."""
    if not hasattr(os, "fchown"):
        return
    for owner in (target.st_uid, -1):
        with suppress(OSError):
            os.fchown(descriptor, owner, target.st_gid)
            return


def _remove_draft(folder: Folder, hidden: str, draft: os.stat_result) -> None:
    status = folder.stat(hidden)
    if status is not None and os.path.samestat(status, draft):
        folder.unlink(hidden)


def _recover_lines(folder: Folder, name: str, entry: str, inode: int, size: int) -> None:
    """Append the bytes beyond `size` of a left file to the current file, if its inode is the one exchanged out."""
    status = folder.stat(entry)
    if status is None or status.st_ino != inode or status.st_size <= size or not stat.S_ISREG(status.st_mode):
        return
    descriptor = folder.open(entry, os.O_RDONLY)
    try:
        add_lines(folder, name, read_all(descriptor)[size:])
    finally:
        os.close(descriptor)


SETTLE_SECONDS = 2.0
"""Longest wait in seconds for a program that has the old file open for writing; after it, its file is restored."""


class ConcurrentWriteError(Exception):
    """Another program wrote to the file meanwhile, so the previous file was restored."""


def replace_file(folder: Folder, name: str, draft: Draft, *, old: int, before: bytes) -> None:
    """Replace a file with a draft.

    Args:
        folder: folder of both files.
        name: name of the file.
        draft: the new content.
        old: descriptor of the file, open for reading only, and locked.
        before: content of the file as it was just read.

    Raises:
        ConcurrentWriteError: other programs wrote to the file. It is, or contains, what they wrote, and the draft is
            gone.
    """
    if folder.exchange(name, draft.name):
        _check_replaced(folder, name, draft, old, before)
    else:
        _rename_over(folder, name, draft, old, before)


def remove_file(folder: Folder, name: str, draft: Draft, *, old: int, before: bytes) -> None:
    """Remove a file.

    Args:
        folder: folder of the file.
        name: name of the file.
        draft: an empty draft; the file has its name while it is checked.
        old: descriptor of the file, open for reading only, and locked.
        before: content of the file as it was just read.

    Raises:
        ConcurrentWriteError: other programs have written to the file or saved another one; it still exists.
    """
    folder.rename(name, draft.name)
    if has_name(folder, draft.name, old) and _wait_for_writers(draft, old) and read_all(old) == before:
        folder.unlink(draft.name)
        return
    try:
        folder.link(draft.name, name)
    except FileExistsError:  # a program that appends has created it again
        _merge_files(folder, name, draft)
    except OSError:  # a disk without hard links
        if folder.stat(name) is None:
            folder.rename(draft.name, name)
        else:
            _merge_files(folder, name, draft)
    else:
        folder.unlink(draft.name)
    raise ConcurrentWriteError("was written to by another program meanwhile")


def _wait_for_writers(draft: Draft, descriptor: int) -> bool:
    return wait_for_no_writer(descriptor, leases=draft.leases, seconds=SETTLE_SECONDS)


def _appended_lines(before: bytes, after: bytes) -> bytes | None:
    """Return the lines that were appended to a content, or None if it changed in another way."""
    at_line_start = not before or before.endswith(b"\n") or after[len(before) : len(before) + 1] in {b"\n", b""}
    return after[len(before) :] if at_line_start and after.startswith(before) else None


def _try_append(folder: Folder, name: str, lines: bytes) -> bool:
    """Append lines to the new content; return False if the disk has no room for them."""
    try:
        add_lines(folder, name, lines)
    except OSError:
        return False
    return True


def _check_replaced(folder: Folder, name: str, draft: Draft, old: int, before: bytes) -> None:
    """Check the replaced file, which has the draft's name after the exchange, and restore it if it changed."""
    if has_name(folder, draft.name, old) and _wait_for_writers(draft, old):
        lines = _appended_lines(before, read_all(old))
        if lines is not None and _try_append(folder, name, lines):
            folder.unlink(draft.name)
            return
    _restore(folder, name, draft)
    raise ConcurrentWriteError("was written to by another program meanwhile")


def _restore(folder: Folder, name: str, draft: Draft) -> None:
    """Exchange again until the name belongs to the last file that others saved, and keep lines added to the draft."""
    current = os.fstat(draft.descriptor)
    while True:
        restored = folder.stat(draft.name)
        try:
            folder.exchange(name, draft.name)
        except FileNotFoundError:  # another program has removed the draft from its place
            folder.rename(draft.name, name)
            return
        removed = folder.stat(draft.name)
        if removed is None or restored is None or os.path.samestat(removed, current):
            break
        current = restored
    if has_name(folder, draft.name, draft.descriptor):
        _wait_for_writers(draft, draft.descriptor)
        lines = _appended_lines(draft.content, read_all(draft.descriptor))
        if lines is not None:
            add_lines(folder, name, lines)
            return  # the context of the draft removes it
    _keep_conflict(folder, name, draft)


def _keep_conflict(folder: Folder, name: str, draft: Draft) -> None:
    """Keep content that several programs overwrote under a hidden name, and raise an error that names it."""
    kept_name = f".{name[:16]}.{os.urandom(6).hex()}.kept"
    with suppress(FileNotFoundError):
        folder.rename(draft.name, kept_name)
    raise ConcurrentWriteError(
        f"was written to by several programs at once; what it was between them is in {kept_name!r}"
    )


def _rename_over(folder: Folder, name: str, draft: Draft, old: int, before: bytes) -> None:
    """Rename the draft over the file, and give the file a second name until it is checked."""
    aside = f"{draft.name.removesuffix('.tmp')[:-12]}{os.urandom(6).hex()}.tmp"
    linked = True
    try:
        folder.link(name, aside)
    except OSError:  # a disk without hard links
        linked = False
    if linked and not has_name(folder, aside, old):
        folder.unlink(aside)
        raise ConcurrentWriteError("was saved by another program meanwhile")
    folder.rename(draft.name, name)
    settled, after = _wait_for_writers(draft, old), read_all(old)
    lines = _appended_lines(before, after) if settled else None
    if lines is not None:
        add_lines(folder, name, lines)
        folder.unlink(aside)
        return
    if linked:
        folder.rename(aside, name)
    else:
        with write_draft(folder, name, after, 0o600, final_mode=os.fstat(old).st_mode & 0o7777) as copy:
            folder.rename(copy.name, name)
    _wait_for_writers(draft, draft.descriptor)
    add_lines(folder, name, _appended_lines(draft.content, read_all(draft.descriptor)) or b"")
    raise ConcurrentWriteError("was written to by another program meanwhile")


def _merge_files(folder: Folder, name: str, draft: Draft) -> None:
    """Join the removed file, which has the draft's name, with a file that was created under its old name meanwhile."""
    folder.exchange(name, draft.name)  # the earlier content comes first, where names can be exchanged
    descriptor = folder.open(draft.name, os.O_RDONLY)
    try:
        _wait_for_writers(draft, descriptor)
        add_lines(folder, name, read_all(descriptor))
    finally:
        os.close(descriptor)
    folder.unlink(draft.name)
