"""Capture what the user wants to be remembered, at the end of each turn: into the store, or into the inbox."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memoriter.agent import Captured, Listener
from memoriter.errors import MemoriterError
from memoriter.extensions.longterm._inbox import Acceptance, accept_above, inbox_of
from memoriter.extensions.longterm._memories import DUPLICATE
from memoriter.extensions.longterm._note import clean_text
from memoriter.extensions.longterm._records import Candidate, Span
from memoriter.extensions.longterm._results import LongTermAnswer, LongTermHit, not_compared, saying
from memoriter.masking import mask
from memoriter.statements import (
    Recalled,
    Statement,
    classic_capture,
    classic_category,
    find_statements,
    replaces,
    switches,
)
from memoriter.types import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.agent import AgentEnd
    from memoriter.extensions.longterm._memories import LongTermMemories
    from memoriter.extensions.longterm._records import Category, LongTermMemory
    from memoriter.extensions.longterm.settings import LongTerm

MOST_PER_CONVERSATION = 3
"""Memories and candidates of one conversation, as in OpenClaw."""
SECONDS = 30.0
"""Time limit of a capture; the user does not wait for it."""
CLASSIC_SCORE = 0.5
"""Score of a message that OpenClaw's rules keep; they do not tell how sure they are."""
NAME = "memory-lancedb"
NEIGHBOURS = 5
"""Memories that are compared with a new statement."""
SIMILAR = 0.2
"""Lowest similarity above that of unrelated texts, 0..1, of a memory that is replaced."""


class LongTermCapture:
    """Listens for the end of turns. Only the words of the user count, and only in conversations of the owner alone."""

    def __init__(self, opened: Callable[[], LongTermMemories], settings: LongTerm) -> None:
        self._opened = opened
        self._settings = settings

    def listener(self) -> Listener:
        return Listener(NAME, "agent_end", self.capture, timeout=SECONDS)

    def capture(self, event: AgentEnd) -> Captured | None:
        """Capture the statements of a turn, and return a line for each.

        Raises MemoriterError: a note cannot be read or written.
        """
        if not event.success or event.audience != "private":
            return None
        asks = self._settings.auto_capture == "inbox"
        if asks:
            inbox_of(self._opened()).drop_expired()
        found = self._statements(event)
        if not found:
            return None
        turn = _Turn(self._opened(), event.session, self._settings.auto_accept_score)
        room = MOST_PER_CONVERSATION - turn.count()
        if room <= 0:
            return None
        return turn.propose(found, room) if asks else turn.store(found, room)

    def _statements(self, event: AgentEnd) -> list[tuple[int, Statement]]:
        """Return what the user's messages state, each with the number of its message in the turn."""
        recalled = Recalled.of(message.text for message in event.messages)
        return [
            (number, statement)
            for number, message in enumerate(event.messages)
            if message.role == "user"
            for statement in self._statements_in(message.text, recalled)
        ]

    def _statements_in(self, text: str, recalled: Recalled) -> tuple[Statement, ...]:
        most = self._settings.capture_max_chars
        phrases = self._settings.custom_triggers
        if self._settings.capture_rules == "languages":
            return find_statements(text, most=most, phrases=phrases, known=recalled.covers)
        if not classic_capture(text, most=most, phrases=phrases) or recalled.covers(text):
            return ()
        return (Statement(text, 0, len(text), classic_category(text), CLASSIC_SCORE),)


