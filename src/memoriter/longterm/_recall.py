"""Automatic recall: the memories that certainly bear on a message, or none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memoriter.agent import RecallAnswer, RecallPassage
from memoriter.environment import Deadline
from memoriter.longterm._matching import matching_memories
from memoriter.longterm._note import PATH
from memoriter.values import dataclass
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.agent import Audience
    from memoriter.longterm._memories import LongTermMemories
    from memoriter.longterm._records import LongTermMemory

LIMIT = 3
"""Memories that are inserted before a turn at most, as in OpenClaw."""
SHORTEST_PROMPT = 5
"""Characters; a shorter message is not searched for."""
LONGEST_PROMPT = 2_000
"""Characters at the end of a message that are compared; a question is usually there."""


@dataclass(frozen=True, slots=True)
class LongTermRecall:
    """Recalls memories of the owner, and those that they trust, in conversations that only the owner reads."""

    memories: Callable[[], LongTermMemories]
    clock: Callable[[], float]
    """Monotonic seconds."""
    max_chars: int
    """`recallMaxChars`."""
    max_tokens: int
    """`recallMaxTokens`, as `estimate_tokens` counts them."""
    name: str = "memory-lancedb"

    def recall(self, prompt: str, *, audience: Audience, deadline_ms: int) -> RecallAnswer:
        """Return at most three memories; none if it is not certain that one of them bears on the message."""
        query = prompt.strip()[-LONGEST_PROMPT:]
        if audience != "private" or len(query) < SHORTEST_PROMPT:
            return RecallAnswer(outcome="skipped")
        memories = self.memories()
        if not memories.parts.shared and not any(entry.memory.trusted for entry in memories.entries()):
            return RecallAnswer()  # without opening the model and the database
        deadline = Deadline.within(deadline_ms, self.clock)
        passages = list[RecallPassage]()
        room = self.max_chars
        tokens = self.max_tokens
        hits = matching_memories(memories, query, limit=LIMIT, deadline=deadline)
        for hit in hits:
            text = hit.memory.text
            if len(text) <= room and (cost := estimate_tokens(text)) <= tokens:
                room -= len(text)
                tokens -= cost
                authors = () if hit.memory.origin == "owner" else (_author(hit.memory),)
                passages.append(RecallPassage(text, PATH, hit.score, authors, hit.memory.category))
        return RecallAnswer(passages, "match" if hits else "none")


def _author(memory: LongTermMemory) -> str:
    """Return who wrote a memory and when, as in its mark."""
    return f"{memory.origin}, {datetime.fromtimestamp(memory.created_at, tz=UTC).date().isoformat()}"
