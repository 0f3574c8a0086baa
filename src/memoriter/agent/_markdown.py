"""The default recall source: searches the owner's notes through the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from memoriter.agent._passages import RecallPassage
from memoriter.errors import MemoriterError
from memoriter.values import dataclass
from memoriter.workspace import foreign_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoriter.agent._events import Audience
    from memoriter.types import Excerpt, Hit, SearchResult, SourceKind

SHORTEST_PROMPT = 5
"""Characters; a shorter message is not searched for."""
LONGEST_EXCERPT = 1_000
"""Characters from the beginning and from the end of a long message that make up the query; the question is usually
there."""
LONG_TERM = frozenset({"memory.md"})
MIN_SIMILARITY = 0.45
"""Lowest similarity above the baseline that a passage needs. Keywords alone match messages such as "continue" and
"looks good": this value leaves a recall for 4 of 48 such messages instead of 25, and loses the recall for 2 of 32
questions."""
MIN_TERMS, MIN_COVERAGE = 2, 0.5
"""Lowest number and share of the message's terms that a passage must hold if it has no vector score."""


class SearchableMemory(Protocol):
    """The memory interface that `MarkdownRecall` needs."""

    def search(
        self,
        query: str,
        *,
        sources: Collection[SourceKind] | None = None,
        explain: bool = False,
        deadline_ms: int | None = None,
    ) -> SearchResult: ...

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt: ...


@dataclass(frozen=True, slots=True)
class MarkdownRecall:
    """Recalls the passages that match a message, and nothing if none matches; related passages do not count."""

    memory: SearchableMemory
    name: str = "memory-core"

    def recall(self, prompt: str, *, audience: Audience, deadline_ms: int) -> Sequence[RecallPassage]:
        """Return the passages that match; those of the long-term memory and of transcripts are for the owner only."""
        query = prompt.strip()
        if len(query) < SHORTEST_PROMPT:
            return ()
        if len(query) > 2 * LONGEST_EXCERPT:
            query = f"{query[:LONGEST_EXCERPT]} {query[-LONGEST_EXCERPT:]}"
        private = audience == "private"
        sources = None if private else ("memory",)
        result = self.memory.search(query, sources=sources, explain=True, deadline_ms=deadline_ms)
        if result.outcome != "match":
            return ()
        return [
            RecallPassage(hit.snippet, hit.citation, hit.score, trusted=is_owned(self.memory, hit))
            for hit in result.hits
            if is_confident(hit) and (private or hit.path.lower() not in LONG_TERM)
        ]


class ReadableMemory(Protocol):
    """The memory interface that `is_owned` needs."""

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt: ...


def is_owned(memory: ReadableMemory, hit: Hit) -> bool:
    """Return whether the note shows that the owner wrote all of a passage; False if it cannot be determined."""
    if hit.source != "memory":
        return False
    try:
        note = memory.read(hit.path)
    except MemoriterError:
        return False
    lines = note.text.split("\n")
    if note.truncated and len(lines) <= hit.end_line:
        return False
    return not any(foreign_lines(lines)[hit.start_line - 1 : hit.end_line])


def is_confident(hit: Hit) -> bool:
    """Return whether a passage may be inserted before a turn: it matches, and by more than a common word."""
    from memoriter.search import MATCH

    explanation = hit.explanation
    if hit.score < MATCH or explanation is None:
        return False
    if explanation.vector is None:
        return len(explanation.terms) >= MIN_TERMS and explanation.coverage >= MIN_COVERAGE
    return explanation.vector >= MIN_SIMILARITY
