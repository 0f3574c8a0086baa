"""Tickets, which ensure that a piece of work is done once.

The process that removes the ticket file does the work. Removing a file succeeds for one process only.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ENDING = ".ticket"
KEPT_SECONDS = 3_600
"""Seconds after which a ticket is stale: its command was killed."""


def create_ticket(folder: Path) -> str:
    """Create a ticket for one piece of work and return its name. Raises OSError."""
    name = os.urandom(16).hex()
    os.close(os.open(folder / f"{name}{ENDING}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return name


def take_ticket(folder: Path, name: str) -> bool:
    """Take a ticket, and return whether the caller must do the work.

    It is False if another process has taken the ticket, or if `name` is not a ticket.
    """
    if not re.fullmatch("[0-9a-f]{32}", name):
        return False
    try:
        (folder / f"{name}{ENDING}").unlink()
    except OSError:
        return False
    return True


def is_available(folder: Path, name: str) -> bool:
    """Return whether the ticket is not taken yet."""
    return (folder / f"{name}{ENDING}").exists()


def remove_old_tickets(folder: Path, now: float) -> None:
    """Remove stale tickets of killed commands; `now` is in seconds since 1970."""
    with suppress(OSError):
        for file in folder.glob(f"*{ENDING}"):
            if file.stat().st_mtime < now - KEPT_SECONDS:
                file.unlink()
