"""Read files that somebody else may have put there: plain files only, without waiting, and never more than a limit.

A folder that was cloned or shared may have a pipe, a device or a link where a file is expected. Opening a pipe waits
for a writer, reading a device may never end, and a link leads to a file of the reader's that the folder's author cannot
see.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

BY_DESCRIPTOR = hasattr(os, "O_NOFOLLOW") and {os.open, os.mkdir, os.stat, os.rename, os.unlink, os.link} <= (
    os.supports_dir_fd
)
"""True if the system can read, write, move and remove a file through the descriptor of its folder."""
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# Without O_NONBLOCK opening a pipe waits for a writer; without O_NOCTTY a terminal becomes ours.
_WAIT_FOR_NOBODY = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | _WAIT_FOR_NOBODY


def open_plain(path: Path, *, follow: bool = False, owned: bool = False) -> BinaryIO:
    """Open a plain file for reading.

    Args:
        path: the folders on the way to the file may be links.
        follow: whether the file itself may be a symbolic link to a plain file.
        owned: whether the file must belong to the user of this process, or to root.

    Returns:
        The open file, which the caller closes.

    Raises:
        FileNotFoundError: nothing is there.
        OSError: it is not such a file, or it cannot be read; `strerror` says why.
    """
    try:
        seen = path.stat() if follow else path.lstat()
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    _check(seen, path, owned=owned)  # before it is opened: opening some devices does something
    descriptor = os.open(path, _FLAGS | (0 if follow else _NO_FOLLOW))
    try:
        found = os.fstat(descriptor)
        _check(found, path, owned=owned)
        if not (follow or _NO_FOLLOW):
            _check_same(seen, found, path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_plain(path: Path, limit: int, *, follow: bool = False, owned: bool = False) -> bytes:
    """Return the content of a plain file of at most `limit` bytes.

    Args:
        path: the folders on the way to the file may be links.
        limit: bytes; a longer file is an error and is not read to its end.
        follow: whether the file itself may be a symbolic link to a plain file.
        owned: whether the file must belong to the user of this process, or to root.

    Raises:
        FileNotFoundError: nothing is there.
        OSError: it is not such a file, is longer, or cannot be read; `strerror` says why.
    """
    with open_plain(path, follow=follow, owned=owned) as file:
        content = file.read(limit + 1) if os.fstat(file.fileno()).st_size <= limit else None
    if content is None or len(content) > limit:
        raise OSError(errno.EFBIG, f"it is longer than {limit} bytes", str(path))
    return content


def _check_same(seen: os.stat_result, found: os.stat_result, path: Path) -> None:
    if not os.path.samestat(seen, found):
        raise OSError(errno.ESTALE, "it changed while it was opened", str(path))


def _check(found: os.stat_result, path: Path, *, owned: bool) -> None:
    mode = found.st_mode
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a symbolic link", str(path))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a device, pipe or socket", str(path))
    if owned and hasattr(os, "geteuid") and found.st_uid not in {os.geteuid(), 0}:
        raise PermissionError(errno.EACCES, "it belongs to another user", str(path))
