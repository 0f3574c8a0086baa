"""A statement as a list item of Markdown, which people may edit: its category, its text, and a comment with the rest.

- [preference] I prefer tea. <!-- memory: 0b4e…-… 0.7 2026-11-23T13:00:00.000Z --> <!-- from: web, 2026-11-23 -->

The comment begins with a name, and holds an id, a number from 0 to 1, a time, and words or `name=value` pairs. The
second comment is the mark of all notes for text that is not the owner's. The notes of long-term memories and of their
inbox consist of such items.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from math import isnan
from typing import TYPE_CHECKING, Protocol, cast
from urllib.parse import quote, unquote

from memoriter.extensions.longterm._records import (
    CATEGORIES,
    ORIGINS,
    Span,
    is_memory_id,
    least_trusted,
    mark_of_principal,
)
from memoriter.values import dataclass
from memoriter.workspace import authors_of, scan_blocks, without_mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memoriter.extensions.longterm._records import Category, Origin, Speaker

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
"""The edge of a code block, in which items are no statements."""
_COMMENT = re.compile(r"<(\\*)!--")
_ESCAPED = re.compile(r"<\\(\\*)!--")


class Statement(Protocol):
    """What memories and candidates have in common."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def category(self) -> Category: ...
    @property
    def created_at(self) -> float: ...
    @property
    def session(self) -> str: ...
    @property
    def span(self) -> Span | None: ...
    @property
    def supersedes(self) -> str: ...
    @property
    def principal(self) -> str: ...


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

    Args:
        name: the first word of the comment, such as `memory`.
        statement: what the item says.
        number: 0..1.
        values: further words of the comment, or pairs of a name and a value.
        origin: what the mark `from` names; empty: the owner's words, without a mark.
    """
    first, *rest = _COMMENT.sub(r"<\\\1!--", statement.text).split("\n")
    time = _iso(statement.created_at)
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


def _iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
