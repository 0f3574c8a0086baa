"""Open folders and files for writing so that no link can lead elsewhere, hold locks, and detect other writers."""
# ruff: noqa: PTH102, PTH118, PTH208 - descriptors and plain names, which pathlib does not accept

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused
from memoriter.ids import bytes_hash
from memoriter.plain_file import BY_DESCRIPTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

_SAFE_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a FIFO of this name must not block
)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_EXCHANGE = {"linux": ("renameat2", 2, -100), "darwin": ("renameatx_np", 2, -2)}
"""By platform: the C function that exchanges two names, its flag for an exchange, and `AT_FDCWD`."""
_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF}
MOVE = "Move away what has this name, and try again."
READ_AHEAD = 1 << 20
_STILL_SECONDS = 0.1
"""Seconds that a file must stay unchanged where the system does not report its writers."""


class Folder:
    """An open folder; all names are those of entries directly inside it."""

    def __init__(self, path: str, descriptors: Sequence[int] = ()) -> None:
        """Wrap an open folder.

        `descriptors` are those of the folders from the base down to this one; empty if the system supports paths only.
        """
        self.path = path
        self._descriptors = descriptors
        self._descriptor = descriptors[-1] if descriptors else None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a file without following a link."""
        return os.open(self._at(name), flags | _SAFE_FLAGS, mode, dir_fd=self._descriptor)

    def stat(self, name: str) -> os.stat_result | None:
        """Return the stat of an entry without following a link, or None if the entry does not exist."""
        try:
            return os.stat(self._at(name), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def names(self) -> list[str]:
        """Return the names of all entries."""
        return os.listdir(self.path if self._descriptor is None else self._descriptor)

    def rename(self, name: str, to: str) -> None:
        """Rename an entry, and replace an entry that has the new name."""
        source = self._at(name)
        target = self._at(to)
        if self._descriptor is None:
            os.replace(source, target)  # noqa: PTH105 - as above
        else:
            os.rename(source, target, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def link(self, name: str, to: str) -> None:
        """Give a file a second name; raise FileExistsError if the name is taken."""
        source = self._at(name)
        target = self._at(to)
        descriptor = self._descriptor
        if os.link in os.supports_follow_symlinks:
            os.link(source, target, src_dir_fd=descriptor, dst_dir_fd=descriptor, follow_symlinks=False)
        else:
            os.link(source, target, src_dir_fd=descriptor, dst_dir_fd=descriptor)

    def unlink(self, name: str) -> None:
        """Remove a file if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(self._at(name), dir_fd=self._descriptor)

    def exchange(self, name: str, other: str) -> bool:
        """Exchange two names atomically; return False and change nothing if the system does not support it."""
        swap = _exchange_function()
        if swap is None:
            return False
        code = swap(self._descriptor, os.fsencode(self._at(name)), os.fsencode(self._at(other)))
        if code in _NO_EXCHANGE:
            return False
        if code:
            raise OSError(code, os.strerror(code), name)
        return True

    def sync(self, *, parents: bool = False) -> None:
        """Sync changed names to the disk so that they survive a power cut, where folders can be synced.

        With `parents`, the folders above are synced too, up to the base.
        """
        if os.name == "nt":
            return
        if self._descriptor is None:
            descriptor = os.open(self.path, _FOLDER)
            try:
                _sync(descriptor)
            finally:
                os.close(descriptor)
        for descriptor in reversed(self._descriptors if parents else self._descriptors[-1:]):
            _sync(descriptor)

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name) if self._descriptor is None else name


@contextmanager
def open_folder(base: str, names: Sequence[str], *, make: bool = False) -> Generator[Folder]:
    """Open the folder that `names` lead to from `base`.

    Raises:
        FileNotFoundError: a folder is missing.
        PathRefused: one of the names is a symbolic link.
    """
    if make:
        _make_base(base)
    if not BY_DESCRIPTOR:
        yield Folder(_checked_path(base, names, make=make))
        return
    with ExitStack() as opened:
        descriptors = [os.open(base, _FOLDER)]
        opened.callback(os.close, descriptors[0])
        path = base
        for name in names:
            path = os.path.join(path, name)
            inner = _inner(descriptors[-1], name, path, make=make)
            opened.callback(os.close, inner)
            descriptors.append(inner)
        yield Folder(path, descriptors)


