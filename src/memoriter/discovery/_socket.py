"""The socket on which a server listens for commands of its user."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memoriter.discovery._announcement import FOLDER_PREFIX, is_private_folder, make_own_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

ENDING = ".sock"
LONGEST_PATH = 100
"""Maximum bytes of the path of a socket; Linux allows 107, and macOS 103."""
STALE_SECONDS = 60.0
"""The age at which a socket that nobody listens on was left behind by a killed server."""


def open_socket(folder: Path, environ: Mapping[str, str], now: float) -> socket.socket:
    """Return a listening socket that only processes of this user can reach.

    It is in the folder of announcements. If its path there is too long, or the file system has no sockets, it is in a
    new folder for this user alone, in the runtime folder of the user or in the one for temporary files.

    Raises:
        OSError: there is no private folder with sockets.
    """
    if not hasattr(socket, "AF_UNIX"):
        raise OSError(errno.EAFNOSUPPORT, "this system has no sockets in folders")
    make_own_folder(folder)
    _remove_stale_sockets(folder, now)
    name = f"{os.urandom(8).hex()}{ENDING}"
    if len(os.fsencode(folder / name)) <= LONGEST_PATH:
        with suppress(OSError):  # such as of a file system without sockets
            return _listen(folder / name)
    return _listen(_short_folder(environ) / name)


def _listen(path: Path) -> socket.socket:
    """Return a socket that listens at a path. Raises OSError."""
    if not is_private_folder(path.parent):  # such as on a file system on which every file is everybody's
        raise PermissionError(errno.EPERM, "the folder can be entered by other users")
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(128)
    except OSError:
        listening.close()
        raise
    return listening


def _short_folder(environ: Mapping[str, str]) -> Path:
    """Return a new private folder with a short path. Raises OSError."""
    from tempfile import mkdtemp

    runtime = environ.get("XDG_RUNTIME_DIR", "")
    return Path(mkdtemp(prefix=FOLDER_PREFIX, dir=runtime if is_private_folder(runtime) else None))


def _remove_stale_sockets(folder: Path, now: float) -> None:
    """Remove the sockets of servers that were killed and whose announcements another server has replaced."""
    for file in folder.glob(f"*{ENDING}"):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            if file.stat().st_mtime > now - STALE_SECONDS:
                continue
            try:
                connection.connect(str(file))
            except ConnectionRefusedError:
                file.unlink()
