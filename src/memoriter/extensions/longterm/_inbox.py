"""The inbox of long-term memories: its note, `memory/inbox.md`, with one list item for each candidate, and decisions.

- [fact] I live in Oslo. <!-- candidate: 0b4… 0.7 2026-11-23T13:00:00.000Z text=1f… --> <!-- from: inbox, 2026-11-23 -->

People may edit the note. The second comment marks the text as not yet accepted, so that no search of the notes takes it
for the owner's. An item without a comment is a candidate that somebody wrote by hand. In the folder of a project, a
candidate is the owner's only if it is recorded so (`OwnStatements`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from memoriter.errors import MemoriterError, UsageError
from memoriter.extensions.longterm._note import (
    OwnStatements,
    clean_text,
    decoded,
    item_text,
    items_of,
    origin_of_mark,
    repeated,
    statement_key,
)
from memoriter.extensions.longterm._records import (
    CATEGORIES,
    DEFAULT_CATEGORY,
    EXPIRY_DAYS,
    LONGEST,
    ORIGINS,
    Candidate,
    Category,
    Origin,
    Span,
    id_of_text,
    is_memory_id,
    least_trusted,
)
from memoriter.ids import bytes_hash
from memoriter.masking import mask
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from memoriter.extensions.longterm._memories import LongTermMemories
    from memoriter.extensions.longterm._note import Item, OwnStatementsFile
    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.extensions.longterm._results import LongTermForgotten, Stored
    from memoriter.workspace import Workspace

PATH = "memory/inbox.md"
HEADER = """\
# Inbox of long-term memories

<!-- You may edit and delete candidates. `memoriter ltm accept` stores them, and `memoriter ltm reject` drops them. -->

"""
MOST_REJECTED = 500
"""Rejected texts that the inbox remembers, as hashes, so that they are not proposed again."""
_COMMENT_NAME = "candidate"
_REJECTED = re.compile(r"<!-- rejected: ([0-9a-f ]*) -->[ \t\r]*")
_BULLET = re.compile(r"[-*+] ")
_OWN_MARK = re.compile(r"inbox(?:, \d{4}-\d\d-\d\d)?")
"""The mark of the inbox itself, which says that nobody has accepted the text yet."""
_WORDS = re.compile(r"\w+")
SHORTEST_ID = 4
"""Characters of an id that are enough, if no other candidate begins with them."""
ALL = "all"
"""Stands for every candidate, instead of ids."""


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

    `now`, in seconds since 1970, is the time of a candidate that somebody wrote by hand; `own` what is the owner's in
    the folder of a project, and None in one of the owner. `authors` wrote the lines; empty: whom the marks name.
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
            identifier = id_of_text(f"{identifier} {item.text}")
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


def _candidate_of(item: Item, now: float) -> Candidate:
    """Return the candidate of an item. What cannot be read of its comment is left out."""
    claimed = item.values.get("origin", "owner")
    origin: Origin = claimed if claimed in ORIGINS else "import"
    mark = None if item.mark and _OWN_MARK.fullmatch(item.mark) else item.mark
    verbatim = item.values.get("text") == text_hash(item.text)
    return Candidate(
        id=item.id or id_of_text(item.text),
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


@dataclass(frozen=True, slots=True)
class Accepted:
    """A candidate that became a memory."""

    candidate: Candidate
    stored: Stored
    """The new memory, or the one that says the same already."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The result of accepting candidates."""

    accepted: tuple[Accepted, ...] = ()
    reasons: tuple[Diagnostic, ...] = ()


