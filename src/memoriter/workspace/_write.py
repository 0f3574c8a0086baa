"""The ways a note is written: a locked append, and a replacement or removal that notices when the file has changed."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, WriteConflict, WriteError
from memoriter.ids import bytes_hash

if TYPE_CHECKING:
    from collections.abc import Generator

_COMMON = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CAUTION = _COMMON | getattr(os, "O_NONBLOCK", 0)  # a FIFO of this name must not make us wait
_READ_AHEAD = 1 << 20
_MOVE = "Move away what is there under this name, and do it again."
_FREE = "Free some disk space and do it again; the file is as it was."
_ALLOW = "Make the file and its folder writable and do it again; the file is as it was."
_REMEDIES = {
    errno.EISDIR: _MOVE,
    errno.ENOTDIR: _MOVE,
    errno.EEXIST: _MOVE,
    errno.ENXIO: _MOVE,
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EFBIG: _FREE,
    errno.EROFS: _ALLOW,
    errno.EACCES: _ALLOW,
    errno.EPERM: _ALLOW,
}


@dataclass(frozen=True, slots=True)
class Appended:
    """The lines that were written, 1-based and inclusive."""

    path: Path
    start_line: int
    end_line: int


def append(file: Path, text: str) -> Appended:
    """Put the text on lines of its own at the end of the file; the file and its folders are made if they are missing.

    The lock is on the file itself, the text goes out in one write and is on the disk before this returns. NUL and half
    characters become U+FFFD. If the process is killed inside that write, the system may keep only a beginning of
    the text; whatever comes next still starts on a line of its own.

    Raises:
        WriteError: nothing was written: no text, no space, no permission.
        PathRefused: the file is a link, a folder or a device.
    """
    body = text if text.endswith("\n") else f"{text}\n"
    if not text.strip():
        raise WriteError("there is nothing to append", remedy="Give some text.")
    with _translated(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with _locked(file, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
            lines, ends_open = _measure(descriptor)
            _write_once(descriptor, _encode(f"\n{body}" if ends_open else body))
    start = lines + (2 if ends_open else 1)
    return Appended(file, start, start + body.count("\n") - 1)


def replace(file: Path, text: str | bytes, *, expected: str | None, mode: int = 0o666) -> None:
    """Put the text in the place of the whole file, in one step that is seen by others as before or after.

    Args:
        file: keeps its permissions; its folder must exist unless the file is new.
        text: NUL and half characters become U+FFFD; bytes are taken as they are.
        expected: `ids.bytes_hash` of the content it takes the place of; `None`: the file must not exist.
        mode: permissions of a file that does not exist yet, before the umask.

    Raises:
        WriteConflict: the file is not as expected; it was left as it is.
        WriteError: it could not be written; it is as it was.
        PathRefused: the file is a link, a folder or a device.
    """
    content = text if isinstance(text, bytes) else _encode(text)
    with _translated(file):
        if expected is None:
            file.parent.mkdir(parents=True, exist_ok=True)
            _create(file, content, mode)
            return
        try:
            with _locked(file, os.O_RDWR) as descriptor:
                if bytes_hash(_read_all(descriptor)) != expected:
                    raise _conflict(file, "has changed since it was read")
                _sweep(file)
                with _beside(file, content, 0o600, after=stat.S_IMODE(os.fstat(descriptor).st_mode)) as fresh:
                    fresh.replace(file)
        except FileNotFoundError:
            raise _conflict(file, "is gone") from None
        _sync_folder(file.parent)


def remove(file: Path, *, expected: str) -> None:
    """Delete the file, if it still is what was read.

    Raises:
        WriteConflict: the file is not as `expected` (`ids.bytes_hash`); it was left as it is.
        WriteError: it could not be deleted.
        PathRefused: the file is a link, a folder or a device.
    """
    with _translated(file):
        try:
            with _locked(file, os.O_RDWR) as descriptor:
                if bytes_hash(_read_all(descriptor)) != expected:
                    raise _conflict(file, "has changed since it was read")
                _sweep(file)
                file.unlink()
        except FileNotFoundError:
            raise _conflict(file, "is gone") from None
        _sync_folder(file.parent)


def _create(file: Path, content: bytes, mode: int) -> None:
    """Make the file, complete from its first moment, unless there is one."""
    if os.path.lexists(file):
        raise _conflict(file, "already exists")
    with _beside(file, content, mode) as fresh:
        try:
            os.link(fresh, file)
        except FileExistsError:
            raise _conflict(file, "already exists") from None
        except OSError:  # a disk without hard links
            fresh.replace(file)
    _sync_folder(file.parent)


def _conflict(file: Path, why: str) -> WriteConflict:
    return WriteConflict(f"{str(file)!r} {why}", remedy="Read it again and repeat the change.")


@contextmanager
def _translated(file: Path) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        if isinstance(error, OSError) and file.is_symlink():
            message = f"{str(file)!r} is a symbolic link and is not written through"
            raise PathRefused(message, remedy="Put the file itself in its place.") from error
        remedy = _REMEDIES.get(getattr(error, "errno", None) or 0, "The file is as it was.")
        raise WriteError(f"{str(file)!r} could not be written: {why}", remedy=remedy) from error


@contextmanager
def _locked(file: Path, flags: int) -> Generator[int]:
    """The file open and locked, and still the one of that name."""
    while True:
        descriptor = os.open(file, flags | _CAUTION, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise PathRefused(f"{str(file)!r} is not a plain file", remedy=_MOVE)
            with _lock(file, descriptor):
                if _is_at(file, descriptor):
                    yield descriptor
                    return
        finally:
            os.close(descriptor)


def _is_at(file: Path, descriptor: int) -> bool:
    """Is the open file still the one of that name? While we waited, another process may have replaced it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(file))
    except FileNotFoundError:
        return False


