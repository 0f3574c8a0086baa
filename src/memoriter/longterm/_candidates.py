"""The Markdown form of the inbox: one list item for each candidate in `memory/inbox.md`, which people may edit.

- [fact] I live in Oslo. <!-- candidate: 0b4… 0.7 2026-11-23T13:00:00.000Z text=1f… --> <!-- from: inbox, 2026-11-23 -->

The first comment holds what a reader does not need. The second one marks the text as not yet accepted, so that no
search of the notes takes it for the owner's. An item without a comment is a candidate that somebody wrote by hand.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, unquote
from uuid import UUID

from memoriter.longterm._records import (
    CATEGORIES,
    DEFAULT_CATEGORY,
    ORIGINS,
    Category,
    Origin,
    Span,
    Speaker,
    is_memory_id,
    mark_of_principal,
)
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

PATH = "memory/inbox.md"
HEADER = """\
# Inbox of long-term memories

<!-- You may edit and delete candidates. `memoriter ltm accept` stores them, and `memoriter ltm reject` drops them. -->

"""
EXPIRY_DAYS = 30
"""Days after which a candidate that nobody accepted is dropped."""
MOST_REJECTED = 500
"""Rejected texts that the inbox remembers, as hashes, so that they are not proposed again."""
_ITEM = re.compile(
    r"[-*+] (?:\[(?P<category>[a-z]+)\] )?(?P<text>.*?)"
    r"(?: <!-- candidate: (?P<data>[^<>]*?) -->)?(?: <!-- from: [^<>]*? -->)?[ \t\r]*"
)
_REJECTED = re.compile(r"<!-- rejected: ([0-9a-f ]*) -->[ \t\r]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
"""The edge of a code block, in which items are no memories."""
_COMMENT = re.compile(r"<(\\*)!--")
_ESCAPED = re.compile(r"<\\(\\*)!--")
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that waits for the owner's decision."""

    id: str
    """A UUID in lower case."""
    text: str
    category: Category
    score: float
    """0..1, of the capture rules; 1 if somebody wrote it by hand."""
    created_at: float
    """Seconds since 1970."""
    origin: Origin = "owner"
    session: str = ""
    span: Span | None = None
    """The place of the words in the conversation; None if the text was edited, as it is no quotation then."""
    supersedes: str = ""
    """The id of the memory that it would replace; empty: none."""
    principal: str = ""
    """The configured principal whose memory it would be; empty: that of the folder."""

    def expires_at(self, days: float = EXPIRY_DAYS) -> float:
        """Return the time at which it is dropped, in seconds since 1970."""
        return self.created_at + days * 86_400


@dataclass(frozen=True, slots=True)
class Inbox:
    """What the inbox note contains."""

    candidates: tuple[Candidate, ...] = ()
    rejected: tuple[str, ...] = ()
    """Hashes of rejected texts, the oldest first."""

    def has(self, text: str) -> bool:
        """Return whether a statement waits here, or was rejected. Case and punctuation make no difference."""
        mark = text_hash(text)
        return mark in self.rejected or any(text_hash(each.text) == mark for each in self.candidates)


def text_hash(text: str) -> str:
    """Return a hash of the words of a text, 16 hexadecimal digits."""
    return sha256(" ".join(_WORDS.findall(text.casefold())).encode("utf-8", "replace")).hexdigest()[:16]


def candidate_text(candidate: Candidate) -> str:
    """Return a candidate as a list item, with a line feed at its end."""
    first, *rest = _COMMENT.sub(r"<\\\1!--", candidate.text).split("\n")
    parts = [candidate.id, f"{candidate.score:g}", _iso(candidate.created_at), f"text={text_hash(candidate.text)}"]
    if candidate.origin != "owner":
        parts.append(f"origin={candidate.origin}")
    if candidate.session:
        parts.append(f"session={quote(candidate.session, safe=':/@+')}")
    if span := candidate.span:
        parts.append(f"span={span.speaker}:{span.message}:{span.start}:{span.end}")
    if candidate.supersedes:
        parts.append(f"supersedes={candidate.supersedes}")
    if mark := mark_of_principal(candidate.principal):
        parts.append(mark)
    mark = f"<!-- from: inbox, {_iso(candidate.created_at)[:10]} -->"
    head = f"- [{candidate.category}] {first} <!-- candidate: {' '.join(parts)} --> {mark}"
    return "\n".join([head, *(f"  {line}" if line else "" for line in rest)]) + "\n"


def parse_inbox(text: str, *, now: float) -> Inbox:
    """Return the candidates of the note, and what was rejected.

    Args:
        text: the note.
        now: seconds since 1970; the time of a candidate that somebody wrote by hand.
    """
    rejected = [mark for line in text.split("\n") if (match := _REJECTED.fullmatch(line)) for mark in match[1].split()]
    return Inbox(tuple(candidate for candidate, _, _ in _items(text, now)), tuple(rejected[-MOST_REJECTED:]))


