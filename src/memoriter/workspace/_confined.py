"""Find and open a file below a folder so that no link can lead elsewhere, even if the disk changes meanwhile.

Also what was read from it, and why there is no text.
"""
# ruff: noqa: PTH116, PTH118, PTH208 - plain strings throughout, as in a scan

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, WriteError, sentence
from memoriter.ids import normalize, with_line_feeds
from memoriter.plain_file import BY_DESCRIPTOR
from memoriter.types import Source
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import BinaryIO

    from memoriter.workspace._paths import ReadablePath

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
# Without O_NONBLOCK, opening a FIFO blocks until a writer opens it; without O_NOCTTY, a terminal may become ours.
_FILE = (
    os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A source with its content."""

    source: Source
    """The file's path, size and times when the content was read."""
    hash: str
    """`ids.bytes_hash` of the file's bytes."""
    text: str
    """Content decoded as UTF-8 (invalid bytes as U+FFFD), without a byte order mark, with newlines unchanged."""
    decoded: bool = True
    """True if all bytes were valid UTF-8."""
    inode_changed_ns: int = 0
    """Time of the inode's last change, in nanoseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Raw:
    """The bytes of a memory file."""

    path: str
    """Path by which the file is cited."""
    file: Path
    content: bytes


def path_refused(path: str, why: str) -> PathRefused:
    """Return the error for a path that is not read; it quotes the path, shortened to 200 characters."""
    shortened = path if len(path) <= 200 else f"{path[:200]}…"
    return PathRefused(
        f"The path {shortened!r} is refused: {sentence(why)}",
        remedy="Name a note as search results name it, such as memory/2026-02-10.md.",
    )


def not_utf8(path: str) -> WriteError:
    """Return the error for a note in another encoding, which a change of its text would damage."""
    message = f"{path!r} has bytes that are not UTF-8, so that nothing was written: the change would damage them."
    return WriteError(message, remedy="Save it as UTF-8, in an editor or with iconv.")


def read_bytes(place: ReadablePath, limit: int) -> tuple[bytes, os.stat_result]:
    """Return the content of a plain file and its stat.

    Raises:
        FileNotFoundError: the file does not exist.
        PathRefused: the path is a link, a folder or a device, or the file is too large or not readable.
    """
    try:
        descriptor = _open(place.base, place.names)
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            _require_kind(status, folder=False, limit=limit)
            content = opened.read(limit)
    except FileNotFoundError:
        raise
    except _NotAFileError as error:
        raise path_refused(place.cited, str(error)) from None
    except (OSError, ValueError) as error:
        raise path_refused(place.cited, getattr(error, "strerror", None) or str(error)) from error
    return content, status


@contextmanager
def open_plain(place: ReadablePath) -> Generator[tuple[BinaryIO, os.stat_result]]:
    """Open a plain file of any size for reading, and yield it with its stat.

    Raises:
        PathRefused: the file does not exist or is not readable, or the path is a link, a folder or a device.
    """
    try:
        opened = os.fdopen(_open(place.base, place.names), "rb")
    except FileNotFoundError:
        raise path_refused(place.cited, "it is not there any more") from None
    except _NotAFileError as error:
        raise path_refused(place.cited, str(error)) from None
    except (OSError, ValueError) as error:
        raise path_refused(place.cited, getattr(error, "strerror", None) or str(error)) from error
    with opened:
        yield opened, os.fstat(opened.fileno())


def changed_ns(status: os.stat_result) -> int:
    """Return the modification time in nanoseconds since 1970, limited to 64 bits, since a disk may hold any year."""
    return max(-(1 << 63), min(status.st_mtime_ns, (1 << 63) - 1))


def stamp_of(status: os.stat_result) -> int:
    """Return a positive number that differs when the inode or its change time differs.

    Programs can set the modification time of a file (`cp -p`, `touch -r`), but not the change time of its inode.
    """
    return ((status.st_ctime_ns ^ (status.st_ino * 0x9E3779B97F4A7C15)) & ((1 << 63) - 1)) | 1


class _NotAFileError(Exception):
    """The path leads to something other than a plain file."""


def _open(base: str, names: Sequence[str]) -> int:
    if not BY_DESCRIPTOR:
        return _open_by_path(base, names)
    folder = os.open(base, _FOLDER)
    try:
        for name in names[:-1]:
            _require_kind(os.stat(name, dir_fd=folder, follow_symlinks=False), folder=True)
            inner = os.open(name, _FOLDER | _NO_FOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        _require_kind(os.stat(names[-1], dir_fd=folder, follow_symlinks=False), folder=False)
        return os.open(names[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _open_by_path(base: str, names: Sequence[str]) -> int:
    """Check each name, open the file and verify that it is the checked one, for systems without `openat`."""
    path = base
    status = os.lstat(base)
    for depth, name in enumerate(names, 1):
        path = os.path.join(path, name)
        status = os.lstat(path)
        _require_kind(status, folder=depth < len(names))
    descriptor = os.open(path, _FILE)
    if not os.path.samestat(os.fstat(descriptor), status):
        os.close(descriptor)
        raise _NotAFileError("it changed while it was opened")
    return descriptor


def _require_kind(status: os.stat_result, *, folder: bool, limit: int | None = None) -> None:
    matches = stat.S_ISDIR(status.st_mode) if folder else stat.S_ISREG(status.st_mode)
    if not matches:
        raise _NotAFileError(f"{'a part of it' if folder else 'it'} {_describe_kind(status.st_mode)}")
    if limit is not None and status.st_size > limit:
        raise _NotAFileError(f"it has {status.st_size} bytes, more than {limit}")


def _describe_kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "is a symbolic link"
    if stat.S_ISDIR(mode):
        return "is a folder"
    return "is a file and not a folder" if stat.S_ISREG(mode) else "is a device, pipe or socket"


def source_at(place: ReadablePath, max_bytes: int) -> Source | None:
    """Return the source at an admitted path: a plain file within the size limit, reached without a link, or None."""
    path = place.base
    try:
        status = os.stat(path)
        for depth, name in enumerate(place.names, 1):
            path = os.path.join(path, name)
            status = os.lstat(path)
            is_expected = stat.S_ISREG if depth == len(place.names) else stat.S_ISDIR
            if not is_expected(status.st_mode):
                return None
    except (OSError, ValueError):
        return None
    if status.st_size > max_bytes:
        return None
    return Source(place.cited, "memory", Path(path), status.st_size, changed_ns(status), stamp_of(status))


def find_normalized(place: ReadablePath) -> str | None:
    """Return the absolute path of the only file whose name is equivalent to the requested one, or None.

    Names are equivalent if Unicode says so, and with blanks around them, which agents leave out. Only names are
    compared; the caller must admit the path before it opens the file.
    """
    path = place.base
    for name in place.names:
        if os.path.lexists(os.path.join(path, name)):
            path = os.path.join(path, name)
            continue
        try:
            names = os.listdir(path)
        except OSError:
            return None
        normalized = normalize("NFC", name).strip()
        matches = [entry for entry in names if normalize("NFC", entry).strip() == normalized]
        if len(matches) != 1:
            return None
        path = os.path.join(path, matches[0])
    return path


def is_utf8(content: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def decode(content: bytes) -> str:
    """Return a note as text, without a byte order mark and with U+FFFD for bytes that are not UTF-8."""
    return with_line_feeds(content).decode("utf-8", "replace").removeprefix("\ufeff")
