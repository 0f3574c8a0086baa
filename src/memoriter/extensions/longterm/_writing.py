"""The file of the long-term memories: read once for each change of it, and written without losing other edits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from memoriter.errors import WriteConflict
from memoriter.extensions.longterm._note import HEADER, PATH, edited_note, entry_text, parse_note
from memoriter.extensions.longterm._own_statements import OwnStatements
from memoriter.ids import bytes_hash
from memoriter.journal import acting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoriter.extensions.longterm._note import NoteEntry, NoteRules
    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.workspace import Workspace

TRIES = 5
"""Attempts to write while other programs change the note."""


class NoteFile:
    """`memory/long-term.md` of a folder of notes."""

    def __init__(self, workspace: Workspace, rules: Callable[[], NoteRules]) -> None:
        self._workspace = workspace
        self._rules = rules
        self._parsed: tuple[tuple[str, OwnStatements], list[NoteEntry]] = ("", OwnStatements()), []
        self._lock = threading.Lock()

    def content(self) -> bytes:
        """Return the bytes of the note; none if it does not exist. Raises PathRefused."""
        return self._workspace.content(PATH) or b""

    def entries(self) -> list[NoteEntry]:
        """Return the memories of the note."""
        return self.parsed()[1]

    def parsed(self) -> tuple[bytes, list[NoteEntry]]:
        """Return the bytes of the note and its memories. A new item keeps its id until the note changes."""
        content = self.content()
        rules = self._rules()
        key = bytes_hash(content), rules.own
        with self._lock:
            if self._parsed[0] != key:
                text = decoded(content)
                authors = self._workspace.authors(PATH, text.split("\n"))
                self._parsed = key, parse_note(text, rules, authors)
            return content, self._parsed[1]

    def add(self, *memories: LongTermMemory) -> None:
        """Append memories at once. Raises PathRefused, and WriteError if nothing was written."""
        from memoriter.workspace.writing import Addition

        before = ""

        def compose(content: bytes) -> Addition:
            nonlocal before
            before = decoded(content)
            return Addition("".join(map(entry_text, memories)), "" if content.strip() else HEADER)

        with acting(who=next((each.origin for each in memories), None)):
            self._workspace.append(PATH, compose)
        if lines := "".join(entry_text(each) for each in memories if each.origin == "token").split("\n")[:-1]:
            self._workspace.record_author(PATH, lines, before=before)

    def change(self, changes: Mapping[str, LongTermMemory | None]) -> int:
        """Replace or remove (None) memories by their ids, and return how many of them the note has.

        Raises:
            WriteError: the note is unchanged.
        """
        for number in range(TRIES):
            content, entries = self.parsed()
            count = sum(entry.memory.id in changes for entry in entries)
            if not count:
                return 0
            try:
                text = edited_note(decoded(content), entries, changes)
                self._workspace.replace(PATH, text, expected=bytes_hash(content))
            except WriteConflict:
                if number == TRIES - 1:
                    raise
            else:
                return count
        return 0


def decoded(content: bytes) -> str:
    """Return the text of a note; invalid bytes become U+FFFD."""
    return content.decode("utf-8-sig", "replace")