@contextmanager
def _lock(file: Path, descriptor: int) -> Generator[None]:
    try:
        import fcntl
    except ImportError:  # Windows: locked bytes cannot be read there, so the lock is a file elsewhere
        import tempfile

        from filelock import FileLock

        name = f"memoriter-{bytes_hash(os.fsencode(os.path.realpath(file)))[:32]}.lock"
        with FileLock(Path(tempfile.gettempdir()) / name):
            yield
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # closing the file lets it go
        yield


def _write_once(descriptor: int, content: bytes) -> None:
    before = os.fstat(descriptor).st_size
    try:
        written = os.write(descriptor, content)
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
        raise
    if written < len(content):
        os.ftruncate(descriptor, before)
        raise OSError(errno.ENOSPC, f"only {written} of {len(content)} bytes were taken")


def _measure(descriptor: int) -> tuple[int, bool]:
    """How many newlines the file has, and whether it ends without one."""
    lines, last = 0, b""
    while part := os.read(descriptor, _READ_AHEAD):
        lines, last = lines + part.count(b"\n"), part[-1:]
    return lines, last not in {b"", b"\n"}


def _read_all(descriptor: int) -> bytes:
    return b"".join(iter(lambda: os.read(descriptor, _READ_AHEAD), b""))


@contextmanager
def _beside(file: Path, content: bytes, mode: int, *, after: int | None = None) -> Generator[Path]:
    """Write the content to a hidden file of the same folder and remove that file afterwards if it is still there.

    Args:
        file: the file that the content is for.
        content: what to write.
        mode: permissions from the first byte on, before the umask.
        after: permissions once the content is complete, whatever the umask is.
    """
    import secrets

    fresh = file.with_name(f".{file.name[:64]}.{secrets.token_hex(6)}.tmp")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON, mode)
    try:
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
            if after is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, after)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield fresh
    finally:
        with suppress(FileNotFoundError):
            fresh.unlink()


def _sweep(file: Path) -> None:
    """Remove what a killed process left of a replacement; who works on one now would hold the lock that we hold."""
    draft = re.compile(rf"\.{re.escape(file.name[:64])}\.[0-9a-f]{{12}}\.tmp")
    for name in os.listdir(file.parent):  # noqa: PTH208 (names are all that is needed)
        if draft.fullmatch(name):
            with suppress(OSError):
                (file.parent / name).unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where folders can be synced."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _encode(text: str) -> bytes:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\ufffd").encode()
