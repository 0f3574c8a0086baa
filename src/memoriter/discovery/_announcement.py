"""The file in which a server says where it is, whom it serves, and the secret by which hooks recognise it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from memoriter.discovery._claims import remove_old_tickets
from memoriter.discovery._private import is_own_folder, read_private, write_new
from memoriter.permissions import HAS_MODES, make_private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDING = ".json"


@dataclass(frozen=True, slots=True)
class Announcement:
    """A server, as those who look for one see it."""

    url: str
    """`http://HOST:PORT`."""
    secret: str = field(repr=False)
    """What both sides prove to know; it never leaves this file."""
    pid: int
    started: float
    """Seconds since 1970."""
    workspace: str
    """Absolute, with links followed."""
    usual: bool
    """Whether it is the workspace of those who name none and stand in none."""
    agent: str
    default_agent: bool
    """Whether it is the agent of those who name none."""
    settings: str
    """`settings_digest` of what it was started with."""

    @property
    def name(self) -> str:
        """The file's name: the same for every server of this memory."""
        whom = f"{self.workspace}\x00{self.agent}\x00{self.settings}"
        return hashlib.sha256(whom.encode("utf-8", "surrogateescape")).hexdigest()[:16] + ENDING


def folder_of(home: Path) -> Path:
    """Where servers announce themselves."""
    return home / "serve"


def announce(folder: Path, server: Announcement) -> None:
    """Write the file, for nobody else to read; files of servers that are gone are removed. Raises OSError."""
    make_private_folder(folder)
    if HAS_MODES and folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
        folder.chmod(0o700)  # an earlier version, or somebody's umask, may have made it
    if not is_own_folder(folder):
        raise PermissionError(errno.EPERM, "the folder belongs to another user or is a link")
    remove_old_tickets(folder, server.started)
    for _ in announced(folder):
        pass  # each that is gone is removed on the way
    part = folder / f"{server.name}.{server.pid}.part"
    part.unlink(missing_ok=True)
    write_new(part, json.dumps(asdict(server)).encode("utf-8"))
    part.replace(folder / server.name)


def announced(folder: Path) -> Iterator[Announcement]:
    """The servers that may still be there; a file that another user may have written is passed over."""
    if not is_own_folder(folder):
        return
    try:
        names = [name for name in os.listdir(folder) if name.endswith(ENDING)]  # noqa: PTH208 - half the time
    except OSError:
        return
    for name in names:
        server = _read(folder / name)
        if server is None:
            continue
        if _alive(server.pid):
            yield server
        else:
            unregister(folder, server)


def unregister(folder: Path, server: Announcement) -> None:
    """Remove the file, unless it is another server's by now."""
    found = _read(folder / server.name)
    if found is not None and found.secret == server.secret:
        with suppress(OSError):
            (folder / server.name).unlink()


def _read(file: Path) -> Announcement | None:
    try:
        found: dict[str, Any] = json.loads(read_private(file))
        server = Announcement(**found)
    except (OSError, ValueError, TypeError, RecursionError):
        return None  # gone, of another version, or not ours alone
    wanted = (str, str, int, float, str, bool, str, bool, str)
    values = (getattr(server, name) for name in Announcement.__slots__)
    return server if all(isinstance(value, kind) for value, kind in zip(values, wanted, strict=True)) else None


def _alive(pid: int) -> bool:
    """Whether this user has such a process; True where that cannot be asked without harm."""
    if sys.platform == "win32":
        return True
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False  # it is gone, or its number belongs to another user's process by now
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()  # noqa: PTH116 - root may signal everybody's
    except OSError:
        return True  # a system without /proc
