"""The file in which a server says where it is, whom it serves, and the token that it wants to be shown."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from memoriter.discovery._tickets import remove_old_tickets
from memoriter.permissions import make_private_folder, owners_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDING = ".json"


@dataclass(frozen=True, slots=True)
class Announcement:
    """A server, as those who look for one see it."""

    url: str
    """`http://HOST:PORT`."""
    token: str
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
    remove_old_tickets(folder, server.started)
    for _ in announced(folder):
        pass  # each that is gone is removed on the way
    part = folder / f"{server.name}.{server.pid}.part"
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(server), file)
    part.replace(folder / server.name)


def announced(folder: Path) -> Iterator[Announcement]:
    """The servers that may still be there."""
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
            withdraw(folder, server)


def withdraw(folder: Path, server: Announcement) -> None:
    """Remove the file, unless it is another server's by now."""
    found = _read(folder / server.name)
    if found is not None and found.token == server.token:
        with suppress(OSError):
            (folder / server.name).unlink()


def _read(file: Path) -> Announcement | None:
    if owners_of({}).complaint(file):
        return None  # planted by another user
    try:
        found: dict[str, Any] = json.loads(file.read_bytes())
        server = Announcement(**found)
    except (OSError, ValueError, TypeError):
        return None  # gone, or of another version
    wanted = (str, str, int, float, str, bool, str, bool, str)
    values = (getattr(server, name) for name in Announcement.__slots__)
    return server if all(isinstance(value, kind) for value, kind in zip(values, wanted, strict=True)) else None


def _alive(pid: int) -> bool:
    """Whether there is such a process; True where that cannot be asked without harm."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
