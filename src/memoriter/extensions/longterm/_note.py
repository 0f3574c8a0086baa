"""The note of long-term memories, `memory/long-term.md`, with one list item for each. People may edit it.

- [preference] I prefer tea. <!-- memory: 0b4e…-… 0.7 2026-11-23T13:00:00.000Z --> <!-- from: web, 2026-11-23 -->

An item without a comment is a memory that the owner wrote by hand. The comment begins with a name, and holds an id, a
number from 0 to 1, a time, and words or `name=value` pairs. The second comment is the mark of all notes for text that
is not the owner's. The inbox consists of such items, too.

Anybody who works on a project can write into its notes, so what such a note says about its authors does not count. What
counts is the file of `OwnStatements` in memoriter's home, with a hash of the id and the text of each statement that the
owner said, wrote or approved on this machine.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from math import isnan
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote, unquote

from memoriter.api_json import iso_time
from memoriter.errors import WriteConflict, WriteError, sentence
from memoriter.extensions.longterm._records import (
    CATEGORIES,
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    ORIGINS,
    LongTermMemory,
    Origin,
    Span,
    is_memory_id,
    least_trusted,
    mark_of_principal,
)
from memoriter.ids import bytes_hash
from memoriter.journal import acting
from memoriter.permissions import folder_lock, make_private_folder, replace_private
from memoriter.plain_file import open_plain
from memoriter.values import dataclass
from memoriter.workspace import authors_of, scan_blocks, without_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from memoriter.extensions.longterm._records import Category, Speaker, Statement
    from memoriter.workspace import Workspace

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
"""The edge of a code block, in which items are no statements."""
_COMMENT = re.compile(r"<(\\*)!--")
_ESCAPED = re.compile(r"<\\(\\*)!--")
LONGEST_RECORD = 16 << 20
"""Maximum bytes of the file of `OwnStatements`."""
MOST_CAPTURED = 500
"""Captured statements that it remembers."""
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
class Item:
    """A list item, with what could be read of its comment."""

    category: Category | None
    text: str
    words: tuple[str, ...]
    """The comment, without its name; empty: the item has none, because somebody wrote it by hand."""
    mark: str | None
    """Who wrote it, as the comment `from` says, or a mark around it, or a record; None: the owner."""
    start: int
    """First line, 0-based."""
    end: int
    """The line after the last one."""

    @property
    def id(self) -> str:
        """The id in lower case; empty if the comment has none."""
        return self.words[0].lower() if self.words and is_memory_id(self.words[0]) else ""

    @property
    def values(self) -> dict[str, str]:
        """The named values of the comment; the value of a word is empty."""
        return {name: value for name, _, value in (word.partition("=") for word in self.words[3:])}

    @property
    def session(self) -> str:
        return unquote(self.values.get("session", ""))

    @property
    def principal(self) -> str:
        return unquote(self.values.get("principal", ""))

    @property
    def supersedes(self) -> str:
        identifier = self.values.get("supersedes", "").lower()
        return identifier if is_memory_id(identifier) else ""

    @property
    def span(self) -> Span | None:
        speaker, _, numbers = self.values.get("span", "").partition(":")
        try:
            message, start, end = (int(part) for part in numbers.split(":"))
        except ValueError:
            return None
        return Span(cast("Speaker", speaker), message, start, end) if speaker in {"user", "assistant", "tool"} else None

    def number(self, missing: float, unreadable: float) -> float:
        """Return the number of the comment, which is between 0 and 1."""
        if len(self.words) < 2:
            return missing
        try:
            number = float(self.words[1])
        except ValueError:
            return unreadable
        return unreadable if isnan(number) else min(max(number, 0.0), 1.0)

    def time(self, default: float) -> float:
        """Return the time of the comment in seconds since 1970, in milliseconds."""
        try:
            moment = datetime.fromisoformat(self.words[2])
            return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), 3)
        except (IndexError, ValueError, OverflowError):
            return default


def origin_of_mark(mark: str | None, default: Origin) -> Origin:
    """Return the origin in a mark, which is never more trusted than what an item without a mark would have."""
    if mark is None:
        return default
    if " via HTTP" in mark:  # with somebody's token, whose name may be `owner`
        return least_trusted("token", default)
    word = mark.split(",")[0].split()[0].lower() if mark.split(",")[0].split() else ""
    known: dict[str, Origin] = {each: each for each in ORIGINS}
    return least_trusted(known.get(word, "import"), default)


def clean_text(text: str) -> str:
    """Return a text as a note can hold it: without white space at the ends of lines, NUL and lone surrogates."""
    plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    lines = plain.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def item_text(name: str, statement: Statement, number: float, values: Sequence[str], origin: str = "") -> str:
    """Return a statement as a list item, with a line feed at its end.

    The comment has a name such as `memory`, a number 0..1, and values after what all statements have. The mark `from`
    names the origin; empty: they are the owner's words, without a mark.
    """
    first, *rest = _COMMENT.sub(r"<\\\1!--", statement.text).split("\n")
    time = iso_time(statement.created_at)
    words = [statement.id, f"{number:g}", time, *_common_values(statement), *values]
    mark = f" <!-- from: {origin}, {time[:10]} -->" if origin else ""
    head = f"- [{statement.category}] {first} <!-- {name}: {' '.join(words)} -->{mark}"
    return "\n".join([head, *(f"  {line}" if line else "" for line in rest)]) + "\n"


def items_of(text: str, name: str, authors: Sequence[str] = ()) -> Iterator[Item]:
    """Yield the items of a note that have a text, in their order. An item ends where the text of another author begins.

    The comments that are read begin with `name`. Without the authors of the lines, the marks in the note name them.
    """
    lines = text.split("\n")
    at = 0
    fenced = _fenced_lines(lines)
    by = authors or authors_of(lines)
    while at < len(lines):
        match = None if at in fenced else _pattern(name).fullmatch(lines[at])
        end = _end_of_item(lines, at, by) if match else at + 1
        if match:
            category: str = match["category"] or ""
            known = category if category in CATEGORIES else None
            head = match["text"] if known or not category else f"[{category}] {match['text']}"
            joined = "\n".join([head, *map(_dedented, lines[at + 1 : end])])
            if body := clean_text(_ESCAPED.sub(r"<\1!--", joined)):
                author = by[at] or match["mark"]
                yield Item(known, body, tuple((match["data"] or "").split()), author, at, end)
        at = end


def _fenced_lines(lines: Sequence[str]) -> set[int]:
    """Return the lines of code blocks. One that an entry of somebody else leaves open ends with that entry."""
    if not any(map(_FENCE.match, lines)):
        return set()
    return {at for block in scan_blocks(lines) if block.kind == "fence" for at in range(block.start, block.end)}


def comments_of(text: str, name: str) -> Iterator[list[str]]:
    """Yield the words of every comment of a name, also of one in a code block."""
    for line in text.split("\n"):
        if (match := _pattern(name).fullmatch(line)) and match["data"]:
            yield match["data"].split()


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of the first line of an item."""
    return re.compile(
        r"[-*+] (?:\[(?P<category>[a-z]+)\] )?(?P<text>(?:.*?[^ \t\r])??)"
        rf"(?:[ \t\r]* <!-- {name}: (?P<data>[^<>]*?) -->)?(?:[ \t\r]* <!-- from: (?P<mark>[^<>]*?) -->)?[ \t\r]*"
    )