class InboxFile:
    """`memory/inbox.md` of a folder of notes. Every change re-reads the note, so that no edit of a person is lost."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        wall: Callable[[], float],
        days: float = EXPIRY_DAYS,
        own: OwnStatementsFile | None = None,
    ) -> None:
        """Open the inbox; nothing is read or written yet.

        Candidates are dropped after `days`. `own` tells what is the owner's in the folder of a project; None: all of
        it.
        """
        self._workspace = workspace
        self._wall = wall
        self.days = days
        self._own = own

    def read(self) -> Inbox:
        """Return what waits, without expired candidates. Raises PathRefused."""
        now = round(self._wall(), 3)
        return without_expired(self._read(now)[0], now, self.days)

    def propose(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Add candidates, except those that wait already or were rejected, and return what was added.

        In a project, those of the owner's words are recorded as such.

        Raises:
            WriteError: nothing was written.
        """
        added: list[Candidate] = []

        def change(inbox: Inbox) -> Inbox:
            added.clear()
            for each in candidates:
                if not inbox.has(each.text):
                    added.append(each)
                    inbox = replace(inbox, candidates=(*inbox.candidates, each))
            return inbox

        self._change(change)
        self.record([each for each in added if each.origin == "owner"])
        return tuple(added)

    def record(self, candidates: Sequence[Candidate]) -> None:
        """Record that candidates are the owner's, if the folder is that of a project. Raises WriteError."""
        if self._own:
            self._own.add_captured(candidates)

    def drop_expired(self) -> None:
        """Take expired candidates out of the note. Raises WriteError and PathRefused."""
        self._change(lambda inbox: inbox)

    def accept(self, ids: Sequence[str], memories: LongTermMemories) -> Acceptance:
        """Store candidates as memories and take them out of the inbox, each as soon as it is stored.

        Accepting is approving: what the owner has not written keeps its origin, and is recalled automatically. The ids
        may be beginnings of ids, or `all` alone.

        Raises:
            UsageError: an id is unknown or ambiguous; nothing was accepted.
            WriteError: a note cannot be written.
        """
        accepted = list[Accepted]()
        reasons = list[Diagnostic]()
        for candidate in self._chosen(ids):
            supersedes = candidate.supersedes
            if supersedes not in {memory.id for memory in memories.memories() if memory.status == "active"}:
                supersedes = ""
            stored = memories.store(
                candidate.text,
                origin=candidate.origin,
                category=candidate.category,
                session=candidate.session,
                span=candidate.span,
                supersedes=supersedes,
            )
            if not stored.memory.trusted:
                stored = replace(stored, memory=memories.approve(stored.memory.id))
            self._drop(candidate)
            if self._own:
                self._own.remove_captured(candidate)
            accepted.append(Accepted(candidate, stored))
            reasons += stored.reasons
        return Acceptance(tuple(accepted), tuple(reasons))

    def reject(self, ids: Sequence[str]) -> tuple[Candidate, ...]:
        """Drop candidates for good, and return them: the same words are not proposed again.

        Raises:
            UsageError: an id is unknown or ambiguous; nothing was rejected.
            WriteError: the note cannot be written.
        """
        chosen = self._chosen(ids)
        self._change(lambda inbox: with_rejected(inbox, [each.id for each in chosen]))
        return chosen

    def edit(self, identifier: str, *, text: str | None = None, category: Category | None = None) -> Candidate:
        """Change the text or the category of a candidate, and return it. An edited text is no quotation any more.

        Raises:
            UsageError: the id is unknown or ambiguous, the text is empty or too long, or there is no such category.
            WriteError: the note cannot be written.
        """
        if text is not None and not (0 < len(text.strip()) <= LONGEST):
            remedy = f"Give a sentence of at most {LONGEST:,} characters, or reject the candidate."
            raise UsageError(f"The text has {len(text.strip()):,} characters.", remedy=remedy)
        if category is not None and category not in CATEGORIES:
            raise UsageError(f"There is no category {category!r}.", remedy=f"Use one of: {', '.join(CATEGORIES)}.")
        (old,) = self._chosen([identifier])
        new = replace(old, category=category or old.category)
        if text is not None and text.strip() != old.text:
            new = replace(new, text=text.strip(), span=None)
            if new.origin == "owner":
                self.record([new])

        def change(inbox: Inbox) -> Inbox:
            return replace(inbox, candidates=tuple(new if each.id == old.id else each for each in inbox.candidates))

        self._change(change)
        return new

    def put_back(self, candidate: Candidate) -> None:
        """Write a candidate as it was before it was accepted, rejected or edited; its words may be proposed again.

        Raises:
            UsageError: it has expired.
            WriteError: the note cannot be written.
        """
        if candidate.expires_at(self.days) <= self._wall():
            message = f"The candidate has expired: it waited for {self.days:g} days."
            raise UsageError(message, remedy="Store the statement with `memoriter ltm store`.")
        mark = text_hash(candidate.text)

        def change(inbox: Inbox) -> Inbox:
            there = any(each.id == candidate.id for each in inbox.candidates)
            waiting = tuple(candidate if each.id == candidate.id else each for each in inbox.candidates)
            rejected = tuple(each for each in inbox.rejected if each != mark)
            return Inbox(waiting if there else (*waiting, candidate), rejected)

        self._change(change)

    def _chosen(self, ids: Sequence[str]) -> tuple[Candidate, ...]:
        """Return the candidates with these ids, each once."""
        waiting = self.read().candidates
        if [*ids] == [ALL]:
            return waiting
        chosen: dict[str, Candidate] = {}
        for given in ids:
            wanted = given.strip().lower()
            found = [each for each in waiting if len(wanted) >= SHORTEST_ID and each.id.startswith(wanted)]
            if len(found) != 1:
                problem = "no candidate" if not found else f"{len(found)} candidates"
                message = f"The inbox has {problem} with an id that begins with {given!r}."
                raise UsageError(message, remedy="Give ids as `memoriter ltm inbox` prints them.")
            chosen[found[0].id] = found[0]
        return tuple(chosen.values())

    def _drop(self, candidate: Candidate) -> None:
        def change(inbox: Inbox) -> Inbox:
            return replace(inbox, candidates=tuple(each for each in inbox.candidates if each.id != candidate.id))

        self._change(change)

    def _read(self, now: float) -> tuple[Inbox, str, list[str], str | None]:
        """Return the inbox with its expired candidates, its text, who wrote each line, and the hash of its bytes.

        The hash is None if there is no note.
        """
        content = self._workspace.content(PATH)
        text = decoded(content or b"")
        authors = self._workspace.authors(PATH, text.split("\n"))
        inbox = parse_inbox(text, now=now, own=self._recorded(), authors=authors)
        return inbox, text, authors, None if content is None else bytes_hash(content)

    def _recorded(self) -> OwnStatements | None:
        return None if self._own is None else self._own.read()

    def _change(self, change: Callable[[Inbox], Inbox]) -> None:
        """Write the inbox that `change` returns; if somebody else writes at the same time, apply it to their text."""
        now = round(self._wall(), 3)

        def write() -> None:
            old, text, authors, expected = self._read(now)
            new = change(without_expired(old, now, self.days))
            if new != old:
                edited = edited_inbox(text, new, now=now, own=self._recorded(), authors=authors)
                self._workspace.replace(PATH, edited, expected=expected)

        repeated(write)