def _make_base(base: str) -> None:
    """Create the base and the folders above it, and sync each new folder so that it survives a power cut."""
    if os.path.isdir(base):  # noqa: PTH112 - as above
        return
    parent = os.path.dirname(base)  # noqa: PTH120 - as above
    if parent and parent != base:
        _make_base(parent)
    with suppress(FileExistsError):
        os.mkdir(base)
        Folder(parent or os.curdir).sync()


def _inner(folder: int, name: str, path: str, *, make: bool) -> int:
    flags = _FOLDER | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            _sync(folder)
        return _inner(folder, name, path, make=False)
    except OSError:
        with suppress(FileNotFoundError):
            _refuse_link(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
        raise


def _checked_path(base: str, names: Sequence[str], *, make: bool) -> str:
    """Return the path of the folder after a link check of each name, for systems without `openat`."""
    path = base
    for name in names:
        path = os.path.join(path, name)
        if make:
            with suppress(FileExistsError):
                os.mkdir(path)
        _refuse_link(os.lstat(path), path)
    return path


def _refuse_link(status: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise PathRefused(f"{path!r} is a symbolic link and is not followed.", remedy="Make it a plain folder.")


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:  # some network file systems cannot sync a folder
            raise


@cache
def _exchange_function() -> Callable[[int | None, bytes, bytes], int] | None:
    """Return a function that exchanges two names in a folder and returns an error number, or None if unsupported."""
    exchange_call = _EXCHANGE.get(sys.platform)
    if exchange_call is None:
        return None
    import ctypes

    name, flag, current_folder = exchange_call
    try:
        function = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int

    def swap(folder: int | None, one: bytes, other: bytes) -> int:
        descriptor = current_folder if folder is None else folder
        return ctypes.get_errno() if function(descriptor, one, descriptor, other, flag) else 0

    return swap


@contextmanager
def open_locked(folder: Folder, name: str, flags: int = os.O_RDONLY, *, make: bool = False) -> Generator[int]:
    """Open a file and hold its lock, and check that the file still has this name.

    A process that waits for the lock has the file open for reading only, so `wait_for_no_writer` does not count
    processes of ours.

    `flags` are those to open it with besides reading; with `make`, it is created if it is missing.

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
                with suppress(FileExistsError):
                    os.close(folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
                continue
            if _is_same_file(lock_descriptor, descriptor) and has_name(folder, name, lock_descriptor):
                yield descriptor
                return


def has_name(folder: Folder, name: str, descriptor: int) -> bool:
    """Return whether the open file still has that name; another process may have replaced it."""
    status = folder.stat(name)
    return status is not None and os.path.samestat(os.fstat(descriptor), status)


def read_all(descriptor: int) -> bytes:
    """Return the whole content of an open file."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    return b"".join(iter(lambda: os.read(descriptor, READ_AHEAD), b""))


def wait_for_no_writer(descriptor: int, *, leases: bool, seconds: float) -> bool:
    """Wait until no program has a file that lost its name open for writing, so that the content is final.

    If the system does not report writers, wait until the file stays unchanged; this misses a program that keeps the
    file open longer.

    `descriptor` is open for reading only. `leases` says whether `is_written` is reliable on this disk.

    Returns:
        False if a program still has the file open for writing after that time.
    """
    current = (0, 0)
    unchanged_seconds = 0.0
    for pause in _pauses(seconds):
        time.sleep(pause)
        status = os.fstat(descriptor)
        previous = current
        current = (status.st_size, status.st_mtime_ns)
        unchanged_seconds = unchanged_seconds + pause if current == previous else 0.0
        has_writer = is_written(descriptor) if leases else None  # None for a file of another user
        if has_writer is False or (has_writer is None and unchanged_seconds >= _STILL_SECONDS):
            return True
    return False


def is_written(descriptor: int) -> bool | None:
    """Return whether any program has the file open for writing, by a request for a read lease; None: unknown."""
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
    pause = 0.0
    remaining = seconds
    while remaining > 0:
        yield pause
        remaining -= max(pause, 0.001)
        pause = min(0.02, pause * 2 or 0.001)


def _open_in(stack: ExitStack, folder: Folder, name: str, flags: int) -> int:
    descriptor = folder.open(name, flags)
    stack.callback(os.close, descriptor)
    return descriptor


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
