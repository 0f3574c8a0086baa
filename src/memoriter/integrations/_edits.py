"""Read the file of a note, and change it without losing what others write at the same time."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from memoriter.errors import PathRefused, WriteConflict
from memoriter.ids import bytes_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import BinaryIO

    from memoriter.memory import Memory
    from memoriter.types import Diagnostic

log = logging.getLogger(__name__)
ATTEMPTS = 8
"""How often a note is edited again after somebody else has changed it meanwhile."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def edit_note(
    memory: Memory, path: str, edit: Callable[[bytes | None], str | None], *, attempts: int = ATTEMPTS
) -> tuple[Diagnostic, ...]:
    """Replace a note by an edited version, unless somebody else has changed it since it was read.

    Args:
        memory: the memory of the note.
        path: the path of the note, as in citations.
        edit: called with the content of the note, None if it does not exist; it returns the new text, None to change
            nothing. It is called again with the new content if somebody else has changed the note meanwhile.
        attempts: how often it is called at most.

    Returns why the next search may not find the note; this is also logged.

    Raises PathRefused, WriteConflict if others keep changing the note, and WriteError.
    """
    for attempt in range(1, attempts + 1):
        before = content_of(memory, path)
        after = edit(before)
        if after is None:
            return ()
        try:
            reasons = memory.replace(path, after, expected=None if before is None else bytes_hash(before)).reasons
        except WriteConflict:
            if attempt == attempts:
                raise
            continue
        for reason in reasons:
            log.warning("%s %s", reason.message, reason.remedy)
        return reasons
    raise AssertionError("the last attempt returns or raises")


def content_of(memory: Memory, path: str) -> bytes | None:
    """Return the content of a note; None if it does not exist. Raises PathRefused if it cannot be read."""
    file = memory.file_of(path)
    if file is None:
        return None
    opened = open_note(path, file)
    if opened is None:
        return None
    with opened:
        return opened.read()


def open_note(path: str, file: Path) -> BinaryIO | None:
    """Open the file of a note, which may not be a link; None if it is gone. Raises PathRefused if that fails."""
    try:
        return os.fdopen(os.open(file, _FLAGS), "rb")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PathRefused(f"The note {path!r} cannot be read: {error.strerror}.") from error


def text_of(path: str, content: bytes) -> str:
    """Return the text of a note that is to be changed. Raises PathRefused if it is not UTF-8: bytes would be lost."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        message = f"The note {path!r} is not changed, because it is not UTF-8 from byte {error.start} on."
        raise PathRefused(message, remedy="Save it as UTF-8.") from error
