"""The recall source that everybody has: the owner's notes, by the index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memoriter.agent._passages import RecallPassage
from memoriter.errors import MemoriterError
from memoriter.workspace import foreign_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memoriter.agent._events import Audience
    from memoriter.types import Excerpt, Hit, SearchResult, SourceKind

SHORTEST_PROMPT = 5
"""Characters: less is no question."""
LONGEST_END = 1_000
"""Characters of a long message's beginning, and of its end, that are searched with: the question stands there."""
LONG_TERM = frozenset({"memory.md"})
MEANING = 0.45
"""How far above the background a passage's meaning must be. Words alone make matches of "continue" and "looks good":
this leaves 4 of 48 such messages with a recall instead of 25, and costs 2 of 32 questions theirs."""
FEWEST_TERMS, COVERAGE = 2, 0.5
"""What a passage must hold of the message's words where there is no meaning to go by."""


class Searches(Protocol):
    """What the source needs of a memory."""

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
    """Gives the passages that match, and nothing where none does: related ones are no answer."""

    memory: Searches
    name: str = "memory-core"

    def recall(self, prompt: str, *, audience: Audience, deadline_ms: int) -> Sequence[RecallPassage]:
        """The passages that match. The long-term memory and transcripts are for the owner alone."""
        asked = prompt.strip()
        if len(asked) < SHORTEST_PROMPT:
            return ()
        if len(asked) > 2 * LONGEST_END:
            asked = f"{asked[:LONGEST_END]} {asked[-LONGEST_END:]}"
        private = audience == "private"
        sources = None if private else ("memory",)
        result = self.memory.search(asked, sources=sources, explain=True, deadline_ms=deadline_ms)
        if result.outcome != "match":
            return ()
        return [
            RecallPassage(hit.snippet, hit.citation, hit.score, trusted=is_owned(self.memory, hit))
            for hit in result.hits
            if is_sure(hit) and (private or hit.path.lower() not in LONG_TERM)
        ]


class Reads(Protocol):
    """What is needed to see who wrote a passage."""

    def read(self, path: str, *, start: int | None = None, lines: int | None = None) -> Excerpt: ...


def is_owned(memory: Reads, hit: Hit) -> bool:
    """Return whether the owner wrote all of a passage, as far as the note says; false where it cannot be seen."""
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


def is_sure(hit: Hit) -> bool:
    """Whether a passage may be put before a turn that did not ask for it: it matches, and not by a common word."""
    from memoriter.search import MATCH

    how = hit.explanation
    if hit.score < MATCH or how is None:
        return False
    if how.vector is None:
        return len(how.terms) >= FEWEST_TERMS and how.coverage >= COVERAGE
    return how.vector >= MEANING
