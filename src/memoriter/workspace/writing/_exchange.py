"""Replace a note with a draft without losing the writes of programs that take no lock.

Such a program may append to the note, or save another file under its name, between our last check and the exchange.
Therefore the file that was exchanged out is checked once no program writes to it any more. Appended lines are added to
the new content; after any other change, the file is put back.

Until it is checked, that file has a hidden name next to the note. The name records what the check compares, so that
`finish` needs nothing else: it does for the leftovers of a killed process, which `recover` finds, what it does for our
own.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoriter.errors import MemoriterError
from memoriter.ids import bytes_hash
from memoriter.types import Diagnostic
from memoriter.values import dataclass
from memoriter.workspace.writing._folder import (
    has_name,
    is_written,
    open_folder,
    open_locked,
    read_all,
    wait_for_no_writer,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from memoriter.workspace.writing._folder import Folder

_LONGEST_LABEL = 100
_RANDOM = "[0-9a-f]{12}"
_VERSION = "([0-9a-f]+)-([0-9a-f]{12})"
_NAME = re.compile(rf"\.(.+)\.(?:new|old-([0-9a-f]+)-{_VERSION}(?:-{_VERSION})?)-{_RANDOM}\.tmp", re.DOTALL)
_KEPT = re.compile(rf"\.(.+?)(?:\.[0-9a-f]+-[0-9a-f]+)?\.{_RANDOM}\.(?:kept|tmp)", re.DOTALL)
"""A file that is kept for the owner; `.tmp`: one of an earlier version, whose name records too little to check it."""


@dataclass(frozen=True, slots=True)
class Version:
    """A content, by its size and the beginning of its hash."""

    size: int
    hash: str

    @classmethod
    def of(cls, content: bytes) -> Version:
        """Return the version that a content is."""
        return cls(len(content), bytes_hash(content)[:12])

    def lines_after(self, content: bytes) -> bytes | None:
        """Return the lines that were appended to this version, or None if it changed in another way."""
        before = content[: self.size]
        after = content[self.size :]
        if Version.of(before) != self:
            return None
        at_line_start = not before or before.endswith(b"\n") or after[:1] in {b"\n", b""}
        return after if at_line_start else None


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the name of a hidden file records."""

    file: str
    """The hidden name itself."""
    name: str
    """Name of the note."""
    inode: int = 0
    old: Version | None = None
    """The content of the note before, which has that inode. None for a draft, and for a kept file."""
    new: Version | None = None
    """The content that replaces it; None if the note is removed."""
    kept: bool = False
    """Whether it is for the owner to look at: nothing else is known of it."""

    @classmethod
    def draft(cls, name: str) -> Hidden:
        """Return a name for new content that is not in its place yet."""
        return cls(f".{_label(name)}.new-{os.urandom(6).hex()}.tmp", name)

    @classmethod
    def out(cls, name: str, inode: int, old: Version, new: Version | None) -> Hidden:
        """Return a name for the content of a note while it is replaced or removed."""
        versions = "-".join(f"{version.size:x}-{version.hash}" for version in (old, new) if version is not None)
        file = f".{_label(name)}.old-{inode:x}-{versions}-{os.urandom(6).hex()}.tmp"
        return cls(file, name, inode, old, new)


def hidden_files(folder: Folder, note: str | None = None) -> list[Hidden]:
    """Return the hidden files of replacements and removals in a folder, or those of one note.

    Those of processes that are still at work are among them.
    """
    names = folder.names()
    hidden = [each for name in names if name.startswith(".") and (each := _parse(name)) is not None]
    if note is not None:
        return [replace(each, name=note) for each in hidden if each.name == _label(note)]
    full = {_label(name): name for name in names} if hidden else {}
    return [replace(each, name=full.get(each.name, each.name)) for each in hidden]


def kept_name(name: str) -> str:
    """Return a hidden name for content that is kept for the owner."""
    return f".{_label(name)}.{os.urandom(6).hex()}.kept"


