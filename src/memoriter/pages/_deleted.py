"""The notes that were deleted on pages, which can be put back while the server runs."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING

from memoriter.errors import UsageError
from memoriter.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

MOST_DELETED = 20
"""Deleted notes that can be put back, the latest."""
MOST_BYTES = 32_000_000
"""Bytes of deleted notes that are kept."""


@dataclass(frozen=True, slots=True)
class DeletedNote:
    """A note that was deleted on a page, and can be put back while the server runs."""

    key: str
    path: str
    file: Path
    content: bytes
    caller: str


class DeletedNotes:
    """The notes that were deleted on pages of this server."""

    def __init__(self) -> None:
        self._notes: dict[str, DeletedNote] = {}
        self._lock = threading.Lock()

    def add(self, path: str, file: Path, content: bytes, caller: str) -> str:
        """Keep a note, and return its key. The oldest ones are dropped."""
        key = secrets.token_urlsafe(12)
        with self._lock:
            self._notes[key] = DeletedNote(key, path, file, content, caller)
            while (
                len(self._notes) > MOST_DELETED or sum(len(each.content) for each in self._notes.values()) > MOST_BYTES
            ):
                del self._notes[next(iter(self._notes))]
        return key

    def get(self, key: str, caller: str) -> DeletedNote:
        """Return a note that this caller has deleted. Raises UsageError."""
        note = self._notes.get(key)
        if note is None or note.caller != caller:
            raise UsageError(
                "The note is not kept any more.", remedy="Look in a backup or in the history of the folder."
            )
        return note

    def of(self, caller: str) -> list[DeletedNote]:
        """Return what this caller has deleted, the latest first."""
        return [each for each in reversed(self._notes.values()) if each.caller == caller]

    def drop_path(self, path: str) -> None:
        """Do not keep a note any longer whose text was forgotten."""
        for note in [each for each in self._notes.values() if each.path == path]:
            self.drop(note.key)

    def drop(self, key: str) -> None:
        """Do not keep a note any longer, because it was put back."""
        with self._lock:
            self._notes.pop(key, None)