class _Turn:
    """What is kept of one turn of a conversation."""

    def __init__(self, memories: LongTermMemories, session: str, accept_from: float | None) -> None:
        self._memories = memories
        self._session = session
        self._accept_from = accept_from
        self._inbox = inbox_of(memories)

    def count(self) -> int:
        """Return how many statements of the conversation were captured already."""
        stored = sum(each.session == self._session and each.span is not None for each in self._memories.memories())
        return stored + sum(each.session == self._session for each in self._inbox.read().candidates)

    def store(self, found: list[tuple[int, Statement]], room: int) -> Captured:
        texts = list[str]()
        reasons = list[Diagnostic]()
        for number, statement in found:
            if len(texts) == room:
                break
            near = neighbours(self._memories, statement.text)
            older = replaced_by(near, statement.text, statement.category)
            stored = self._memories.store(
                statement.text,
                origin="owner",
                category=statement.category,
                session=self._session,
                span=_span(number, statement),
                supersedes=older.id if older else "",
            )
            reasons += (*near.reasons, *stored.reasons)
            if not stored.existing:
                replaced = " It replaces an older memory." if stored.memory.supersedes else ""
                texts.append(f"Remembered [{statement.category}]: {stored.memory.text}{replaced}")
        return Captured(tuple(texts), tuple(dict.fromkeys(reasons)))

    def propose(self, found: list[tuple[int, Statement]], room: int) -> Captured:
        reasons = list[Diagnostic]()
        candidates = [candidate for each in found if (candidate := self._candidate(*each, reasons)) is not None]
        added = self._inbox.propose(candidates[:room])
        acceptance = Acceptance()
        if self._accept_from is not None:
            acceptance = accept_above(self._inbox, self._memories, added, self._accept_from)
        done = {each.candidate.id for each in acceptance.accepted}
        texts = [f"Remembered [{each.candidate.category}]: {each.candidate.text}" for each in acceptance.accepted]
        texts += [
            f"In the inbox [{each.category}]: {each.text} To decide: `memoriter ltm inbox`."
            for each in added
            if each.id not in done
        ]
        return Captured(tuple(texts), tuple(dict.fromkeys((*reasons, *acceptance.reasons))))

    def _candidate(self, number: int, statement: Statement, reasons: list[Diagnostic]) -> Candidate | None:
        """Return a statement as a candidate; None if a memory that is put before turns says the same.

        Why memories were not compared is added to `reasons`.
        """
        text = mask(clean_text(statement.text))
        parts = self._memories.parts
        near = neighbours(self._memories, text)
        reasons += near.reasons
        older = replaced_by(near, text, statement.category)
        if older is None and any(each.score >= DUPLICATE and each.memory.trusted for each in near.hits):
            return None
        return Candidate(
            id=parts.new_id(),
            text=text,
            category=statement.category,
            score=statement.score,
            created_at=round(parts.wall(), 3),
            origin="owner",
            session=self._session,
            span=_span(number, statement) if text == statement.text else None,
            supersedes=older.id if older else "",
            principal=parts.principal if parts.shared else "",
        )


def _span(number: int, statement: Statement) -> Span:
    return Span("user", number, statement.start, statement.end)


def neighbours(memories: LongTermMemories, text: str) -> LongTermAnswer:
    """Return the current memories near a statement, the most similar first.

    Without vectors, only a memory with the same text is near, and the answer has the reason.
    """
    known = {key: memory for key, memory in memories.noted().items() if memory.status == "active"}
    same = tuple(LongTermHit(memory, 1.0, 1.0) for memory in known.values() if memory.text == text)
    if same or not known:
        return LongTermAnswer(same)
    try:
        vector = memories.embed([text])[0]
        found = memories.opened().search(vector, principal=memories.parts.principal, limit=4 * NEIGHBOURS)
        spec = memories.spec()
    except MemoriterError as error:
        return LongTermAnswer(reasons=(not_compared(error),))
    near = [saying(replace(each, memory=known[each.memory.id]), spec) for each in found if each.memory.id in known]
    return LongTermAnswer(tuple(near[:NEIGHBOURS]))


def replaced_by(near: LongTermAnswer, text: str, category: Category) -> LongTermMemory | None:
    """Return the memory near a statement that the statement replaces, or None."""
    for each in near.hits:
        older = each.memory.text
        if each.score >= SIMILAR and (
            switches(older, text) or (each.memory.category == category and replaces(older, text))
        ):
            return each.memory
    return None
