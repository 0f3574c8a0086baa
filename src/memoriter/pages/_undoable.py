"""What was done to whole notes on pages and can be taken back while the server runs."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from memoriter.errors import UsageError
from memoriter.ids import bytes_hash, content_hash
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

MOST = 20
"""Things that can be taken back, the latest."""
MOST_BYTES = 32_000_000
"""Bytes of notes that are kept for it."""


class Done(Protocol):
    """Something that was done, with what taking it back needs."""

    @property
    def paths(self) -> Collection[str]:
        """The notes of which it has text."""
        ...

    @property
    def size(self) -> int:
        """Bytes of this text."""
        ...


@dataclass(frozen=True, slots=True)
class DeletedNote:
    """A note that was deleted on a page."""

    path: str
    file: Path
    content: bytes

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,)

    @property
    def size(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True)
class ChangedNote:
    """A note whose links follow the new name of another one."""

    path: str
    file: Path
    before: bytes
    after: bytes
    lines: tuple[tuple[int, str, str], ...]
    """The number of each line that changes, and its text before and afterwards."""


@dataclass(frozen=True, slots=True)
class RenamePlan:
    """What renaming a note would do."""

    old: str
    new: str
    changes: tuple[ChangedNote, ...]
    """The other notes whose links change."""
    own: ChangedNote
    """The renamed note itself, whose relative links change if it comes into another folder."""
    left: tuple[str, ...]
    """Notes with links that stay as they are, because their files are not written here."""

    @property
    def paths(self) -> set[str]:
        return {self.old, self.new, *(each.path for each in self.changes)}

    @property
    def size(self) -> int:
        return sum(len(each.before) + len(each.after) for each in (self.own, *self.changes))

    @property
    def shown(self) -> list[ChangedNote]:
        """The notes whose links change."""
        return [*([self.own] if self.own.lines else []), *self.changes]

    @property
    def digest(self) -> str:
        """Stands for all that was planned: it differs if any of the notes has changed since."""
        parts = [each for note in (self.own, *self.changes) for each in (note.path, bytes_hash(note.before))]
        return content_hash("\n".join([self.old, self.new, *parts, *self.left]))


AnyDone = TypeVar("AnyDone", bound=Done)


class Undoable(Generic[AnyDone]):
    """What callers did on pages of this server, by keys. Several threads may ask."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, AnyDone]] = {}
        self._lock = threading.Lock()

    def add(self, done: AnyDone, caller: str) -> str:
        """Keep what a caller did, and return its key. The oldest ones are dropped."""
        key = secrets.token_urlsafe(12)
        with self._lock:
            self._kept[key] = (caller, done)
            while len(self._kept) > MOST or sum(each.size for _, each in self._kept.values()) > MOST_BYTES:
                del self._kept[next(iter(self._kept))]
        return key

    def get(self, key: str, caller: str) -> AnyDone:
        """Return what this caller did. Raises UsageError if it is not kept."""
        owner, done = self._kept.get(key, ("", None))
        if done is None or owner != caller:
            remedy = "Look in a backup or in the history of the folder."
            raise UsageError("What is needed to take this back is not kept any more.", remedy=remedy)
        return done

    def of(self, caller: str) -> list[tuple[str, AnyDone]]:
        """Return the keys and what this caller did, the latest first."""
        return [(key, done) for key, (owner, done) in reversed(self._kept.items()) if owner == caller]

    def drop_path(self, path: str) -> None:
        """Keep nothing any longer that has text of a note, because some of it was forgotten."""
        with self._lock:
            self._kept = {key: each for key, each in self._kept.items() if path not in each[1].paths}

    def drop(self, key: str) -> None:
        """Do not keep something any longer, because it was taken back."""
        with self._lock:
            self._kept.pop(key, None)
