"""Which statements in the notes of a project the owner said, wrote or approved on this machine.

Anybody who works on a project can write into its notes, so what such a note says about its authors does not count. This
file does: it is in memoriter's home, and holds a hash of the id and the text of each statement: of memories, and of
what was captured from the owner's own messages and waits in the inbox.
"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import WriteError, sentence
from memoriter.permissions import folder_lock, make_private_folder, replace_private
from memoriter.plain_file import open_plain
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memoriter.extensions.longterm._item import Statement
    from memoriter.extensions.longterm._records import LongTermMemory

LONGEST = 16 << 20
"""Maximum bytes of the file."""
MOST_CAPTURED = 500
"""Captured statements that the file remembers."""


@dataclass(frozen=True, slots=True)
class OwnStatements:
    """Hashes of statements."""

    written: frozenset[str] = frozenset()
    """By the owner."""
    approved: frozenset[str] = frozenset()
    """Statements of others that the owner approved."""
    captured: tuple[str, ...] = ()
    """Candidates of the inbox in the owner's words, the oldest first."""


def statement_key(statement: Statement) -> str:
    """Return the hash of a statement, 32 hexadecimal digits. Another text has another hash."""
    return sha256(f"{statement.id}\n{statement.text}".encode("utf-8", "replace")).hexdigest()[:32]


class OwnStatementsFile:
    """The file for one project. Several processes may change it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> OwnStatements:
        """Return the statements; none if the file does not exist or cannot be used."""
        try:
            with open_plain(self._file, owned=True) as opened:
                parsed = json.loads(opened.read(LONGEST))
        except (OSError, ValueError, RecursionError):
            return OwnStatements()
        written, approved, captured = (_texts(parsed, name) for name in ("written", "approved", "captured"))
        return OwnStatements(frozenset(written), frozenset(approved), captured)

    def add(self, memories: Sequence[LongTermMemory]) -> None:
        """Record which of these memories the owner wrote or approved. Raises WriteError."""
        written = {statement_key(each) for each in memories if each.origin == "owner"}
        approved = {statement_key(each) for each in memories if each.approved}
        if written or approved:
            self._change(lambda own: replace(own, written=own.written | written, approved=own.approved | approved))

    def remove(self, memory: LongTermMemory) -> None:
        """Remove a statement that was forgotten. Raises WriteError."""
        key = statement_key(memory)
        if key in self.read().written | self.read().approved:
            self._change(lambda own: replace(own, written=own.written - {key}, approved=own.approved - {key}))

    def add_captured(self, candidates: Sequence[Statement]) -> None:
        """Record candidates of the inbox in the owner's words. Raises WriteError."""
        keys = [statement_key(each) for each in candidates]
        if keys:
            self._change(
                lambda own: replace(own, captured=tuple(dict.fromkeys((*own.captured, *keys)))[-MOST_CAPTURED:])
            )

    def remove_captured(self, candidate: Statement) -> None:
        """Remove a candidate that became a memory, which has a record of its own. Raises WriteError."""
        key = statement_key(candidate)
        if key in self.read().captured:
            self._change(lambda own: replace(own, captured=tuple(each for each in own.captured if each != key)))

    def _change(self, change: Callable[[OwnStatements], OwnStatements]) -> None:
        try:
            make_private_folder(self._file.parent)
            with folder_lock(self._file.parent):
                new = change(self.read())
                captured = {"captured": new.captured} if new.captured else {}
                rows = {"written": sorted(new.written), "approved": sorted(new.approved), **captured}
                replace_private(self._file, json.dumps(rows).encode())
        except OSError as error:
            message = f"The file {str(self._file)!r} was not written: {sentence(error.strerror or error)}"
            raise WriteError(message, remedy="Check the folder, its permissions and the free space.") from error


def _texts(parsed: object, name: str) -> tuple[str, ...]:
    rows = cast("dict[str, Any]", parsed).get(name) if isinstance(parsed, dict) else None
    return tuple(each for each in cast("list[Any]", rows) if isinstance(each, str)) if isinstance(rows, list) else ()
