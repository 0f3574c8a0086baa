"""A question to its hits: both legs propose passages; then score, decay, MMR and the cut, each a function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, assert_never

from memoriter.errors import InvalidQuery
from memoriter.search._bag import members
from memoriter.search._candidates import Candidates, Question, gather
from memoriter.search._classic import classic_ranking
from memoriter.search._decay import age_in_days, decay, is_evergreen, start_of
from memoriter.search._mmr import mmr_order
from memoriter.search._score import BOTH_LEGS, MATCH, NOTHING, WORDS_ALONE, blend
from memoriter.search._snippet import snippet
from memoriter.search._terms import query_terms
from memoriter.types import Explanation, Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memoriter.search._ports import Passage, Reader
    from memoriter.search._settings import SearchSettings
    from memoriter.types import Filters, Outcome

LONGEST_QUERY = 4_000
"""Characters of a question that are read; the rest changes neither its words nor its meaning much."""
MOST_TERMS = 64
RRF_CONSTANT = 60
"""Cormack, Clarke and Büttcher 2009."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage with its score and how it came about."""

    passage: Passage
    score: float
    explanation: Explanation | None = None


def clean_query(text: str) -> str:
    """The question as it is searched for. Raises InvalidQuery when nothing is left of it."""
    sound = text[:LONGEST_QUERY].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    cleaned = " ".join(sound.replace("\0", " ").split())
    if not cleaned:
        raise InvalidQuery(
            "The query is empty.", remedy="Ask with at least one word: memoriter search 'what we chose'."
        )
    return cleaned


def rank(
    reader: Reader,
    text: str,
    vector: NDArray[np.float32] | None,
    settings: SearchSettings,
    *,
    filters: Filters,
    now: float,
) -> tuple[Hit, ...]:
    """The hits for a cleaned question, best first.

    Args:
        reader: the index.
        text: the question, as `clean_query` returns it.
        vector: its vector (dims,), unit length, or None when the vector leg does not serve.
        settings: how to rank.
        filters: what may be found at all.
        now: seconds since 1970, for decay.
    """
    ranked = _scored(reader, text, vector, settings, filters=filters, now=now)
    kept = [item for item in ranked if item.score >= settings.min_score]
    return tuple(_hit(item) for item in kept[: max(settings.max_results, 0)])


def outcome_of(hits: tuple[Hit, ...]) -> Outcome:
    """`match` when the best hit is sure, `weak` when there are only unsure ones, `none` without any."""
    if not hits:
        return "none"
    return "match" if max(hit.score for hit in hits) >= MATCH else "weak"


def _scored(
    reader: Reader,
    text: str,
    vector: NDArray[np.float32] | None,
    settings: SearchSettings,
    *,
    filters: Filters,
    now: float,
) -> list[Ranked]:
    match settings.scoring:
        case "classic":
            return [Ranked(*pair) for pair in classic_ranking(reader, text, vector, settings, filters=filters, now=now)]
        case "calibrated" | "rrf":
            terms = query_terms(text)[:MOST_TERMS]
            words = settings.hybrid or vector is None
            question = Question(text, terms, vector)
            found = gather(
                reader, question, settings.background, limit=settings.candidates, filters=filters, words=words
            )
            ranked = calibrated(found, settings) if settings.scoring == "calibrated" else _fused(found)
            return _spread(_decayed(ranked, settings, now), settings)
        case _:
            assert_never(settings.scoring)


def calibrated(found: Candidates, settings: SearchSettings) -> list[Ranked]:
    """Every candidate with its absolute score, best first."""
    weight = settings.weight if settings.hybrid else 1.0
    ranked = [_judge(found, row, weight) for row in found.passages]
    return sorted(ranked, key=_order)


def _judge(found: Candidates, row: int, weight: float) -> Ranked:
    words = found.word_scores.get(row, NOTHING)
    vector = found.vector_scores.get(row)
    raw = blend(vector, words.value, weight)
    score = (BOTH_LEGS if found.by_meaning else WORDS_ALONE).of(raw)
    explanation = Explanation(
        cosine=found.cosines.get(row),
        vector=vector,
        keyword=words.value,
        coverage=words.coverage,
        saturation=words.saturation,
        neighbours=words.neighbours,
        terms=words.held,
        raw=raw,
        calibrated=score,
        legs=found.legs(row),
    )
    return Ranked(found.passages[row], score, explanation)


def _fused(found: Candidates) -> list[Ranked]:
    """Reciprocal rank fusion, as a share of being first in both legs (or in the only one)."""
    legs = [leg for leg in (found.keyword_leg, found.vector_leg) if leg]
    best = len(legs) / (RRF_CONSTANT + 1)
    scores: dict[int, float] = {}
    for leg in legs:
        for position, row in enumerate(leg, start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (RRF_CONSTANT + position) / best
    ranked = [Ranked(found.passages[row], score) for row, score in scores.items() if row in found.passages]
    return sorted(ranked, key=_order)


def _decayed(ranked: list[Ranked], settings: SearchSettings, now: float) -> list[Ranked]:
    if settings.half_life_days is None:
        return ranked
    faded = [_faded(item, settings.half_life_days, now) for item in ranked]
    return sorted(faded, key=_order)


def _faded(item: Ranked, half_life_days: float, now: float) -> Ranked:
    if item.passage.source == "memory" and is_evergreen(item.passage.path):
        return item
    factor = decay(age_in_days(start_of(date.fromordinal(item.passage.day)), now), half_life_days)
    explanation = item.explanation and replace(item.explanation, decay=factor)
    return Ranked(item.passage, item.score * factor, explanation)


def _spread(ranked: list[Ranked], settings: SearchSettings) -> list[Ranked]:
    if settings.mmr_lambda is None:
        return ranked
    bags = [members(item.passage.bag) for item in ranked]
    order = mmr_order([item.score for item in ranked], bags, lambda_=settings.mmr_lambda)
    return [ranked[position] for position in order]


def _order(item: Ranked) -> tuple[float, str, int]:
    """Best first; equal scores in the order of path and line, so that every surface agrees."""
    return -item.score, item.passage.path, item.passage.chunk.start_line


def _hit(item: Ranked) -> Hit:
    passage = item.passage
    return Hit(
        path=passage.path,
        start_line=passage.chunk.start_line,
        end_line=passage.chunk.end_line,
        score=item.score,
        snippet=snippet(passage.chunk.text),
        source=passage.source,
        heading=passage.chunk.heading,
        explanation=item.explanation,
    )
