"""Write notes: a locked append, and a replacement or removal that detects concurrent changes."""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, WriteConflict, WriteError, sentence
from memoriter.ids import bytes_hash, has_cr_alone, has_crlf, note_bytes, with_line_feeds
from memoriter.permissions import check_writable
from memoriter.workspace._paths import ReadablePath, new_path_fault, not_utf8, path_refused
from memoriter.workspace.writing._entry import Addition, Appended, Existing
from memoriter.workspace.writing._exchange import ConcurrentWriteError, remove_file, replace_file, sweep, write_draft
from memoriter.workspace.writing._folder import MOVE, has_name, open_folder, open_locked, read_all

if TYPE_CHECKING:
    from collections.abc import Generator

    from memoriter.workspace.writing._folder import Folder

_FREE = "Free some disk space and try again; the file is unchanged."
_ALLOW = "Make the file and its folder writable and try again; the file is unchanged."
_REMEDIES = {
    errno.EISDIR: MOVE,
    errno.ENOTDIR: MOVE,
    errno.EEXIST: MOVE,
    errno.ENXIO: MOVE,
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EFBIG: _FREE,
    errno.EROFS: _ALLOW,
    errno.EACCES: _ALLOW,
    errno.EPERM: _ALLOW,
}


Compose = Callable[[bytes], Addition | Existing]
"""Decides from the content of a note what is appended to it."""
Record = Callable[[bytes | None, bytes | None], AbstractContextManager[object]]
"""Enters the change from one content to another into the journal, around the write; None: there is no file."""


def _unrecorded(_before: bytes | None, _after: bytes | None) -> AbstractContextManager[object]:
    return nullcontext()


def append(
    file: Path | ReadablePath, text: str | Compose, *, limit: int | None = None, record: Record = _unrecorded
) -> Appended:
    """Append text on lines of its own, and create the file and its folders if they are missing.

    The file itself is locked, and the text goes out in one write. The text and the name of a new file are on the disk
    before this returns. NUL and lone surrogates become U+FFFD. If the process is killed during the write, the system
    may keep only the beginning of the text; the next append still starts on a line of its own. The lines end as those
    of the file do.

    Args:
        file: the note. For a `ReadablePath`, no folder below its base may be a link; for a `Path`, only the file
            itself is checked.
        text: the text to append, or a function that returns it for the content of the locked file, or of an empty one.
        limit: largest allowed size of the file afterwards, in bytes.
        record: enters the change into the journal.

    Returns:
        The lines that were written.

    Raises:
        WriteError: nothing was written: no text, no space, no permission, a file in UTF-16, or the file would become
            too large.
        PathRefused: the file is a link, a folder or a device.
    """
    place = _to_place(file)
    if isinstance(text, str) and not text.strip():
        raise WriteError("There is nothing to append.", remedy="Give some text.")
    least = len(note_bytes(text)) if isinstance(text, str) else 0
    with _open_for_write(place, make=True) as (folder, name):
        _check_size(place, least, limit)
        if (status := folder.stat(name)) is not None:
            check_writable(_path(place), status)
        with open_locked(folder, name, os.O_RDWR | os.O_APPEND, make=True) as descriptor:
            _check_size(place, os.fstat(descriptor).st_size, limit)
            before = read_all(descriptor)
            if before.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise not_utf8(name)
            before_in_lines = with_line_feeds(before)
            addition = _with_end(text) if isinstance(text, str) else text(before)
            if isinstance(addition, Existing):
                return Appended(_path(place), addition.start_line, addition.end_line, existing=True)
            ends_open = bool(before) and not before_in_lines.endswith(b"\n")
            content = (b"\n" if ends_open else b"") + note_bytes(addition.title + addition.text)
            if has_crlf(before):
                content = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            elif has_cr_alone(before):
                content = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r")
            _check_size(place, len(before) + len(content), limit)
            if not before:  # the process that created the file may have ended before this sync
                folder.sync(parents=True)
            with record(before if before or status else None, before + content):
                _write_once(descriptor, content)
    start = before_in_lines.count(b"\n") + ends_open + addition.title.count("\n") + 1
    return Appended(_path(place), start, start + addition.text.count("\n") - 1)


def replace(
    file: Path | ReadablePath,
    text: str | bytes,
    *,
    expected: str | None,
    mode: int = 0o666,
    record: Record = _unrecorded,
) -> None:
    """Replace the whole file atomically: other programs see the old content or the new content.

    Lines that a program without our lock appends meanwhile are added to the new content. If such a program saves the
    file, its version stays.

    Args:
        file: the note, which keeps its permissions. Its folder must exist unless the file is new. `append` describes
            the two types.
        text: the new content. In a `str`, NUL and lone surrogates become U+FFFD; bytes are written unchanged.
        expected: `ids.bytes_hash` of the current content, or None if the file must not exist.
        mode: permissions of a file that does not exist yet, before the umask.
        record: enters the change into the journal.

    Raises:
        WriteConflict: the content does not match `expected`; the file is unchanged.
        WriteError: the file could not be written; it is unchanged.
        PathRefused: the file is a link, a folder or a device.
    """
    content = text if isinstance(text, bytes) else note_bytes(text)
    place = _to_place(file)
    if expected is None:
        with _open_for_write(place, make=True) as (folder, name):
            _create(folder, name, place, content, mode=mode, record=record)
        return
    with (
        _open_for_write(place) as (folder, name),
        _lock_expected(folder, name, place, expected) as (descriptor, before),
    ):
        with write_draft(folder, name, content, 0o600, like=os.fstat(descriptor)) as draft:
            _check_unchanged(folder, name, place, descriptor, before)
            with record(before, content):
                replace_file(folder, name, draft, old=descriptor, before=before)
        folder.sync()


