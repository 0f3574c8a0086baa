"""Capture what the user wants to be remembered, at the end of each turn: into the store, or into the inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from memoriter.agent import Captured, Listener
from memoriter.longterm._candidates import Candidate
from memoriter.longterm._inbox import accept_above
from memoriter.longterm._memories import DUPLICATE
from memoriter.longterm._records import Span
from memoriter.longterm._supersede import neighbours, replaced_by
from memoriter.longterm.rules import Recalled, Statement, find_statement
from memoriter.masking import mask
from memoriter.types import Diagnostic
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memoriter.agent import AgentEnd
    from memoriter.longterm._inbox import InboxFile
    from memoriter.longterm._memories import LongTermMemories

MOST_PER_CONVERSATION = 3
"""Memories and candidates of one conversation, as in OpenClaw."""
SECONDS = 30.0
"""Time limit of a capture; the user does not wait for it."""
NAME = "memory-lancedb"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """What is captured, and where it goes."""

    mode: Literal["store", "inbox"]
    """`store` as OpenClaw does; `inbox` asks first."""
    most: int = 500
    """Longest message, in UTF-16 units (`captureMaxChars`)."""
    phrases: tuple[str, ...] = ()
    """Further words for "remember this" (`customTriggers`)."""
    accept_from: float | None = None
    """Score from which a statement in the inbox is accepted without asking; None: never."""


class LongTermCapture:
    """Listens for the end of turns. Only what the user wrote is captured, and only in conversations of the owner alone."""

    def __init__(self, memories: LongTermMemories, inbox: InboxFile, settings: CaptureSettings) -> None:
        self._memories, self._inbox, self._settings = memories, inbox, settings

    def listener(self) -> Listener:
        """Return the listener for `agent_end`."""
        return Listener(NAME, "agent_end", self.capture, timeout=SECONDS)

    def capture(self, event: AgentEnd) -> Captured | None:
        """Capture the statements of a turn, and return a line for each.

        Raises:
            MemoriterError: a note cannot be read or written.
        """
        if not event.success or event.audience != "private":
            return None
        found = list(self._statements(event))
        room = MOST_PER_CONVERSATION - (self._count(event.session) if found else 0)
        if not found or room <= 0:
            return None
        if self._settings.mode == "inbox":
            return self._propose(found, event.session, room)
        return self._store(found, event.session, room)

    def _statements(self, event: AgentEnd) -> Iterator[tuple[int, Statement]]:
        """Yield what the user's messages state, each with the number of its message in the turn."""
        recalled = Recalled.of(message.text for message in event.messages)
        for number, message in enumerate(event.messages):
            if message.role == "user":
                settings = self._settings
                statement = find_statement(
                    message.text, most=settings.most, phrases=settings.phrases, known=recalled.covers
                )
                if statement is not None:
                    yield number, statement

    def _count(self, session: str) -> int:
        """Return how many statements of a conversation were captured already."""
        stored = sum(memory.session == session and memory.span is not None for memory in self._memories.memories())
        return stored + sum(each.session == session for each in self._inbox.read().candidates)

    def _store(self, found: list[tuple[int, Statement]], session: str, room: int) -> Captured:
        texts, reasons = list[str](), list[Diagnostic]()
        for number, statement in found:
            if len(texts) == room:
                break
            older = replaced_by(neighbours(self._memories, statement.text), statement.text, statement.category)
            stored = self._memories.store(
                statement.text,
                origin="owner",
                category=statement.category,
                session=session,
                span=_span(number, statement),
                supersedes=older.id if older else "",
            )
            reasons += stored.reasons
            if not stored.existing:
                replaced = " It replaces an older memory." if stored.memory.supersedes else ""
                texts.append(f"Remembered [{statement.category}]: {stored.memory.text}{replaced}")
        return Captured(tuple(texts), tuple(reasons))

    def _propose(self, found: list[tuple[int, Statement]], session: str, room: int) -> Captured:
        candidates = list[Candidate]()
        for number, statement in found:
            text = mask(statement.text)
            near = neighbours(self._memories, text)
            older = replaced_by(near, text, statement.category)
            if len(candidates) == room or (older is None and any(each.similarity >= DUPLICATE for each in near)):
                continue
            candidates.append(
                Candidate(
                    id=self._memories.parts.new_id(),
                    text=text,
                    category=statement.category,
                    score=statement.score,
                    created_at=round(self._memories.parts.wall(), 3),
                    session=session,
                    span=_span(number, statement) if text == statement.text else None,
                    supersedes=older.id if older else "",
                )
            )
        added = self._inbox.propose(candidates)
        texts, reasons, done = list[str](), tuple[Diagnostic, ...](), set[str]()
        if self._settings.accept_from is not None:
            acceptance = accept_above(self._inbox, self._memories, added, self._settings.accept_from)
            done = {each.candidate.id for each in acceptance.accepted}
            reasons = acceptance.reasons
            texts = [f"Remembered [{each.candidate.category}]: {each.candidate.text}" for each in acceptance.accepted]
        texts += [f"In the inbox [{each.category}]: {each.text}" for each in added if each.id not in done]
        return Captured(tuple(texts), reasons)


def _span(number: int, statement: Statement) -> Span:
    return Span("user", number, statement.start, statement.end)