def edited_inbox(text: str, new: Inbox, *, now: float) -> str:
    """Return the note with the candidates of `new` and its rejected texts; all other lines stay as they are."""
    lines, wanted = text.split("\n"), {each.id: each for each in new.candidates}
    items = _items(text, now)
    for candidate, start, end in reversed(items):
        kept = wanted.get(candidate.id)
        if kept is None:
            del lines[start:end]
        elif kept != candidate:
            lines[start:end] = candidate_text(kept).removesuffix("\n").split("\n")
    lines = [line for line in lines if not _REJECTED.fullmatch(line)]
    while lines and not lines[-1].strip():
        lines.pop()
    there = {candidate.id for candidate, _, _ in items}
    added = [candidate_text(each).removesuffix("\n") for each in new.candidates if each.id not in there]
    if not lines:
        lines = HEADER.rstrip("\n").split("\n")
    if added and not _ITEM.fullmatch(lines[-1]) and not lines[-1].startswith((" ", "\t")):
        lines.append("")
    lines += added
    if new.rejected:
        lines += ["", f"<!-- rejected: {' '.join(new.rejected[-MOST_REJECTED:])} -->"]
    return "\n".join(lines) + "\n"


def without_expired(inbox: Inbox, now: float, days: float = EXPIRY_DAYS) -> Inbox:
    """Return the inbox without the candidates that nobody accepted in time."""
    return replace(inbox, candidates=tuple(each for each in inbox.candidates if each.expires_at(days) > now))


def with_rejected(inbox: Inbox, ids: Iterable[str]) -> Inbox:
    """Return the inbox without these candidates, whose texts are not proposed again."""
    dropped = set(ids)
    marks = [text_hash(each.text) for each in inbox.candidates if each.id in dropped]
    kept = tuple(each for each in inbox.candidates if each.id not in dropped)
    return Inbox(kept, tuple(dict.fromkeys((*inbox.rejected, *marks)))[-MOST_REJECTED:])


def _items(text: str, now: float) -> list[tuple[Candidate, int, int]]:
    """Return the candidates, each with its first line and the line after its last one (0-based)."""
    lines, at, used, fence = text.split("\n"), 0, set[str](), ""
    items: list[tuple[Candidate, int, int]] = []
    while at < len(lines):
        end = at + 1
        if edge := _FENCE.match(lines[at]):
            fence = "" if fence and edge[1].startswith(fence) else fence or edge[1]
        if not fence and (match := _ITEM.fullmatch(lines[at])):
            end = _end_of_item(lines, at)
            known = match["category"] if match["category"] in CATEGORIES else None
            head = match["text"] if known or not match["category"] else f"[{match['category']}] {match['text']}"
            rest = (line[2:] if line.startswith("  ") else line.lstrip() for line in lines[at + 1 : end])
            body = _ESCAPED.sub(r"<\1!--", "\n".join([head, *rest])).replace("\r", "").strip()
            if body:
                candidate = _candidate_of(body, known, match["data"] or "", now)
                while candidate.id in used:
                    candidate = replace(candidate, id=_id_of(f"{candidate.id} {body}"))
                used.add(candidate.id)
                items.append((candidate, at, end))
        at = end
    return items


def _id_of(text: str) -> str:
    """Return the id of a candidate that has none: it depends on the text alone, so it stays the same."""
    return str(UUID(bytes=sha256(text.encode("utf-8", "replace")).digest()[:16], version=4))


def _end_of_item(lines: list[str], at: int) -> int:
    """Return the line after an item: indented lines belong to it, also behind blank ones."""
    end = at + 1
    for number in range(at + 1, len(lines)):
        if lines[number].strip():
            if not lines[number].startswith((" ", "\t")):
                break
            end = number + 1
    return end


def _candidate_of(body: str, category: str | None, data: str, now: float) -> Candidate:
    """Return the candidate of an item. What cannot be read of its comment is left out."""
    words = data.split()
    values = {name: value for name, _, value in (word.partition("=") for word in words[3:])}
    origin, supersedes = values.get("origin", "owner"), values.get("supersedes", "")
    verbatim = values.get("text") == text_hash(body)
    return Candidate(
        id=words[0].lower() if words and is_memory_id(words[0]) else _id_of(body),
        text=body,
        category=cast("Category", category or DEFAULT_CATEGORY),
        score=_score(words[1]) if len(words) > 1 else 1.0,
        created_at=_seconds(words[2], now) if len(words) > 2 else now,
        origin=origin if origin in ORIGINS else "import",
        session=unquote(values.get("session", "")),
        span=_span(values.get("span", "")) if verbatim else None,
        supersedes=supersedes.lower() if is_memory_id(supersedes) else "",
        principal=unquote(values.get("principal", "")),
    )


def _score(word: str) -> float:
    try:
        return min(max(float(word), 0.0), 1.0)
    except ValueError:
        return 0.0


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