def _parse(file: str) -> Hidden | None:
    if match := _NAME.fullmatch(file):
        label, inode, old_size, old_hash, new_size, new_hash = match.groups()
        old = Version(int(old_size, 16), old_hash) if old_size else None
        new = Version(int(new_size, 16), new_hash) if new_size else None
        return Hidden(file, label, int(inode or "0", 16), old, new)
    match = _KEPT.fullmatch(file)
    return Hidden(file, match[1], kept=True) if match else None


def _label(name: str) -> str:
    """Return the form of the name in hidden names, shortened if it is too long."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST_LABEL else f"{name[:16]}-{bytes_hash(encoded)[:16]}"


SETTLE_SECONDS = 2.0
"""Longest wait in seconds for a program that has the old file open for writing; after it, its file is put back."""


class ConcurrentWriteError(Exception):
    """Another program wrote to the file meanwhile; the file is, or contains, what that program wrote."""


@dataclass(slots=True)
class Draft:
    """Content in a hidden file of the folder, synced to the disk and open for reading."""

    name: str
    descriptor: int
    content: bytes
    leases: bool
    """True if `is_written` is reliable on this disk: it reported no writer of the draft, which has none."""
    placed: bool = False
    """Whether the draft has been in the place of the note, where others may have written to it."""


@contextmanager
def write_draft(
    folder: Folder, name: str, content: bytes, mode: int, *, like: os.stat_result | None = None
) -> Generator[Draft]:
    """Write content to a hidden file, and remove the file afterwards if it was not put in its place.

    `mode` are its permissions from the first byte on, before the umask. Then it gets the owner, the group and the
    permissions of the file that it replaces, whose stat is `like`.
    """
    hidden = Hidden.draft(name).file
    with ExitStack() as stack:
        descriptor = folder.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            draft = Draft(hidden, folder.open(hidden, os.O_RDONLY), content, leases=False)
            stack.callback(os.close, draft.descriptor)
            stack.callback(_remove_draft, folder, draft)
            # The lock shows that we are at work. Once the draft is in place, it also stops programs that append.
            with suppress(ImportError, OSError):
                import fcntl

                fcntl.flock(draft.descriptor, fcntl.LOCK_EX)
            write_all(descriptor, content)
            if like is not None:
                _keep_owner(descriptor, like)
            if like is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        draft.leases = is_written(draft.descriptor) is False
        yield draft


def _remove_draft(folder: Folder, draft: Draft) -> None:
    if not draft.placed and has_name(folder, draft.name, draft.descriptor):
        folder.unlink(draft.name)


def replace_file(folder: Folder, name: str, draft: Draft, *, old: int, before: bytes) -> None:
    """Replace a file with a draft.

    `old` is the descriptor of the file, open for reading only and locked, and `before` its content as it was just read.

    Raises:
        ConcurrentWriteError: other programs wrote to the file. It is, or contains, what they wrote, and the draft is
            gone.
    """
    out = Hidden.out(name, os.fstat(old).st_ino, Version.of(before), Version.of(draft.content))
    folder.rename(draft.name, out.file)
    draft.name = out.file
    swapped = _swap(folder, out)
    if swapped is None:
        _replace_without_links(folder, name, draft, old, before)
        return
    draft.placed = True
    _require_finished(finish(folder, swapped, leases=draft.leases))


def remove_file(folder: Folder, name: str, draft: Draft, *, old: int, before: bytes) -> None:
    """Remove a file.

    The empty `draft` shows whether the disk reports writers. `old` and `before` are as for `replace_file`.

    Raises:
        ConcurrentWriteError: other programs have written to the file or saved another one; it still exists.
    """
    out = Hidden.out(name, os.fstat(old).st_ino, Version.of(before), None)
    folder.rename(name, out.file)
    _require_finished(finish(folder, out, leases=draft.leases))


Outcome = Literal["done", "added", "undone", "restored", "kept", "open", "busy", "gone"]
"""What became of a hidden file.

