"""The note of the inbox, `memory/inbox.md`, with one list item for each candidate. People may edit it.

- [fact] I live in Oslo. <!-- candidate: 0b4… 0.7 2026-11-23T13:00:00.000Z text=1f… --> <!-- from: inbox, 2026-11-23 -->

The second comment marks the text as not yet accepted, so that no search of the notes takes it for the owner's. An item
without a comment is a candidate that somebody wrote by hand. In the folder of a project, a candidate is the owner's
only if it is recorded so (`_own_statements.py`). `_item.py` has the form of all items.
"""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING
from uuid import UUID

from memoriter.extensions.longterm._item import item_text, items_of, origin_of_mark
from memoriter.extensions.longterm._own_statements import OwnStatements, statement_key
from memoriter.extensions.longterm._records import DEFAULT_CATEGORY, ORIGINS, Category, Origin, Span, least_trusted
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoriter.extensions.longterm._item import Item

PATH = "memory/inbox.md"
HEADER = """\
# Inbox of long-term memories

<!-- You may edit and delete candidates. `memoriter ltm accept` stores them, and `memoriter ltm reject` drops them. -->

"""
EXPIRY_DAYS = 30
"""Days after which a candidate that nobody accepted is dropped."""
MOST_REJECTED = 500
"""Rejected texts that the inbox remembers, as hashes, so that they are not proposed again."""
_COMMENT_NAME = "candidate"
_REJECTED = re.compile(r"<!-- rejected: ([0-9a-f ]*) -->[ \t\r]*")
_BULLET = re.compile(r"[-*+] ")
_OWN_MARK = re.compile(r"inbox(?:, \d{4}-\d\d-\d\d)?")
"""The mark of the inbox itself, which says that nobody has accepted the text yet."""
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
    values = [f"text={text_hash(candidate.text)}"]
    if candidate.origin != "owner":
        values.append(f"origin={candidate.origin}")
    return item_text(_COMMENT_NAME, candidate, candidate.score, values, "inbox")


def parse_inbox(text: str, *, now: float, own: OwnStatements | None = None, authors: Sequence[str] = ()) -> Inbox:
    """Return the candidates of the note, and what was rejected.

    Args:
        text: the note.
        authors: who wrote each line; empty: what the marks in the note say.
        now: seconds since 1970; the time of a candidate that somebody wrote by hand.
        own: what is the owner's in the folder of a project; None: the folder is the owner's.
    """
    rejected = [mark for line in text.split("\n") if (match := _REJECTED.fullmatch(line)) for mark in match[1].split()]
    return Inbox(
        tuple(candidate for candidate, _, _ in _items(text, now, own, authors)), tuple(rejected[-MOST_REJECTED:])
    )


def edited_inbox(
    text: str, new: Inbox, *, now: float, own: OwnStatements | None = None, authors: Sequence[str] = ()
) -> str:
    """Return the note with the candidates of `new` and its rejected texts; all other lines stay as they are."""
    lines = text.split("\n")
    wanted = {each.id: each for each in new.candidates}
    items = _items(text, now, own, authors)
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
    if added and not _BULLET.match(lines[-1]) and not lines[-1].startswith((" ", "\t")):
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


def _items(
    text: str, now: float, own: OwnStatements | None, authors: Sequence[str] = ()
) -> list[tuple[Candidate, int, int]]:
    """Return the candidates, each with its first line and the line after its last one (0-based)."""
    used = set[str]()
    latest: dict[tuple[str, str], str] = {}  # of equal items, since the next id is made from the last one
    items: list[tuple[Candidate, int, int]] = []
    for item in items_of(text, _COMMENT_NAME, authors):
        candidate = _candidate_of(item, now)
        same = candidate.id, item.text
        identifier = latest.get(same, candidate.id)
        while identifier in used:
            identifier = _id_of(f"{identifier} {item.text}")
        used.add(identifier)
        latest[same] = identifier
        items.append((_as_recorded(replace(candidate, id=identifier), own), item.start, item.end))
    return items


def _as_recorded(candidate: Candidate, own: OwnStatements | None) -> Candidate:
    """Return a candidate with its origin: in a project, anybody may have written or changed what is not recorded."""
    if own is None:
        return candidate
    recorded = statement_key(candidate) in own.captured
    return replace(candidate, origin="owner" if recorded else least_trusted(candidate.origin, "import"))


def _id_of(text: str) -> str:
    """Return the id of a candidate that has none: it depends on the text alone, so it stays the same."""
    return str(UUID(bytes=sha256(text.encode("utf-8", "replace")).digest()[:16], version=4))


def _candidate_of(item: Item, now: float) -> Candidate:
    """Return the candidate of an item. What cannot be read of its comment is left out."""
    claimed = item.values.get("origin", "owner")
    origin: Origin = claimed if claimed in ORIGINS else "import"
    mark = None if item.mark and _OWN_MARK.fullmatch(item.mark) else item.mark
    verbatim = item.values.get("text") == text_hash(item.text)
    return Candidate(
        id=item.id or _id_of(item.text),
        text=item.text,
        category=item.category or DEFAULT_CATEGORY,
        score=item.number(missing=1.0, unreadable=0.0),
        created_at=item.time(now),
        origin=origin_of_mark(mark, origin),
        session=item.session,
        span=item.span if verbatim else None,
        supersedes=item.supersedes,
        principal=item.principal,
    )
