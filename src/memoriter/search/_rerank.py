"""Reranking: the best candidates in the order of a model that reads question and passage together.

The score of a candidate stays the engine's own, because it means the same for every question. The judge of memoriter
says something about single lines, and its relevance is added to the scores; the scales of other rerankers are unknown,
so they decide the order alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from memoriter.search._terms import analyse, query_terms
from memoriter.types import ORIGIN
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memoriter.store import Passages
    from memoriter.types import Chunk

LONGEST_PASSAGE = 4_000
"""Characters of a passage that a reranker reads, with the headings above it. Passages are seldom half as long."""
LONG_LINE = 160
"""Characters from which a line is read sentence by sentence."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Relevance:
    """What a reranker says of one passage."""

    value: float
    """The larger, the more relevant, on the reranker's own scale."""
    parts: tuple[int, int] | None = None
    """The first and the last part of the passage that answer, if the reranker tells: see `parts_of`."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """What a reranker did to one candidate."""

    rank: int
    """Place in the engine's own order, from 1."""
    reranked: int
    """Place in the order after reranking, from 1."""
    relevance: float
    """The reranker's score, on its own scale."""
    lines: tuple[int, int] | None = None
    """The first and the last line of the note that answer, from 1, if the reranker tells."""


@dataclass(frozen=True, slots=True)
class PassageParts:
    """A passage in the parts that the judge reads: its lines, or the sentences of a long line."""

    chunk: Chunk
    parts: tuple[str, ...]
    lines: tuple[int, ...]
    """The line of the passage that each part is from, 0-based."""
    best: int
    """The part that is nearest to the question."""

    @property
    def text(self) -> str:
        """The heading path and the passage, at most `LONGEST_PASSAGE` characters, for rerankers that read it whole."""
        return self.chunk.contextual[:LONGEST_PASSAGE]

    @property
    def heading(self) -> str:
        """The headings above the passage."""
        return " > ".join(self.chunk.heading)

    def lines_of(self, parts: tuple[int, int] | None) -> tuple[int, int] | None:
        """Return the first and the last line of the note, from 1, of the first and the last of some parts."""
        if parts is None:
            return None
        first, last = (self.chunk.start_line + self.lines[part] for part in parts)
        return first, last


class Rescorer(Protocol):
    """The reranker, for one question."""

    @property
    def question(self) -> str: ...

    @property
    def candidates(self) -> int:
        """The number of candidates that it reads, at least 1."""
        ...

    @property
    def weight(self) -> float | None:
        """The weight of its relevance beside the score of the engine; None: its relevance alone decides the order."""
        ...

    def relevance(self, passages: Sequence[PassageParts]) -> Sequence[Relevance] | None:
        """Return what it says of each passage; None if that is not known (yet)."""
        ...


def rerank(
    reader: Passages,
    ranked: Sequence[tuple[int, float]],
    rescorer: Rescorer,
    *,
    min_score: float,
    best_lines: Mapping[int, int],
) -> list[tuple[int, Reranked | None]]:
    """Return the positions of the candidates in their new order, each with what the reranker did to it.

    The candidates that the reranker read come first; equal ones keep the engine's order. Without its answer, the order
    is the given one.

    Args:
        reader: the index, for the passages.
        ranked: row and score of each candidate, best first.
        rescorer: the reranker.
        min_score: candidates with lower scores become no hits, so the reranker does not read them.
        best_lines: the first line of the best item of each candidate that has items, by row.
    """
    best = [at for at, (_, score) in enumerate(ranked) if score >= min_score][: rescorer.candidates]
    chunks = reader.rows([ranked[at][0] for at in best])
    best = [at for at in best if ranked[at][0] in chunks]
    question = rescorer.question
    weight = rescorer.weight
    passages = [parts_of(chunks[row].chunk, question, best_lines.get(row)) for row in (ranked[at][0] for at in best)]
    found = rescorer.relevance(passages) if passages else None
    if found is None:
        return [(at, None) for at in range(len(ranked))]
    read = dict(zip(best, zip(passages, found, strict=True), strict=True))

    def order(at: int) -> tuple[float, int]:
        relevance = read[at][1].value
        return -(relevance if weight is None else ranked[at][1] + weight * bounded(relevance)), at

    first = list[tuple[int, Reranked | None]]()
    for place, at in enumerate(sorted(best, key=order), 1):
        passage, relevance = read[at]
        first.append((at, Reranked(at + 1, place, relevance.value, passage.lines_of(relevance.parts))))
    return [*first, *((at, None) for at in range(len(ranked)) if at not in read)]


JUDGE_WEIGHT = 0.02
"""The weight of the judge's logit beside the score, 0..1, of the engine."""
MOST_CERTAIN = 6.0
"""The largest logit of the judge that counts, and the negative of the smallest one."""


def bounded(logit: float) -> float:
    """Return a logit of the judge within the limits."""
    return max(-MOST_CERTAIN, min(MOST_CERTAIN, logit))


def parts_of(chunk: Chunk, question: str, best_line: int | None) -> PassageParts:
    """Return the parts of a passage.

    Args:
        chunk: the passage.
        question: the question; of several parts, the one with most of its words is the best.
        best_line: the first line of the item that is nearest to the question, 0-based, if the passage has items.
    """
    rows = (ORIGIN.sub("", chunk.text) if "<!-- " in chunk.text else chunk.text).split("\n")
    pairs = [(at, part) for at, row in enumerate(rows) if row.strip() for part in _sentences(row)] or [(0, "")]
    near = [place for place, (at, _) in enumerate(pairs) if best_line is None or at == best_line] or range(len(pairs))
    asked = set(query_terms(question)) if len(near) > 1 else set[str]()
    best = max(near, key=lambda place: len(asked.intersection(analyse(pairs[place][1]))) if asked else 0)
    return PassageParts(chunk, tuple(part for _, part in pairs), tuple(at for at, _ in pairs), best)


def _sentences(row: str) -> list[str]:
    """Return the sentences of a long line, or the line.

    >>> _sentences("One. Two.")
    ['One. Two.']
    """
    return [row] if len(row) < LONG_LINE else [part for part in _SENTENCE_END.split(row) if part.strip()]