done: it was as expected, and is deleted. added: likewise, and lines that others had appended are in the note. undone:
the note had not been replaced yet, and the file is deleted. restored: another program had changed it or has it open,
and the note is that file again. kept: the note had changed as well, so the file has a name ending in `.kept`. open: it
stays, because another program writes to it. busy: it stays, because a process of ours is at work on it, or the disk
refuses. gone: another process has finished it.
"""
_LARGEST = 1 << 28
"""Largest size in bytes of a hidden file that is read. No note is as large, but anybody can give a file this name."""


def finish(folder: Folder, hidden: Hidden, *, leases: bool) -> tuple[Outcome, str]:
    """Check the file that was exchanged out or removed, and delete it or give it back.

    `leases` says whether `is_written` is reliable on this disk.

    Returns:
        What became of it, and the name of the file that still has its content, if there is one.
    """
    name = hidden.name
    status = folder.stat(hidden.file)
    if status is None:
        return "gone", ""
    settled, content = _final_content(folder, hidden.file, leases=leases)
    is_old = status.st_ino == hidden.inode
    version = hidden.old if is_old else hidden.new
    lines = None if version is None else version.lines_after(content)
    if lines and is_old and version is not None and not version.size:
        lines = None  # it was read while a program that saves in place had emptied it, so this is all of its text
    if lines is not None and not settled and not is_old:
        return "open", hidden.file  # the replacement was undone, and a program still appends to the new content
    # Lines that were appended to a note while it was removed make it a note again.
    if lines is not None and settled and (hidden.new is not None or not lines) and _try_append(folder, name, lines):
        folder.unlink(hidden.file)
        return ("added" if lines else "done"), ""
    return _give_back(folder, hidden, content, settled=settled, leases=leases)


def _final_content(folder: Folder, file: str, *, leases: bool) -> tuple[bool, bytes]:
    """Return whether no program writes to a file any more, and its content."""
    descriptor = folder.open(file, os.O_RDONLY)
    try:
        settled = wait_for_no_writer(descriptor, leases=leases, seconds=SETTLE_SECONDS)
        return settled, read_all(descriptor)
    finally:
        os.close(descriptor)


def _give_back(folder: Folder, hidden: Hidden, content: bytes, *, settled: bool, leases: bool) -> tuple[Outcome, str]:
    """Give a file that another program changed its name again, or keep it if the note has changed as well."""
    name = hidden.name
    if _put_back(folder, hidden):
        return "restored", ""
    if hidden.new is None and settled:  # a program that appends has created the removed note again
        add_lines(folder, name, content)
        folder.unlink(hidden.file)
        return "restored", ""
    if hidden.new is not None and _holds(folder, name, hidden.new) and (swapped := _swap(folder, hidden)) is not None:
        outcome, file = finish(folder, swapped, leases=leases)  # lines that were added to the new content stay
        return (outcome, file) if outcome in {"kept", "open"} else ("restored", "")
    if not settled:
        return "open", hidden.file
    kept = kept_name(name)
    folder.rename(hidden.file, kept)
    return "kept", kept


def _put_back(folder: Folder, hidden: Hidden) -> bool:
    """Give a hidden file the name of its note; return False if the name is taken."""
    try:
        folder.link(hidden.file, hidden.name)
    except FileExistsError:
        return False
    except OSError:  # a disk without hard links
        if folder.stat(hidden.name) is not None:
            return False
        folder.rename(hidden.file, hidden.name)
    else:
        folder.unlink(hidden.file)
    return True


def _holds(folder: Folder, name: str, version: Version) -> bool:
    """Return whether the note has this version, or lines appended to it."""
    with suppress(OSError):
        descriptor = folder.open(name, os.O_RDONLY)
        try:
            return version.lines_after(read_all(descriptor)) is not None
        finally:
            os.close(descriptor)
    return False


def _swap(folder: Folder, hidden: Hidden) -> Hidden | None:
    """Exchange the note with a hidden file. Return what was the note; None if the disk can do this in no way."""
    if folder.exchange(hidden.name, hidden.file):
        return hidden
    assert hidden.old is not None
    aside = Hidden.out(hidden.name, hidden.inode, hidden.old, hidden.new)
    try:
        folder.link(hidden.name, aside.file)
    except FileNotFoundError:
        raise
    except OSError:  # a disk without hard links
        return None
    folder.rename(hidden.file, hidden.name)
    return aside


def _replace_without_links(folder: Folder, name: str, draft: Draft, old: int, before: bytes) -> None:
    """Rename the draft over the note, whose content then has no name until it is checked."""
    folder.rename(draft.name, name)
    draft.placed = True
    settled = wait_for_no_writer(old, leases=draft.leases, seconds=SETTLE_SECONDS)
    after = read_all(old)
    lines = Version.of(before).lines_after(after) if settled else None
    if lines is not None:
        add_lines(folder, name, lines)
        return
    with write_draft(folder, name, after, 0o600, like=os.fstat(old)) as copy:
        folder.rename(copy.name, name)
    wait_for_no_writer(draft.descriptor, leases=draft.leases, seconds=SETTLE_SECONDS)
    add_lines(folder, name, Version.of(draft.content).lines_after(read_all(draft.descriptor)) or b"")
    _require_finished(("restored", ""))


def _require_finished(outcome: tuple[Outcome, str]) -> None:
    """Raise ConcurrentWriteError unless the hidden file was as expected."""
    what, file = outcome
    if what in {"kept", "open"}:
        raise ConcurrentWriteError(
            f"was written to by several programs at once; what it was between them is in {file!r}"
        )
    if what in {"restored", "gone"}:
        raise ConcurrentWriteError("was written to by another program meanwhile")


def _try_append(folder: Folder, name: str, lines: bytes) -> bool:
    """Append lines to the new content; return False if the disk has no room for them."""
    try:
        add_lines(folder, name, lines)
    except OSError:
        return False
    return True


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


def _keep_owner(descriptor: int, target: os.stat_result) -> None:
    """Give a draft the owner and the group of the file that it replaces, or only the group, where that is allowed."""
    if not hasattr(os, "fchown"):
        return
    for owner in (target.st_uid, -1):
        with suppress(OSError):
            os.fchown(descriptor, owner, target.st_gid)
            return


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of the content, in one write if the system accepts it."""
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def sweep(folder: Folder, name: str) -> list[tuple[Hidden, Outcome, str]]:
    """Finish what killed processes left of replacements and removals of a note.

    The caller holds the lock of the note if it exists. Files that are kept for the owner stay.

    Returns:
        Each file with what became of it, and the name of the file that still has its content, if there is one.
    """
    left = [each for each in hidden_files(folder, name) if not each.kept]
    if not left:
        return []
    try:
        with write_draft(folder, name, b"", 0o600) as probe:
            leases = probe.leases
    except OSError:  # a full disk
        leases = False
    return [(each, *_finish_left(folder, each, leases=leases)) for each in left]


