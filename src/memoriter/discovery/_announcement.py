"""The announcement file of a server: its address, its memory, and the secret that authenticates it to hooks."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memoriter.discovery._claims import remove_old_tickets
from memoriter.discovery._private import is_own_folder, read_private, write_new
from memoriter.permissions import HAS_MODES, make_private_folder
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDING = ".json"


@dataclass(frozen=True, slots=True)
class Announcement:
    """The public description of a running server."""

    url: str
    """`http://HOST:PORT`."""
    secret: str = field(repr=False)
    """The shared secret, which server and hook prove to know; it is never sent."""
    pid: int
    started: float
    """Seconds since 1970."""
    workspace: str
    """Absolute path with symbolic links resolved."""
    usual: bool
    """Whether it is the workspace of a command that names none and runs in none."""
    agent: str
    default_agent: bool
    """Whether it is the agent of a command that names none."""
    settings: str
    """`settings_digest` of the settings at the start of the server."""
    conditions: str
    """`conditions_digest` of the program and of its environment."""

    @property
    def name(self) -> str:
        """File name, which is the same for every server of this memory."""
        identity = f"{self.workspace}\x00{self.agent}\x00{self.settings}"
        return hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()[:16] + ENDING


def folder_of(home: Path) -> Path:
    """Return the folder of the announcement files."""
    return home / "serve"


def announce(folder: Path, server: Announcement) -> None:
    """Write the announcement of a server, readable by this user only, and remove those of servers that have ended.

    Raises:
        OSError: the folder is not private, or the file cannot be written.
    """
    make_private_folder(folder)
    if HAS_MODES and folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
        folder.chmod(0o700)  # an earlier version or the umask may have left it open
    if not is_own_folder(folder):
        raise PermissionError(errno.EPERM, "the folder belongs to another user or is a link")
    remove_old_tickets(folder, server.started)
    for _ in announced(folder):
        pass  # this removes announcements of servers that have ended
    temporary = folder / f"{server.name}.{server.pid}.part"
    temporary.unlink(missing_ok=True)
    write_new(temporary, json.dumps(asdict(server)).encode("utf-8"))
    temporary.replace(folder / server.name)


def announced(folder: Path) -> Iterator[Announcement]:
    """Yield the servers that may still run; skip files that another user may have written."""
    if not is_own_folder(folder):
        return
    try:
        file_names = [name for name in os.listdir(folder) if name.endswith(ENDING)]  # noqa: PTH208 - half the time
    except OSError:
        return
    for name in file_names:
        server = _read_announcement(folder / name)
        if server is None:
            continue
        if _is_running(server.pid):
            yield server
        else:
            unregister(folder, server)


def unregister(folder: Path, server: Announcement) -> None:
    """Remove the announcement of a server, unless another server has replaced it."""
    current = _read_announcement(folder / server.name)
    if current is not None and current.secret == server.secret:
        with suppress(OSError):
            (folder / server.name).unlink()


def _read_announcement(file: Path) -> Announcement | None:
    try:
        fields: dict[str, Any] = json.loads(read_private(file))
        server = Announcement(**fields)
    except (OSError, ValueError, TypeError, RecursionError):
        return None  # it is missing, from another version, or not private
    types = (str, str, int, float, str, bool, str, bool, str, str)
    values = (getattr(server, name) for name in Announcement.__slots__)
    return server if all(isinstance(value, kind) for value, kind in zip(values, types, strict=True)) else None


def _is_running(pid: int) -> bool:
    """Return whether this user has a process with this number, or True if the system offers no safe check."""
    if sys.platform == "win32":
        return True
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False  # the process has ended, or another user's process has its number now
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()  # noqa: PTH116 - root may signal everybody's
    except OSError:
        return True  # a system without /proc