def inbox_of(memories: LongTermMemories) -> InboxFile:
    """Return the inbox beside long-term memories."""
    parts = memories.parts
    return InboxFile(parts.workspace, wall=parts.wall, days=parts.inbox_days, own=None if parts.owned else parts.own)


def candidate_of_json(value: Mapping[str, Any], memories: LongTermMemories) -> Candidate:
    """Return the candidate that `candidate_json` has written; `expiresAt` is not read.

    Raises:
        UsageError: a member has no value that a candidate can have.
    """
    remedy = "Send the candidate as `ltm inbox`, `accept` or `reject` returned it."
    supersedes = str(value.get("supersedes") or "").lower()
    if not is_memory_id(str(value["id"])) or (supersedes and not is_memory_id(supersedes)):
        raise UsageError("The id of the candidate, or of what it replaces, is no UUID.", remedy=remedy)
    try:
        moment = datetime.fromisoformat(str(value["createdAt"]))
        created = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        place = value.get("span")
        span = Span(place["speaker"], int(place["message"]), int(place["start"]), int(place["end"])) if place else None
    except (ValueError, OverflowError, KeyError, TypeError) as error:
        raise UsageError("The time or the span of the candidate cannot be read.", remedy=remedy) from error
    text = str(value["text"]).strip()
    if not text or (span is not None and span.speaker not in {"user", "assistant", "tool"}):
        raise UsageError("The candidate has no text, or an unknown speaker.", remedy=remedy)
    parts = memories.parts
    return Candidate(
        id=str(value["id"]).lower(),
        text=text,
        category=value["category"],
        score=min(max(float(value["score"]), 0.0), 1.0),
        created_at=round(min(created, parts.wall()), 3),
        origin=value["origin"],
        session=str(value.get("session") or ""),
        span=span,
        supersedes=supersedes,
        principal=parts.principal if parts.shared else "",
    )


def accept_above(inbox: InboxFile, memories: LongTermMemories, added: Sequence[Candidate], score: float) -> Acceptance:
    """Accept what the owner has just said if its score is at least `score`; whatever fails stays in the inbox."""
    sure = [each.id for each in added if each.score >= score]
    try:
        return inbox.accept(sure, memories) if sure else Acceptance()
    except MemoriterError as error:
        return Acceptance((), (Diagnostic.of(error),))


def put_back(
    inbox: InboxFile, candidate: Candidate, memories: LongTermMemories, *, stored: str = ""
) -> LongTermForgotten | None:
    """Put a candidate back into the inbox as it was before it was accepted, rejected or edited.

    The candidate is written first, so nothing is lost if the rest fails. Then the memory that accepting has `stored`,
    if any, is forgotten by its id, and its receipt returned; an older one that it had replaced is current again.

    Raises:
        UsageError: there is no such memory, it says something else, or the candidate has expired. Nothing was changed.
        WriteError: a note could not be written.
    """
    memory = _memory(memories, stored) if stored else None
    if memory is not None and memory.text != mask(clean_text(candidate.text)):
        message = f"The memory {memory.id} is not what this candidate became: its words are different."
        raise UsageError(message, remedy="Give the `memory.id` of the answer that accepted the candidate.")
    if memory is not None and memory.origin == "owner":
        inbox.record([candidate])
    inbox.put_back(candidate)
    return None if memory is None else memories.forget_id(memory.id)


def withdraw_approval(memories: LongTermMemories, identifier: str) -> LongTermMemory:
    """Withhold a memory again that somebody else wrote and the owner approved, and return it.

    Raises:
        UsageError: there is no such memory, or the owner wrote it.
        WriteError: the note could not be written.
    """
    memory = _memory(memories, identifier)
    if memory.origin == "owner":
        remedy = "Forget it, if it must not be put before a turn."
        raise UsageError("The memory needs no approval, because you wrote it.", remedy=remedy)
    memories.parts.own.remove(memory)
    withdrawn = replace(memory, approved=False)
    memories.change(withdrawn)
    return withdrawn


def _memory(memories: LongTermMemories, identifier: str) -> LongTermMemory:
    found = memories.noted().get(identifier.strip().lower())
    if found is None:
        raise UsageError(f"There is no memory with the id {identifier!r}.", remedy="See `memoriter ltm list`.")
    return found
