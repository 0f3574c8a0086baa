"""From a question to the passages worth scoring: each leg proposes, neighbours come along."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memoriter.search._score import KeywordScore, WeighedTerms, keyword_score, saturations, weigh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.search._background import Background
    from memoriter.search._ports import Passage, Reader
    from memoriter.types import Filters

FEWEST_CANDIDATES = 40


@dataclass(frozen=True, slots=True)
class Candidates:
    """Passages with what both legs have to say about each."""

    passages: Mapping[int, Passage]
    cosines: Mapping[int, float]
    vector_scores: Mapping[int, float]
    """v of each candidate that has a vector."""
    word_scores: Mapping[int, KeywordScore]
    keyword_leg: Sequence[int]
    """Best first."""
    vector_leg: Sequence[int]
    """Best first."""
    by_meaning: bool = True
    """Whether the vector leg served."""

    def legs(self, passage: int) -> tuple[str, ...]:
        proposed = (("vector", self.vector_leg), ("keyword", self.keyword_leg))
        return tuple(name for name, ids in proposed if passage in ids)


@dataclass(frozen=True, slots=True)
class Question:
    """A question in the forms that the legs need."""

    text: str
    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    """(dims,), unit length; None when the vector leg does not serve."""


def gather(
    reader: Reader, question: Question, background: Background, *, limit: int, filters: Filters, words: bool = True
) -> Candidates:
    """Ask both legs for their best and let both judge all; `words` False leaves the keyword leg out."""
    limit = max(limit, FEWEST_CANDIDATES)
    weighed = _weighed(reader, question.terms)
    found = reader.keyword_search(weighed.terms, limit=limit, filters=filters) if question.terms and words else ()
    near = _nearest(reader, question.vector, background, limit=limit, filters=filters)
    keyword_leg, vector_leg = [row for row, _ in found], [row for row, _ in near]
    proposed = {*keyword_leg, *vector_leg}
    beside = {row + step for row in keyword_leg for step in (-1, 1)} if filters.empty else set[int]()
    passages = _same_source(reader.rows(proposed | beside), proposed)
    cosines, scores = _vector_scores(reader, question, background, passages)
    own = _word_scores(reader, passages, weighed) if question.terms and words else {}
    return Candidates(passages, cosines, scores, own, keyword_leg, vector_leg, question.vector is not None)


def _nearest(
    reader: Reader, vector: NDArray[np.float32] | None, background: Background, *, limit: int, filters: Filters
) -> list[tuple[int, float]]:
    """The nearest chunks of each script: across scripts only centred products can be compared."""
    if vector is None:
        return []
    if len(background.groups) < 2:
        return list(reader.vector_search(vector, limit=limit, filters=filters))
    each = (
        reader.vector_search(vector, limit=limit, filters=replace(filters, script=script))
        for script in background.groups
    )
    return [pair for pairs in each for pair in pairs]


def _vector_scores(
    reader: Reader, question: Question, background: Background, passages: Mapping[int, Passage]
) -> tuple[dict[int, float], dict[int, float]]:
    """The plain cosine and the score above the background of each passage that has a vector."""
    if question.vector is None or not passages:
        return {}, {}
    ids, vectors = reader.vectors_at(passages.keys())
    scripts = [passages[row].script for row in ids]
    scores = background.vector_scores(question.text, question.vector, scripts, vectors)
    cosines = vectors @ question.vector
    return dict(zip(ids, cosines.tolist(), strict=True)), dict(zip(ids, scores.tolist(), strict=True))


def _weighed(reader: Reader, terms: Sequence[str]) -> WeighedTerms:
    corpus = reader.corpus()
    return weigh(terms, reader.document_frequency(terms), chunks=corpus.chunks, mean_length=corpus.mean_length)


def _same_source(rows: Mapping[int, Passage], proposed: set[int]) -> dict[int, Passage]:
    """Drop chunks whose number is next to a candidate's but which belong to another source."""
    return {
        row: passage
        for row, passage in rows.items()
        if row in proposed or any(_next_to(rows, passage, step, proposed) for step in (-1, 1))
    }


def _next_to(rows: Mapping[int, Passage], passage: Passage, step: int, proposed: set[int]) -> bool:
    other = passage.id + step
    return other in proposed and other in rows and rows[other].path == passage.path


def _word_scores(reader: Reader, passages: Mapping[int, Passage], weighed: WeighedTerms) -> dict[int, KeywordScore]:
    """What the words say of every candidate, with the chunks beside it."""
    near = {row + step for row in passages for step in (-1, 1)} - passages.keys()
    known = {row: (passage.path, passage.length, passage.bag) for row, passage in passages.items()}
    known |= reader.bags(near)
    held = {row: saturations(bag, length, weighed) for row, (_, length, bag) in known.items()}

    def beside(row: int, step: int) -> tuple[float, ...]:
        same = row + step in known and known[row + step][0] == known[row][0]
        return held[row + step] if same else ()

    return {row: keyword_score(held[row], beside(row, -1), beside(row, 1), weighed) for row in passages}
