"""A question to its hits: both legs propose passages; then score, decay, MMR and the cut, each a function."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, assert_never

from memoriter.errors import InvalidQuery
from memoriter.search._candidates import Candidates, ParsedQuery, gather_kinds
from memoriter.search._classic import classic_ranking
from memoriter.search._decay import age_in_days, decay, is_evergreen, start_of
from memoriter.search._interleave import interleave
from memoriter.search._mmr import mmr_order
from memoriter.search._score import BOTH_LEGS, MATCH, NOTHING, WORDS_ALONE, blend, related_at_most
from memoriter.search._snippet import snippet
from memoriter.search._term_counts import members
from memoriter.search._terms import query_terms
from memoriter.types import Explanation, Hit

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.search._ports import Reader, ScoringRowLike, StoredChunkLike
    from memoriter.search._settings import SearchSettings
    from memoriter.types import Filters, Outcome

LONGEST_QUERY = 4_000
"""Characters of a question that are read; the rest changes neither its words nor its meaning much."""
MOST_TERMS = 64
RRF_CONSTANT = 60
"""Cormack, Clarke and Büttcher 2009."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk with its score."""

    row: int
    score: float
    decay: float = 1.0


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
    match settings.scoring:
        case "classic":
            pairs = classic_ranking(reader, text, vector, settings, filters=filters, now=now)
            kept = [(passage, score) for passage, score in pairs if score >= settings.min_score]
            return tuple(_hit(passage, score, None) for passage, score in kept[: max(settings.max_results, 0)])
        case "calibrated" | "rrf":
            terms = query_terms(text)[:MOST_TERMS]
            return _rank(reader, ParsedQuery(text, terms, vector), settings, filters=filters, now=now)
        case _:
            assert_never(settings.scoring)


def _rank(
    reader: Reader, question: ParsedQuery, settings: SearchSettings, *, filters: Filters, now: float
) -> tuple[Hit, ...]:
    words = settings.hybrid or question.vector is None
    found = gather_kinds(reader, question, settings, filters=filters, words=words)
    scores = calibrated(found, settings) if settings.scoring == "calibrated" else _fused(found)
    ranked = _spread(_ordered(found, _decayed(found, scores, settings, now)), found, settings)
    good = [item for item in ranked if item.score >= settings.min_score]
    kept = interleave(good, [found.briefs[item.row].source for item in good], settings.max_results)
    passages = reader.rows([item.row for item in kept])
    explained = settings.scoring == "calibrated"
    return tuple(
        _hit(passages[item.row], item.score, _explanation(found, item, settings) if explained else None)
        for item in kept
        if item.row in passages
    )


def outcome_of(hits: tuple[Hit, ...]) -> Outcome:
    """`match` when the best hit is sure, `weak` when there are only unsure ones, `none` without any."""
    if not hits:
        return "none"
    return "match" if max(hit.score for hit in hits) >= MATCH else "weak"


def calibrated(found: Candidates, settings: SearchSettings) -> dict[int, float]:
    """Every candidate's absolute score; related at most where the question names something that no chunk holds."""
    scale = BOTH_LEGS if found.by_meaning else WORDS_ALONE
    scores = {row: scale.of(_raw(found, row, settings)) for row in found.briefs}
    return {row: related_at_most(score) for row, score in scores.items()} if found.names_unknown else scores


def _raw(found: Candidates, row: int, settings: SearchSettings) -> float:
    words = found.word_scores.get(row, NOTHING)
    return blend(found.vector_scores.get(row), words.value, settings.weight if settings.hybrid else 1.0)


def _fused(found: Candidates) -> dict[int, float]:
    """Reciprocal rank fusion, as a share of being first in both legs (or in the only one)."""
    legs = [leg for leg in (_by_words(found), found.vector_leg) if leg]
    best = len(legs) / (RRF_CONSTANT + 1)
    scores: dict[int, float] = {}
    for leg in legs:
        for position, row in enumerate(leg, start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (RRF_CONSTANT + position) / best
    return {row: score for row, score in scores.items() if row in found.briefs}


def _by_words(found: Candidates) -> list[int]:
    """What the keyword leg proposed, best first by all that the words say."""
    return sorted(found.keyword_leg, key=lambda row: -found.word_scores.get(row, NOTHING).value)


def _decayed(found: Candidates, scores: Mapping[int, float], settings: SearchSettings, now: float) -> list[Ranked]:
    half_life = settings.half_life_days
    if half_life is None:
        return [Ranked(row, score) for row, score in scores.items()]
    factors = {row: _fading(found.briefs[row], half_life, now) for row in scores}
    return [Ranked(row, score * factors[row], factors[row]) for row, score in scores.items()]


def _fading(brief: ScoringRowLike, half_life_days: float, now: float) -> float:
    if brief.source == "memory" and is_evergreen(brief.path):
        return 1.0
    return decay(age_in_days(start_of(date.fromordinal(brief.day)), now), half_life_days)


def _ordered(found: Candidates, ranked: list[Ranked]) -> list[Ranked]:
    """Best first; equal scores in the order of path and line, so that every surface agrees."""
    return sorted(ranked, key=lambda item: (-item.score, found.briefs[item.row].path, item.row))


def _spread(ranked: list[Ranked], found: Candidates, settings: SearchSettings) -> list[Ranked]:
    if settings.mmr_lambda is None:
        return ranked
    bags = [members(found.briefs[item.row].term_counts) for item in ranked]
    order = mmr_order([item.score for item in ranked], bags, lambda_=settings.mmr_lambda)
    return [ranked[position] for position in order]


def _explanation(found: Candidates, item: Ranked, settings: SearchSettings) -> Explanation:
    words = found.word_scores.get(item.row, NOTHING)
    raw = _raw(found, item.row, settings)
    return Explanation(
        cosine=found.cosines.get(item.row),
        vector=found.vector_scores.get(item.row),
        keyword=words.value,
        coverage=words.coverage,
        saturation=words.saturation,
        neighbours=words.neighbours,
        terms=words.held,
        raw=raw,
        calibrated=item.score / item.decay if item.decay else 0.0,
        decay=item.decay,
        legs=found.legs(item.row),
    )


def _hit(passage: StoredChunkLike, score: float, explanation: Explanation | None) -> Hit:
    return Hit(
        path=passage.path,
        start_line=passage.chunk.start_line,
        end_line=passage.chunk.end_line,
        score=score,
        snippet=snippet(passage.chunk.text),
        source=passage.source,
        heading=passage.chunk.heading,
        explanation=explanation,
    )
