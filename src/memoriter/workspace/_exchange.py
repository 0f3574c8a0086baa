"""Replace a note with a draft without losing the writes of programs that take no lock.

Such a program may append to the note, or save another file under its name, between our last check and the exchange.
Therefore the replaced file is checked once no program writes to it any more. Appended lines are added to the new
content; after any other change, the replaced file is restored.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from memoriter.workspace._drafts import Draft, add_lines, write_draft
from memoriter.workspace._locks import has_name, read_all, wait_for_no_writer

if TYPE_CHECKING:
    from memoriter.workspace._folder import Folder

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
        if folder.look(name) is None:
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
        restored = folder.look(draft.name)
        try:
            folder.exchange(name, draft.name)
        except FileNotFoundError:  # another program has removed the draft from its place
            folder.rename(draft.name, name)
            return
        removed = folder.look(draft.name)
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
