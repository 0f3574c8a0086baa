"""Open a file and hold its lock, and detect whether another program is writing to it."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused
from memoriter.ids import bytes_hash

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from memoriter.workspace.writing._folder import Folder

MOVE = "Move away what is there under this name, and do it again."
READ_AHEAD = 1 << 20
_STILL_SECONDS = 0.1
"""Seconds that a file must stay unchanged where the system does not report its writers."""


@contextmanager
def open_locked(folder: Folder, name: str, flags: int = os.O_RDONLY, *, make: bool = False) -> Generator[int]:
    """Open a file and hold its lock, and check that the file still has this name.

    A process that waits for the lock has the file open for reading only, so `wait_for_no_writer` does not count
    processes of ours.

    Args:
        folder: folder of the file.
        name: name of the file in the folder.
        flags: flags to open the file with, besides reading.
        make: create the file if it is missing.

    Raises:
        FileNotFoundError: the file is missing.
        IsADirectoryError: the name is that of a folder.
        PathRefused: the name is that of a device or a pipe.
    """
    while True:
        with ExitStack() as stack:
            try:
                lock_descriptor = _open_in(stack, folder, name, os.O_RDONLY)
                _require_plain_file(folder, name, lock_descriptor)
                _lock(stack, folder, name, lock_descriptor)
                descriptor = _open_in(stack, folder, name, flags) if flags else lock_descriptor
            except FileNotFoundError:
                if not make:
                    raise
                _create_empty(folder, name)
                continue
            if _is_same_file(lock_descriptor, descriptor) and has_name(folder, name, lock_descriptor):
                yield descriptor
                return


def has_name(folder: Folder, name: str, descriptor: int) -> bool:
    """Return whether the open file still has that name; another process may have replaced it."""
    status = folder.look(name)
    return status is not None and os.path.samestat(os.fstat(descriptor), status)


def read_all(descriptor: int) -> bytes:
    """Return the whole content of an open file."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(descriptor, READ_AHEAD), b""))


def wait_for_no_writer(descriptor: int, *, leases: bool, seconds: float) -> bool:
    """Wait until no program has a file that lost its name open for writing, so that the content is final.

    If the system does not report writers, wait until the file stays unchanged; this misses a program that keeps the
    file open longer.

    Args:
        descriptor: the file, open for reading only.
        leases: True if `is_written` is reliable on this disk.
        seconds: longest wait.

    Returns:
        False if a program still has the file open for writing after that time.
    """
    current, unchanged_seconds = (0, 0), 0.0
    for pause in _pauses(seconds):
        time.sleep(pause)
        status = os.fstat(descriptor)
        previous, current = current, (status.st_size, status.st_mtime_ns)
        unchanged_seconds = unchanged_seconds + pause if current == previous else 0.0
        has_writer = is_written(descriptor) if leases else None  # None for a file of another user
        if has_writer is False or (has_writer is None and unchanged_seconds >= _STILL_SECONDS):
            return True
    return False


def is_written(descriptor: int) -> bool | None:
    """Return whether any program has the file open for writing, by a request for a read lease.

    Args:
        descriptor: the file, open for reading only.

    Returns:
        None if the system cannot report it.
    """
    try:
        import fcntl
        import signal

        # A writer that opens the file now waits for us, and the system sends us a signal that is ignored by default.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except (ImportError, AttributeError):
        return None
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _pauses(seconds: float) -> Iterator[float]:
    """Yield pauses from 0 to 20 ms that add up to `seconds`."""
    pause, remaining = 0.0, seconds
    while remaining > 0:
        yield pause
        remaining -= max(pause, 0.001)
        pause = min(0.02, pause * 2 or 0.001)


def _open_in(stack: ExitStack, folder: Folder, name: str, flags: int) -> int:
    descriptor = folder.open(name, flags)
    stack.callback(os.close, descriptor)
    return descriptor


def _create_empty(folder: Folder, name: str) -> None:
    try:
        os.close(folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return


def _require_plain_file(folder: Folder, name: str, descriptor: int) -> None:
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode):
        raise PathRefused(f"{str(Path(folder.path, name))!r} is not a plain file.", remedy=MOVE)


def _is_same_file(one: int, other: int) -> bool:
    return one == other or os.path.samestat(os.fstat(one), os.fstat(other))


def _lock(stack: ExitStack, folder: Folder, name: str, descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: locked bytes cannot be read there, so the lock is a file elsewhere
        import tempfile

        from filelock import FileLock

        path = os.path.realpath(Path(folder.path, name))
        lock = f"memoriter-{bytes_hash(os.fsencode(path))[:32]}.lock"
        stack.enter_context(FileLock(Path(tempfile.gettempdir()) / lock))
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # closing the file releases it
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        # NFS locks only files that are open for writing.
        fcntl.flock(_open_in(stack, folder, name, os.O_RDWR), fcntl.LOCK_EX)
