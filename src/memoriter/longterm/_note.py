"""The Markdown form of long-term memories: one list item for each in `memory/long-term.md`, which people may edit.

- [preference] I prefer tea. <!-- memory: 0b4e…-… 0.7 2026-11-23T13:00:00.000Z --> <!-- from: web, 2026-11-23 -->

The comment holds what a reader of the text does not need. The second mark is there if the owner did not write the text;
it is the mark of all notes, so a search of the notes respects it, too. An item without a comment is a memory that the
owner wrote by hand.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote

from memoriter.longterm._own_statements import OwnStatements, statement_key
from memoriter.longterm._records import (
    CATEGORIES,
    DEFAULT_CATEGORY,
    DEFAULT_IMPORTANCE,
    ORIGINS,
    LongTermMemory,
    Origin,
    Span,
    Speaker,
    is_memory_id,
    least_trusted,
    mark_of_principal,
)
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PATH = "memory/long-term.md"
HEADER = """\
# Long-term memory

<!-- Each item is one memory. You may edit, add and delete items; then run `memoriter ltm rebuild`. -->

"""
_ITEM = re.compile(
    r"[-*+] (?:\[(?P<category>[a-z]+)\] )?(?P<text>.*?)"
    r"(?: <!-- memory: (?P<data>[^<>]*?) -->)?(?: <!-- from: (?P<origin>[^<>]*?) -->)?[ \t\r]*"
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
"""The edge of a code block, in which items are no memories."""
_COMMENT = re.compile(r"<(\\*)!--")
_ESCAPED = re.compile(r"<\\(\\*)!--")


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
    """What the owner wrote or approved in a folder of somebody else."""


def clean_text(text: str) -> str:
    """Return a text as the note can hold it: without white space at the ends of lines, NUL and lone surrogates."""
    plain = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    lines = plain.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def entry_text(memory: LongTermMemory) -> str:
    """Return a memory as a list item, with a line feed at its end."""
    first, *rest = _COMMENT.sub(r"<\\\1!--", memory.text).split("\n")
    day = _iso(memory.created_at)[:10]
    mark = "" if memory.origin == "owner" else f" <!-- from: {memory.origin}, {day} -->"
    head = f"- [{memory.category}] {first} <!-- memory: {_data_text(memory)} -->{mark}"
    return "\n".join([head, *(f"  {line}" if line else "" for line in rest)]) + "\n"


def parse_note(text: str, rules: NoteRules) -> list[NoteEntry]:
    """Return the memories of a note in its order. Of several items with the same id, the later ones get new ids."""
    lines = text.split("\n")
    entries, used, at, fence = list[NoteEntry](), set[str](), 0, ""
    while at < len(lines):
        if edge := _FENCE.match(lines[at]):
            fence = "" if fence and edge[1].startswith(fence) else fence or edge[1]
        match = None if fence else _ITEM.fullmatch(lines[at])
        end = _end_of_item(lines, at) if match else at + 1
        if match:
            words = _unescaped(match["text"], match["category"])
            body = clean_text("\n".join([words, *map(_dedented, lines[at + 1 : end])]))
            if body:
                memory, complete = _memory_of(match, body, rules)
                marked = mark_of_principal(rules.principal) in ("", *(match["data"] or "").split())
                if memory.id in used:
                    memory, complete = replace(memory, id=rules.new_id()), False
                used.add(memory.id)
                entries.append(NoteEntry(memory, at, end, complete, marked))
        at = end
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
    comments = [match["data"] or "" for line in text.split("\n") if (match := _ITEM.fullmatch(line))]
    words = [word for comment in comments for word in comment.split()[3:]]
    return {unquote(word.removeprefix("principal=")) for word in words if word.startswith("principal=")}


def _end_of_item(lines: Sequence[str], at: int) -> int:
    """Return the line after an item: indented lines belong to it, also behind blank ones."""
    end = at + 1
    for number in range(at + 1, len(lines)):
        line = lines[number].rstrip("\r")
        if line.strip():
            if not line.startswith((" ", "\t")):
                break
            end = number + 1
    return end


def _dedented(line: str) -> str:
    return _ESCAPED.sub(r"<\1!--", line[2:] if line.startswith("  ") else line.lstrip(" \t"))


def _unescaped(words: str, category: str | None) -> str:
    prefix = f"[{category}] " if category and category not in CATEGORIES else ""
    return prefix + _ESCAPED.sub(r"<\1!--", words)


def _data_text(memory: LongTermMemory) -> str:
    parts = [memory.id, f"{memory.importance:g}", _iso(memory.created_at)]
    if memory.session:
        parts.append(f"session={quote(memory.session, safe=':/@+')}")
    if span := memory.span:
        parts.append(f"span={span.speaker}:{span.message}:{span.start}:{span.end}")
    if memory.supersedes:
        parts.append(f"supersedes={memory.supersedes}")
    parts += [mark] if (mark := mark_of_principal(memory.principal)) else []
    parts += ["superseded"] * (memory.status == "superseded") + ["approved"] * memory.approved
    return " ".join(parts)


def _memory_of(match: re.Match[str], body: str, rules: NoteRules) -> tuple[LongTermMemory, bool]:
    """Return the memory of an item, and whether it has an id. What cannot be read of the comment is left out."""
    category = match["category"] if match["category"] in CATEGORIES else DEFAULT_CATEGORY
    words = (match["data"] or "").split()
    complete = bool(words) and is_memory_id(words[0])
    values: dict[str, str] = dict(cast("Any", (word.partition("=")[::2] for word in words[3:])))
    supersedes = values.get("supersedes", "").lower()
    memory = LongTermMemory(
        id=words[0].lower() if complete else rules.new_id(),
        text=body,
        importance=_importance(words[1]) if len(words) > 1 else DEFAULT_IMPORTANCE,
        category=cast("Any", category),
        created_at=_seconds(words[2], rules.now) if len(words) > 2 else rules.now,
        origin=_origin(match["origin"], rules.origin),
        principal=rules.principal,
        session=unquote(values.get("session", "")),
        span=_span(values.get("span", "")),
        status="superseded" if "superseded" in values else "active",
        supersedes=supersedes if is_memory_id(supersedes) else "",
        approved="approved" in values and rules.origin == "owner",
        note=rules.note,
    )
    return _as_recorded(memory, rules.own), complete


def _as_recorded(memory: LongTermMemory, own: OwnStatements) -> LongTermMemory:
    """Return a memory of a project as the owner's if they wrote it, and as approved if they approved it."""
    if not (own.written or own.approved):
        return memory
    key = statement_key(memory)
    origin = "owner" if key in own.written else memory.origin
    return replace(memory, origin=origin, approved=memory.approved or key in own.approved)


def _origin(mark: str | None, default: Origin) -> Origin:
    """Return the origin in a mark, which is never more trusted than what an item without a mark would have."""
    if mark is None:
        return default
    word = mark.split(",")[0].split()[0].lower() if mark.split(",")[0].split() else ""
    known: dict[str, Origin] = {each: each for each in ORIGINS}
    origin = known.get(word, "import")
    return least_trusted(origin, default)


def _importance(word: str) -> float:
    try:
        return min(max(float(word), 0.0), 1.0) if float(word) == float(word) else DEFAULT_IMPORTANCE
    except ValueError:
        return DEFAULT_IMPORTANCE


def _seconds(word: str, default: float) -> float:
    try:
        moment = datetime.fromisoformat(word)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), 3)
    except (ValueError, OverflowError):
        return default


def _span(text: str) -> Span | None:
    speaker, _, numbers = text.partition(":")
    try:
        message, start, end = (int(part) for part in numbers.split(":"))
    except ValueError:
        return None
    return Span(cast("Speaker", speaker), message, start, end) if speaker in {"user", "assistant", "tool"} else None


def _iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
