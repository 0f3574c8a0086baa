"""Who does the work: whoever takes the ticket away, and nobody else. Removing a file succeeds for one process only."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ENDING = ".ticket"
KEPT_SECONDS = 3_600
"""A ticket that nobody took by then is of a command that was killed."""


def write_ticket(folder: Path) -> str:
    """A ticket for one piece of work. Raises OSError."""
    name = os.urandom(16).hex()
    os.close(os.open(folder / f"{name}{ENDING}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return name


def take_ticket(folder: Path, name: str) -> bool:
    """Whether the work is the caller's to do now; False: somebody else has it, or it is no ticket at all."""
    if not re.fullmatch("[0-9a-f]{32}", name):
        return False
    try:
        (folder / f"{name}{ENDING}").unlink()
    except OSError:
        return False
    return True


def is_free(folder: Path, name: str) -> bool:
    """Whether nobody has taken the ticket yet."""
    return (folder / f"{name}{ENDING}").exists()


def remove_old_tickets(folder: Path, now: float) -> None:
    """Remove what killed commands left behind; `now` in seconds since 1970."""
    with suppress(OSError):
        for file in folder.glob(f"*{ENDING}"):
            if file.stat().st_mtime < now - KEPT_SECONDS:
                file.unlink()