def _finish_left(folder: Folder, hidden: Hidden, *, leases: bool) -> tuple[Outcome, str]:
    current = folder.stat(hidden.name)
    status = folder.stat(hidden.file)
    if status is None:
        return "gone", ""
    try:
        # Where names cannot be exchanged, it may be a second name of the note, whose lock the caller holds.
        if current is not None and os.path.samestat(status, current):
            folder.unlink(hidden.file)
            return "undone", ""
        with lock_left(folder, hidden) as free:
            if not free or status.st_size > _LARGEST:
                return "busy", hidden.file
            if hidden.old is not None:
                return finish(folder, hidden, leases=leases)
            folder.unlink(hidden.file)
            return "undone", ""
    except OSError:
        return "gone" if folder.stat(hidden.file) is None else "busy", hidden.file


@contextmanager
def lock_left(folder: Folder, hidden: Hidden) -> Generator[bool]:
    """Lock a hidden file; yield False if a process is at work on it.

    Raises:
        FileNotFoundError: it does not exist any more, or is no plain file.
    """
    descriptor = folder.open(hidden.file, os.O_RDONLY)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError
        free = _try_lock(descriptor)
        if free and not has_name(folder, hidden.file, descriptor):
            raise FileNotFoundError
        yield free
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # a system or a disk without such locks
        return True
    return True


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A hidden file next to a note, which may hold text of it."""

    file: Path
    note: Path
    kept: bool
    """True if it is for the owner to look at, False if `recover` can finish it."""
    active: bool
    """True if a process is at work on it at this moment."""

    @property
    def diagnostic(self) -> Diagnostic:
        """Return what the file is, and what to do."""
        file = repr(str(self.file))
        note = repr(str(self.note))
        if self.kept:
            message = f"{file} holds what another program saved while {note} was replaced."
            return Diagnostic("write_unfinished", message, "Copy what you need from it, then delete it.")
        if self.active:
            message = f"{file} is part of a replacement of {note} that another process makes now."
            return Diagnostic("write_unfinished", message, "Run the command again in a moment.")
        message = f"A process was killed while it wrote {note}; {file} may hold text of it."
        remedy = (
            "Run `memoriter index`. If the file stays, close the programs that have the note open, and run it again."
        )
        return Diagnostic("write_unfinished", message, remedy)


def unfinished(folders: Iterable[str]) -> list[Unfinished]:
    """Return the hidden files of replacements and removals in some folders. Only names are looked at."""
    return [each for path in folders for each in _unfinished_in(path)]


def recover(folders: Iterable[str]) -> list[Diagnostic]:
    """Finish what killed processes left in some folders, and return a receipt for each file that is gone.

    A file that another program changed gets its name back, or is kept under a hidden name. What cannot be finished now
    stays; `unfinished` reports it.
    """
    return [each for path in folders for each in _recover_in(path)]


def _unfinished_in(path: str) -> Iterator[Unfinished]:
    with suppress(OSError), open_folder(path, ()) as folder:
        for hidden in hidden_files(folder):
            active = False
            try:
                with lock_left(folder, hidden) as free:
                    active = not free
            except FileNotFoundError:
                continue
            except OSError:  # reported like any other, because it may hold text
                pass
            yield Unfinished(Path(path, hidden.file), Path(path, hidden.name), hidden.kept, active)


def _recover_in(path: str) -> Iterator[Diagnostic]:
    with suppress(OSError), open_folder(path, ()) as folder:
        left = [hidden.name for hidden in hidden_files(folder) if not hidden.kept]
        for name in dict.fromkeys(left):
            with suppress(OSError, MemoriterError):
                yield from _recover_note(folder, name)
        if left:
            folder.sync()


def _recover_note(folder: Folder, name: str) -> Iterator[Diagnostic]:
    with ExitStack() as stack:
        with suppress(FileNotFoundError):  # the note was removed
            stack.enter_context(open_locked(folder, name))
        for hidden, outcome, file in sweep(folder, name):
            if outcome not in {"open", "busy", "gone"}:
                yield _receipt(Path(folder.path, name), hidden, outcome, Path(folder.path, file))


def _receipt(note: Path, hidden: Hidden, outcome: Outcome, file: Path) -> Diagnostic:
    begin = f"A process was killed while it wrote {str(note)!r}"
    if outcome == "kept":
        message = f"{begin}; others changed the note in two ways meanwhile, and one of them is in {str(file)!r}."
        return Diagnostic("recovered", message, "Copy what you need from it, then delete it.")
    if outcome == "added":
        what = "lines that another program had added meanwhile are in the note now"
    elif outcome == "restored":
        what = "another program had changed the old text or has it open, so the note has that text again"
    elif outcome == "undone":
        what = "the new text had not been put in place, and was deleted"
    elif hidden.new is None:
        what = "the note is removed now"
    else:
        what = "its old text was deleted"
    return Diagnostic("recovered", f"{begin}: {what}.", f"Look at the note in {str(note.parent)!r}.")
