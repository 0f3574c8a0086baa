"""The note of long-term memories, `memory/long-term.md`, with one list item for each. People may edit it.

- [preference] I prefer tea. <!-- memory: 0b4e…-… 0.7 2026-11-23T13:00:00.000Z --> <!-- from: web, 2026-11-23 -->

An item without a comment is a memory that the owner wrote by hand. `_item.py` has the form of all items.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from memoriter.errors import WriteConflict
from memoriter.extensions.longterm._item import comments_of, item_text, items_of, origin_of_mark
from memoriter.extensions.longterm._own_statements import OwnStatements, statement_key
from memoriter.extensions.longterm._records import (
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    LongTermMemory,
    Origin,
    mark_of_principal,
)
from memoriter.ids import bytes_hash
from memoriter.journal import acting
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.extensions.longterm._item import Item
    from memoriter.workspace import Workspace

PATH = "memory/long-term.md"
HEADER = """\
# Long-term memory

<!-- Each item is one memory. You may edit, add and delete items; then run `memoriter ltm rebuild`. -->

"""
_COMMENT_NAME = "memory"
TRIES = 5
"""Attempts to write while other programs change the note."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """A memory in the note."""

    memory: LongTermMemory
    start: int
    """First line, 0-based."""
    end: int
    """The line after the last one."""
    complete: bool
    """Whether the item has an id of its own; an item without one was written by hand."""
    marked: bool = True
    """Whether its comment names the principal, if one is configured."""


@dataclass(frozen=True, slots=True)
class NoteRules:
    """What is true of the memories of a note as far as the note does not say otherwise."""

    principal: str
    note: str
    new_id: Callable[[], str]
    now: float
    """Seconds since 1970; the time of an item that was written by hand."""
    origin: Origin = "owner"
    """Who writes items without a mark: the owner, or `import` in a folder of somebody else."""
    own: OwnStatements = OwnStatements()
    """What the owner approved; in a folder of somebody else, also what they wrote."""
    trusted: frozenset[Origin] = frozenset()
    """Whose memories, besides those of the owner, may be put before a turn."""


def entry_text(memory: LongTermMemory) -> str:
    """Return a memory as a list item, with a line feed at its end."""
    flags = ["superseded"] * (memory.status == "superseded")
    origin = "" if memory.origin == "owner" else memory.origin
    return item_text(_COMMENT_NAME, memory, memory.importance, flags, origin)


def parse_note(text: str, rules: NoteRules, authors: Sequence[str] = ()) -> list[NoteEntry]:
    """Return the memories of a note in its order. Of several items with the same id, the later ones get new ids.

    `authors` tells who wrote each line, as far as its mark or the record of what came with tokens says.
    """
    entries = list[NoteEntry]()
    used = set[str]()
    for item in items_of(text, _COMMENT_NAME, authors):
        memory = _memory_of(item, rules)
        complete = bool(item.id)
        marked = mark_of_principal(rules.principal) in ("", *item.words)
        if memory.id in used:
            memory = replace(memory, id=rules.new_id())
            complete = False
        used.add(memory.id)
        entries.append(NoteEntry(memory, item.start, item.end, complete, marked))
    return entries


def edited_note(text: str, entries: Sequence[NoteEntry], changes: Mapping[str, LongTermMemory | None]) -> str:
    """Return a note with some of its memories replaced, by their ids, or removed (None)."""
    lines = text.split("\n")
    for entry in reversed(entries):
        if entry.memory.id in changes:
            new = changes[entry.memory.id]
            lines[entry.start : entry.end] = [] if new is None else entry_text(new).removesuffix("\n").split("\n")
    return "\n".join(lines)


def principals_in(text: str) -> set[str]:
    """Return the configured principals that the comments of items name."""
    words = [word for comment in comments_of(text, _COMMENT_NAME) for word in comment[3:]]
    return {unquote(word.removeprefix("principal=")) for word in words if word.startswith("principal=")}


def _memory_of(item: Item, rules: NoteRules) -> LongTermMemory:
    """Return the memory of an item. What cannot be read of its comment is left out."""
    memory = LongTermMemory(
        id=item.id or rules.new_id(),
        text=item.text,
        importance=item.number(DEFAULT_IMPORTANCE, DEFAULT_IMPORTANCE),
        category=item.category or DEFAULT_CATEGORY,
        created_at=item.time(rules.now),
        origin=origin_of_mark(item.mark, rules.origin),
        principal=rules.principal,
        session=item.session,
        span=item.span,
        status="superseded" if "superseded" in item.values else "active",
        supersedes=item.supersedes,
        note=rules.note,
    )
    return _as_recorded(memory, rules)


def _as_recorded(memory: LongTermMemory, rules: NoteRules) -> LongTermMemory:
    """Return a memory with what the note itself cannot prove: that the owner wrote or approved it."""
    if rules.own.written or rules.own.approved:
        key = statement_key(memory)
        written = rules.origin != "owner" and key in rules.own.written
        memory = replace(memory, origin="owner" if written else memory.origin, approved=key in rules.own.approved)
    return replace(memory, author_trusted=memory.origin in rules.trusted)


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

        Raises WriteError: the note is unchanged.
        """

        def write() -> int:
            content, entries = self.parsed()
            if count := sum(entry.memory.id in changes for entry in entries):
                text = edited_note(decoded(content), entries, changes)
                self._workspace.replace(PATH, text, expected=bytes_hash(content))
            return count

        return repeated(write)


def repeated(write: Callable[[], T]) -> T:
    """Return the result of a write of a note, begun anew while somebody else writes it, too. Raises WriteConflict."""
    for _ in range(TRIES - 1):
        with suppress(WriteConflict):
            return write()
    return write()


def decoded(content: bytes) -> str:
    """Return the text of a note; invalid bytes become U+FFFD."""
    return content.decode("utf-8-sig", "replace")
