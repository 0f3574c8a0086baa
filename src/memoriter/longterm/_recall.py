"""Automatic recall: the memories that certainly bear on a message, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoriter.agent import RecallAnswer, RecallPassage
from memoriter.environment import Deadline
from memoriter.longterm._note import PATH
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.agent import Audience
    from memoriter.longterm._memories import LongTermMemories

LIMIT = 3
"""Memories that are inserted before a turn at most, as in OpenClaw."""
FLOOR = 0.35
"""Their lowest similarity (0 is unrelated), the same as of notes. With 0.3, as in OpenClaw, 3 of the 100 unrelated
prompts of `just eval-longterm` get a memory."""
SHORTEST_PROMPT = 5
"""Characters; a shorter message is not searched for."""
LONGEST_PROMPT = 2_000
"""Characters at the end of a message that are compared; a question is usually there."""


@dataclass(frozen=True, slots=True)
class LongTermRecall:
    """Recalls memories that the owner wrote or approved, in conversations that only the owner reads."""

    memories: Callable[[], LongTermMemories]
    clock: Callable[[], float]
    """Monotonic seconds."""
    max_chars: int
    """`recallMaxChars`."""
    name: str = "memory-lancedb"

    def recall(self, prompt: str, *, audience: Audience, deadline_ms: int) -> RecallAnswer:
        """Return at most three memories; none if the message resembles them no more than unrelated text does."""
        query = prompt.strip()[-LONGEST_PROMPT:]
        if audience != "private" or len(query) < SHORTEST_PROMPT:
            return RecallAnswer(outcome="skipped")
        memories = self.memories()
        if not memories.parts.shared and not any(entry.memory.trusted for entry in memories.entries()):
            return RecallAnswer()  # without opening the model and the database
        deadline = Deadline.within(deadline_ms, self.clock)
        passages, room = list[RecallPassage](), self.max_chars
        for hit in memories.recall(query, limit=LIMIT, floor=FLOOR, deadline=deadline):
            text = hit.memory.text
            if hit.similarity is not None and len(text) <= room:
                room -= len(text)
                category = hit.memory.category
                passages.append(RecallPassage(text, PATH, hit.score, trusted=True, category=category))
        return RecallAnswer(passages, "match" if passages else "none")
