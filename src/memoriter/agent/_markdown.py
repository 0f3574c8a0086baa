"""The recall source that everybody has: the owner's notes, by the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memoriter.agent._passages import Passage

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoriter.agent._events import Audience
    from memoriter.types import SearchResult, SourceKind

SHORTEST_PROMPT = 5
"""Characters: less is no question."""
LONGEST_END = 1_000
"""Characters of a long message's beginning, and of its end, that are searched with: the question stands there."""
LONG_TERM = frozenset({"memory.md"})


class Searches(Protocol):
    """What the source needs of a memory."""

    def search(
        self, query: str, *, sources: Collection[SourceKind] | None = None, deadline_ms: int | None = None
    ) -> SearchResult: ...


@dataclass(frozen=True, slots=True)
class MarkdownRecall:
    """Gives the passages that match, and nothing where none does: related ones are no answer."""

    memory: Searches
    name: str = "memory-core"

    def recall(self, prompt: str, *, audience: Audience, deadline_ms: int) -> Sequence[Passage]:
        """The passages that match. The long-term memory and transcripts are for the owner alone."""
        from memoriter.search import MATCH

        asked = prompt.strip()
        if len(asked) < SHORTEST_PROMPT:
            return ()
        if len(asked) > 2 * LONGEST_END:
            asked = f"{asked[:LONGEST_END]} {asked[-LONGEST_END:]}"
        private = audience == "private"
        result = self.memory.search(asked, sources=None if private else ("memory",), deadline_ms=deadline_ms)
        if result.outcome != "match":
            return ()
        sure = [hit for hit in result.hits if hit.score >= MATCH]
        return [
            Passage(hit.snippet, hit.citation, hit.score, trusted=hit.source == "memory")
            for hit in sure
            if private or hit.path.lower() not in LONG_TERM
        ]
