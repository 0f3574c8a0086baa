"""The private folder of announcements and tickets.

An announcement holds the socket of a server and its memory. A ticket is a file that stands for one piece of work:
whoever removes it does the work.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoriter.permissions import HAS_MODES, OTHERS, make_private_folder, write_new
from memoriter.plain_file import open_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDING = ".json"
_TICKET_ENDING = ".ticket"
LONGEST = 1 << 16
"""Maximum number of bytes that are read."""
FOLDER_PREFIX = "memoriter-"
"""The beginning of the name of a folder that holds nothing but a socket."""
KEPT_SECONDS = 3_600
"""Seconds after which a ticket is stale: its command was killed."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """The public description of a running server."""

    url: str
    """`http://HOST:PORT`, for people and programs with a token."""
    socket: str
    """Path of the socket for commands of this user, in a private folder."""
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
    """`settings_digest` of the settings that the server follows."""
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
    make_own_folder(folder)
    remove_old_tickets(folder, server.started)
    for _ in announced(folder):
        pass  # this removes announcements of servers that have ended
    temporary = folder / f"{server.name}.{server.pid}.part"
    temporary.unlink(missing_ok=True)
    write_new(temporary, json.dumps(asdict(server)).encode("utf-8"))
    temporary.replace(folder / server.name)


def announce_again(folder: Path, old: Announcement, new: Announcement) -> Announcement:
    """Replace the announcement of a server that has other settings now, and return the one that is there.

    If the new one cannot be written, the old one stays, which no command with the present settings uses.
    """
    try:
        announce(folder, new)
    except OSError:
        return old
    if new.name != old.name:
        with suppress(OSError):
            (folder / old.name).unlink()
    return new


def make_own_folder(folder: Path) -> None:
    """Create the folder of announcements, or close the existing one.

    Raises:
        OSError: it belongs to another user, is a link, or cannot be made.
    """
    make_private_folder(folder)
    if HAS_MODES and folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
        folder.chmod(0o700)  # an earlier version or the umask may have left it open
    if not is_own_folder(folder):
        raise PermissionError(errno.EPERM, "the folder belongs to another user or is a link")


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
    """Remove the socket of a server that has ended, and its announcement unless another server has replaced it."""
    remove_socket(server.socket)
    current = _read_announcement(folder / server.name)
    if current is not None and current.socket == server.socket:
        with suppress(OSError):
            (folder / server.name).unlink()


def remove_socket(path: str) -> None:
    """Remove the file of a socket, and the folder that was made for it."""
    file = Path(path)
    with suppress(OSError, ValueError):
        if stat.S_ISSOCK(file.lstat().st_mode):
            file.unlink()
        if file.parent.name.startswith(FOLDER_PREFIX):
            file.parent.rmdir()


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


def read_private(file: Path) -> bytes:
    """Return the content of a file that belongs to this user and that no other user can read or write.

    Raises:
        PermissionError: another user owns the file, or other users can read or write it.
        OSError: it is not a regular file, or it cannot be opened or read.
    """
    with open_plain(file) as opened:
        if fault := privacy_fault(os.fstat(opened.fileno())):
            raise PermissionError(f"{file} {fault}.")
        return opened.read(LONGEST)


def privacy_fault(status: os.stat_result) -> str:
    """Return why a file is not private, as the predicate of a sentence, or an empty string if it is private."""
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if not HAS_MODES:
        return ""
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be read or changed by other users" if status.st_mode & OTHERS else ""


def is_own_folder(folder: Path | str, denied: int = 0o022) -> bool:
    """Return whether a folder that is no link belongs to this user, and others have no `denied` permission."""
    try:
        status = os.lstat(folder)
    except (OSError, ValueError):
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not HAS_MODES or (status.st_uid == os.geteuid() and not status.st_mode & denied)


def is_private_folder(folder: Path | str) -> bool:
    """Return whether a folder exists, belongs to this user, and only this user can enter it."""
    return is_own_folder(folder, OTHERS)


def create_ticket(folder: Path) -> str:
    """Create a ticket for one piece of work and return its name. Raises OSError."""
    name = os.urandom(16).hex()
    os.close(os.open(folder / f"{name}{_TICKET_ENDING}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return name


def redeem_ticket(folder: Path, name: str) -> bool:
    """Take a ticket, and return whether the caller must do the work.

    It is False if another process has taken the ticket, or if `name` is not a ticket.
    """
    if not re.fullmatch("[0-9a-f]{32}", name):
        return False
    try:
        (folder / f"{name}{_TICKET_ENDING}").unlink()
    except OSError:
        return False
    return True


def is_available(folder: Path, name: str) -> bool:
    """Return whether the ticket is not taken yet."""
    return (folder / f"{name}{_TICKET_ENDING}").exists()


def remove_old_tickets(folder: Path, now: float) -> None:
    """Remove stale tickets of killed commands; `now` is in seconds since 1970."""
    with suppress(OSError):
        for file in folder.glob(f"*{_TICKET_ENDING}"):
            if file.stat().st_mtime < now - KEPT_SECONDS:
                file.unlink()
