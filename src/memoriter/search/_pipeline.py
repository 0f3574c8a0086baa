"""A question to its hits: both legs propose passages; then score, decay, MMR and the cut, each a function."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, assert_never

from memoriter.errors import InvalidQuery
from memoriter.search._candidates import Candidates, ParsedQuery, gather_by_kind
from memoriter.search._classic import classic_ranking
from memoriter.search._decay import age_in_days, decay, is_evergreen, start_of
from memoriter.search._interleave import interleave
from memoriter.search._mmr import mmr_order
from memoriter.search._score import KEYWORDS_ONLY, MATCH, WITH_VECTORS, ZERO_SCORE, blend, cap_below_match
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

MAX_QUERY_LENGTH = 4_000
"""Characters of a question that are read; the rest changes neither its words nor its meaning much."""
MAX_TERMS = 64
RRF_CONSTANT = 60
"""Cormack, Clarke and Büttcher 2009."""


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A chunk with its score."""

    row: int
    score: float
    decay: float = 1.0


def clean_query(text: str) -> str:
    """The question as it is searched for. Raises InvalidQuery when nothing is left of it."""
    sound = text[:MAX_QUERY_LENGTH].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
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
            terms = query_terms(text)[:MAX_TERMS]
            return _rank(reader, ParsedQuery(text, terms, vector), settings, filters=filters, now=now)
        case _:
            assert_never(settings.scoring)


def _rank(
    reader: Reader, question: ParsedQuery, settings: SearchSettings, *, filters: Filters, now: float
) -> tuple[Hit, ...]:
    words = settings.hybrid or question.vector is None
    found = gather_by_kind(reader, question, settings, filters=filters, words=words)
    scores = calibrated(found, settings) if settings.scoring == "calibrated" else _fuse(found)
    ranked = _diversify(_sort(found, _apply_decay(found, scores, settings, now)), found, settings)
    good = [item for item in ranked if item.score >= settings.min_score]
    kept = interleave(good, [found.scoring_rows[item.row].source for item in good], settings.max_results)
    passages = reader.rows([item.row for item in kept])
    explained = settings.scoring == "calibrated"
    return tuple(
        _hit(passages[item.row], item.score, _explain(found, item, settings) if explained else None)
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
    scale = WITH_VECTORS if found.has_vector else KEYWORDS_ONLY
    scores = {row: scale.calibrate(_raw_score(found, row, settings)) for row in found.scoring_rows}
    return {row: cap_below_match(score) for row, score in scores.items()} if found.has_unknown_name else scores


def _raw_score(found: Candidates, row: int, settings: SearchSettings) -> float:
    words = found.keyword_scores.get(row, ZERO_SCORE)
    return blend(found.vector_scores.get(row), words.value, settings.weight if settings.hybrid else 1.0)


def _fuse(found: Candidates) -> dict[int, float]:
    """Reciprocal rank fusion, as a share of being first in both legs (or in the only one)."""
    legs = [leg for leg in (_keyword_ranking(found), found.vector_ranking) if leg]
    best = len(legs) / (RRF_CONSTANT + 1)
    scores: dict[int, float] = {}
    for leg in legs:
        for position, row in enumerate(leg, start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (RRF_CONSTANT + position) / best
    return {row: score for row, score in scores.items() if row in found.scoring_rows}


def _keyword_ranking(found: Candidates) -> list[int]:
    """What the keyword leg proposed, best first by all that the words say."""
    return sorted(found.keyword_ranking, key=lambda row: -found.keyword_scores.get(row, ZERO_SCORE).value)


def _apply_decay(
    found: Candidates, scores: Mapping[int, float], settings: SearchSettings, now: float
) -> list[RankedRow]:
    half_life = settings.half_life_days
    if half_life is None:
        return [RankedRow(row, score) for row, score in scores.items()]
    factors = {row: _decay_factor(found.scoring_rows[row], half_life, now) for row in scores}
    return [RankedRow(row, score * factors[row], factors[row]) for row, score in scores.items()]


def _decay_factor(brief: ScoringRowLike, half_life_days: float, now: float) -> float:
    if brief.source == "memory" and is_evergreen(brief.path):
        return 1.0
    return decay(age_in_days(start_of(date.fromordinal(brief.day)), now), half_life_days)


def _sort(found: Candidates, ranked: list[RankedRow]) -> list[RankedRow]:
    """Best first; equal scores in the order of path and line, so that every surface agrees."""
    return sorted(ranked, key=lambda item: (-item.score, found.scoring_rows[item.row].path, item.row))


def _diversify(ranked: list[RankedRow], found: Candidates, settings: SearchSettings) -> list[RankedRow]:
    if settings.mmr_lambda is None:
        return ranked
    bags = [members(found.scoring_rows[item.row].term_counts) for item in ranked]
    order = mmr_order([item.score for item in ranked], bags, lambda_=settings.mmr_lambda)
    return [ranked[position] for position in order]


def _explain(found: Candidates, item: RankedRow, settings: SearchSettings) -> Explanation:
    words = found.keyword_scores.get(item.row, ZERO_SCORE)
    raw = _raw_score(found, item.row, settings)
    return Explanation(
        cosine=found.cosines.get(item.row),
        vector=found.vector_scores.get(item.row),
        keyword=words.value,
        coverage=words.coverage,
        saturation=words.saturation,
        neighbours=words.neighbours,
        terms=words.matched,
        raw=raw,
        calibrated=item.score / item.decay if item.decay else 0.0,
        decay=item.decay,
        legs=found.retrievers(item.row),
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