def _end_of_item(lines: Sequence[str], at: int, authors: Sequence[str]) -> int:
    """Return the line after an item: indented lines of its author belong to it, also behind blank ones."""
    end = at + 1
    for number in range(at + 1, len(lines)):
        line = lines[number].rstrip("\r")
        if line.strip():
            if not line.startswith((" ", "\t")) or authors[number] != authors[at] or not without_mark(line).strip():
                break
            end = number + 1
    return end


def _dedented(line: str) -> str:
    return line[2:] if line.startswith("  ") else line.lstrip(" \t")


def _common_values(statement: Statement) -> Iterator[str]:
    if statement.session:
        yield f"session={quote(statement.session, safe=':/@+')}"
    if span := statement.span:
        yield f"span={span.speaker}:{span.message}:{span.start}:{span.end}"
    if statement.supersedes:
        yield f"supersedes={statement.supersedes}"
    if mark := mark_of_principal(statement.principal):
        yield mark


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
                parsed = json.loads(opened.read(LONGEST_RECORD))
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

    def parsed(self) -> tuple[bytes, list[NoteEntry]]:
        """Return the bytes of the note, none if it does not exist, and its memories. Raises PathRefused.

        A new item keeps its id until the note changes.
        """
        content = self._workspace.content(PATH) or b""
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
