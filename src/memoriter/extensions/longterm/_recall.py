"""Automatic recall: the memories that certainly bear on a message, or none."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memoriter.agent import RecallAnswer, RecallPassage
from memoriter.environment import Deadline
from memoriter.errors import IndexUnavailable
from memoriter.extensions.longterm._note import PATH
from memoriter.extensions.longterm._parts import key_of
from memoriter.extensions.longterm._results import answering, best, is_current
from memoriter.ids import fingerprint
from memoriter.masking import mask
from memoriter.values import dataclass
from memoriter.workspace import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoriter.agent import Audience
    from memoriter.extensions.longterm._memories import LongTermMemories
    from memoriter.extensions.longterm._records import LongTermMemory
    from memoriter.extensions.longterm._results import LongTermHit, Vector
    from memoriter.types import ModelSpec

LIMIT = 3
"""Memories that are inserted before a turn at most, as in OpenClaw."""
SHORTEST_PROMPT = 5
"""Characters; a shorter message is not searched for."""
LONGEST_PROMPT = 2_000
"""Characters at the end of a message that are compared; a question is usually there."""
LEAST_SIMILARITY = 0.32
"""Lowest similarity of a match (0 is unrelated); in OpenClaw, 0.3. `just eval-longterm` prints what it finds."""


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
        if not memories.parts.shared and not any(memory.trusted for memory in memories.noted().values()):
            return RecallAnswer()  # without opening the model and the database
        deadline = Deadline.within(deadline_ms, self.clock)
        passages = list[RecallPassage]()
        room = self.max_chars
        tokens = self.max_tokens
        hits = _matching_memories(memories, query, deadline)
        for hit in hits:
            text = hit.memory.text
            if len(text) <= room and (cost := estimate_tokens(text)) <= tokens:
                room -= len(text)
                tokens -= cost
                authors = () if hit.memory.origin == "owner" else (_author(hit.memory),)
                passages.append(RecallPassage(text, PATH, hit.score, authors, hit.memory.category))
        return RecallAnswer(passages, "match" if hits else "none")


def _matching_memories(memories: LongTermMemories, message: str, deadline: Deadline) -> tuple[LongTermHit, ...]:
    """Return the current memories that the owner wrote or approved and that match a message, the nearest first.

    Raises:
        EmbeddingError: there is no vector of the message.
        IndexUnavailable: the database cannot be read, or has none of these memories.
    """
    vector = memories.parts.embedding.query_vector(mask(message), deadline)
    spec = memories.spec()
    if memories.parts.shared:
        near = memories.found(vector, "", limit=LIMIT, trusted=True)
        hits = [answering(each.memory, each.similarity, "", spec.background) for each in near]
    else:
        hits = _compare_own(memories, vector, spec)
    return best(hits, LIMIT, LEAST_SIMILARITY)


def _compare_own(memories: LongTermMemories, vector: Vector, spec: ModelSpec) -> list[LongTermHit]:
    """Compare all memories of the note with a message, by the copy of their vectors; the database is not opened."""
    current = [entry.memory for entry in memories.entries() if entry.complete and is_current(entry.memory)]
    kept = memories.parts.vectors.read(fingerprint(spec)) if current else {}
    if any(memory.id not in kept for memory in current):
        kept = _vectors_of_database(memories)
        if not kept and (missing := memories.missing()):
            raise IndexUnavailable(missing[0].message, remedy=missing[0].remedy)
    known = [memory for memory in current if kept.get(memory.id, ("",))[0] == key_of(memory.text)]
    return [answering(memory, float(kept[memory.id][1] @ vector), "", spec.background) for memory in known]


def _vectors_of_database(memories: LongTermMemories) -> dict[str, tuple[str, Vector]]:
    """Return all vectors of this folder of notes, and renew their copy."""
    store = memories.opened()
    parts = memories.parts
    texts = {row.id: row.text for row in store.memories(principal=parts.principal) if row.note == parts.note}
    vectors = store.vectors(list(texts), principal=parts.principal)
    rows = {key: (key_of(texts[key]), vector) for key, vector in vectors.items()}
    with suppress(OSError):
        parts.vectors.write(store.model, rows)
    return rows


def _author(memory: LongTermMemory) -> str:
    """Return who wrote a memory and when, as in its mark."""
    return f"{memory.origin}, {datetime.fromtimestamp(memory.created_at, tz=UTC).date().isoformat()}"