def remove(file: Path | ReadablePath, *, expected: str, record: Record = _unrecorded) -> None:
    """Delete the file if its content is unchanged. The arguments and errors are those of `replace`."""
    place = _to_place(file)
    with (
        _open_for_write(place) as (folder, name),
        _lock_expected(folder, name, place, expected) as (descriptor, before),
    ):
        with write_draft(folder, name, b"", 0o600) as probe:
            _check_unchanged(folder, name, place, descriptor, before)
            with record(before, None):
                remove_file(folder, name, probe, old=descriptor, before=before)
        folder.sync()


def _to_place(file: Path | ReadablePath) -> ReadablePath:
    return file if isinstance(file, ReadablePath) else ReadablePath(str(file.parent), (file.name,), str(file))


def _path(place: ReadablePath) -> Path:
    return Path(place.base, *place.names)


@contextmanager
def _open_for_write(place: ReadablePath, *, make: bool = False) -> Generator[tuple[Folder, str]]:
    """Open the file's folder, and raise every failure below as a memoriter error."""
    if make and (fault := new_path_fault(place.names)) and not os.path.lexists(_path(place)):
        raise path_refused(place.cited, fault)
    with _translate_errors(place):
        try:
            with open_folder(place.base, place.names[:-1], make=make) as folder:
                yield folder, place.names[-1]
        except ConcurrentWriteError as error:
            raise _conflict(place, str(error)) from None
        except FileNotFoundError:
            if make:
                raise
            raise _conflict(place, "is gone") from None


@contextmanager
def _lock_expected(folder: Folder, name: str, place: ReadablePath, expected: str) -> Generator[tuple[int, bytes]]:
    """Lock the file, check that it is writable and has the expected content, and yield its descriptor and content."""
    with open_locked(folder, name) as descriptor:
        check_writable(_path(place), os.fstat(descriptor))
        os.close(folder.open(name, os.O_WRONLY))  # for what the modes do not tell
        sweep(folder, name)
        before = read_all(descriptor)
        if bytes_hash(before) != expected:
            raise _conflict(place, "has changed since it was read")
        yield descriptor, before


def _check_unchanged(folder: Folder, name: str, place: ReadablePath, descriptor: int, before: bytes) -> None:
    """Raise WriteConflict if the file changed while the draft was written."""
    if not has_name(folder, name, descriptor) or read_all(descriptor) != before:
        raise _conflict(place, "has changed since it was read")


def _create(folder: Folder, name: str, place: ReadablePath, content: bytes, *, mode: int, record: Record) -> None:
    """Create the file with its complete content, or raise WriteConflict if it exists."""
    if folder.stat(name) is not None:
        raise _conflict(place, "already exists")
    with write_draft(folder, name, content, mode) as draft, record(None, content):
        try:
            folder.link(draft.name, name)
        except FileExistsError:
            raise _conflict(place, "already exists") from None
        except OSError:  # a disk without hard links
            folder.rename(draft.name, name)
        folder.sync(parents=True)


def _conflict(place: ReadablePath, why: str) -> WriteConflict:
    return WriteConflict(f"{str(_path(place))!r} {sentence(why)}", remedy="Read it again and repeat the change.")


def _check_size(place: ReadablePath, size: int, limit: int | None) -> None:
    if limit is not None and size > limit:
        message = (
            f"{str(_path(place))!r} would have {size:,} bytes, and no search reads a note of more than {limit:,};"
            " nothing was written."
        )
        raise WriteError(message, remedy="Write it to another note, or move a part of this note to another one.")


@contextmanager
def _translate_errors(place: ReadablePath) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        file = _path(place)
        why = getattr(error, "strerror", None) or str(error)
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            raise path_refused(place.cited, why) from error
        if isinstance(error, OSError) and file.is_symlink():
            message = f"{str(file)!r} is a symbolic link and is not written through."
            raise PathRefused(message, remedy="Put the file itself in its place.") from error
        remedy = _REMEDIES.get(getattr(error, "errno", None) or 0, "The file is unchanged.")
        raise WriteError(f"{str(file)!r} could not be written: {sentence(why)}", remedy=remedy) from error


def _write_once(descriptor: int, content: bytes) -> None:
    before = os.fstat(descriptor).st_size
    try:
        written = os.write(descriptor, content)
        os.fsync(descriptor)
    except OSError:
        _undo(descriptor, before, content)
        raise
    if written < len(content):
        _undo(descriptor, before, content)
        raise OSError(errno.ENOSPC, f"only {written} of {len(content)} bytes were taken")


def _undo(descriptor: int, before: int, content: bytes) -> None:
    """Cut off the part of a failed write that reached the file, unless another program has written there too."""
    os.lseek(descriptor, before, os.SEEK_SET)
    if content.startswith(os.read(descriptor, len(content) + 1)):
        os.ftruncate(descriptor, before)


def _with_end(text: str) -> Addition:
    return Addition(text if text.endswith("\n") else f"{text}\n")
