"""The ranking pipeline: both retrievers propose chunks, which are scored, decayed, diversified by MMR and cut."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from memoriter.errors import InvalidQuery
from memoriter.search._candidates import Candidates, ParsedQuery, RankedLine, gather_by_kind
from memoriter.search._dates import age_in_days, decay, is_evergreen, start_of
from memoriter.search._hits import beyond, interleave, mmr_order, repeated_rows, snippet
from memoriter.search._rerank import bounded, rerank
from memoriter.search._score import (
    CHANCE_CONTEXT,
    CONTEXT_DISTANCE,
    KEYWORDS_ONLY,
    MATCH,
    MEANING_PENALTY,
    NAME_BONUS,
    VECTOR_WEIGHT,
    WITH_VECTORS,
    ZERO_SCORE,
    blend,
    cap_below_match,
    context_share,
)
from memoriter.search._terms import members, query_terms
from memoriter.types import Certainty, Explanation, Hit
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.records import ScoringRow, StoredChunk
    from memoriter.search._rerank import Reranked, Rescorer
    from memoriter.search._score import SearchSettings
    from memoriter.store import Passages
    from memoriter.types import Filters, Outcome

MAX_QUERY_LENGTH = 4_000
"""Characters of a query that are used. The rest would change its terms and its vector little."""
MAX_TERMS = 64
"""Distinct terms of a query that are searched."""
RRF_CONSTANT = 60
"""k of reciprocal rank fusion, as in Cormack, Clarke and Büttcher 2009."""
LOGIT_WEIGHT = 0.15
"""Weight of the judge's logit beside the sum of the score and the nearness in meaning."""
JUDGED = 1.0
UNJUDGED = 1.05
"""The sum that a match exceeds, if the judge has read the hit, and if not.

Of 618 questions with and 811 without an answer, 76 % of the right answers are called a match, 35 % of the near-misses,
and 4 % of the questions about something else; without the judge 74 %, 40 % and 3 %."""


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A chunk with its score and the decay factor that the score contains."""

    row: int
    score: float
    decay: float = 1.0
    reranked: Reranked | None = None
    """What a reranker did to it, if one did."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The decisions of one ranking."""

    candidates: Candidates | None
    """None for classic scoring; those of all lines for a typed query."""
    ranked: Sequence[RankedRow]
    """Every candidate, best first, as MMR orders them, also below the minimum score."""
    kept: Sequence[RankedRow]
    """The hits."""
    lines: Sequence[RankedLine] = ()
    """The lines of a typed query that were searched."""


def clean_query(text: str) -> str:
    """Return the query as it is searched: valid Unicode, single spaces, at most `MAX_QUERY_LENGTH` characters.

    Raises:
        InvalidQuery: if the cleaned query is empty.
    """
    valid = text[:MAX_QUERY_LENGTH].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    cleaned = " ".join(valid.replace("\0", " ").split())
    if not cleaned:
        raise InvalidQuery(
            "The query is empty.", remedy="Ask with at least one word: memoriter search 'what we chose'."
        )
    return cleaned


def rank(
    reader: Passages,
    text: str,
    vector: NDArray[np.float32] | None,
    settings: SearchSettings,
    *,
    filters: Filters,
    now: float,
    explain: bool = True,
    trace: Callable[[Trace], None] | None = None,
    rescorer: Rescorer | None = None,
) -> tuple[Hit, ...]:
    """Return the hits for a cleaned query, best first.

    Args:
        reader: the index.
        text: the query, as `clean_query` returns it.
        vector: the query's vector (dims,), unit length, or None to search by keywords only.
        settings: how to rank.
        filters: the chunks that may become hits.
        now: seconds since 1970, for decay.
        explain: whether each hit of a calibrated ranking explains its score.
        trace: receives the decisions of the ranking.
        rescorer: decides the order of the best candidates; None: their scores do. Classic scoring uses none.
    """
    if settings.scoring == "classic":
        from memoriter.search._classic import classic_ranking

        pairs = classic_ranking(reader, text, vector, settings, filters=filters, now=now)
        best = [(chunk, score) for chunk, score in pairs if score >= settings.min_score][: max(settings.max_results, 0)]
        if trace is not None:
            ranked, kept = ([RankedRow(chunk.id, score) for chunk, score in each] for each in (pairs, best))
            trace(Trace(None, ranked, kept))
        return tuple(_hit(chunk, RankedRow(chunk.id, score), None) for chunk, score in best)
    query = ParsedQuery(text, query_terms(text)[:MAX_TERMS], vector)
    candidates = gather_by_kind(
        reader, query, settings, filters=filters, use_keywords=settings.hybrid or vector is None
    )
    scores = calibrated(candidates, settings) if settings.scoring == "calibrated" else _fuse(candidates)
    ordered = sort(candidates, apply_decay(candidates, scores, settings, now))
    explain_hit = None
    if explain and settings.scoring == "calibrated":
        explain_hit = partial(explanation, candidates, raw_scores_of(candidates, settings))
    return hits_of(reader, candidates, ordered, settings, explain_hit=explain_hit, trace=trace, rescorer=rescorer)


def hits_of(
    reader: Passages,
    candidates: Candidates,
    ordered: list[RankedRow],
    settings: SearchSettings,
    *,
    explain_hit: Callable[[RankedRow], Explanation] | None,
    trace: Callable[[Trace], None] | None,
    rescorer: Rescorer | None,
) -> tuple[Hit, ...]:
    """Return the hits from all candidates in their order: reranked, diversified, above the minimum score, and cut."""
    if rescorer is not None:
        pairs = [(item.row, item.score) for item in ordered]
        moved = rerank(reader, pairs, rescorer, min_score=settings.min_score, best_lines=candidates.best_lines)
        ordered = [replace(ordered[at], reranked=what) for at, what in moved]
    if settings.mmr_lambda is not None:
        ordered = _diversify(ordered, candidates, settings.mmr_lambda)
    passing = [item for item in ordered if item.score >= settings.min_score]
    kept, chunks = _choose(reader, passing, candidates, settings)
    if trace is not None:
        trace(Trace(candidates, ordered, [item for item in kept if item.row in chunks]))
    explanations = [explain_hit(item) if explain_hit else None for item in kept]
    pairs = zip(kept, explanations, strict=True)
    return tuple([_hit(chunks[item.row], item, each) for item, each in pairs if item.row in chunks])


def newest(reader: Passages, settings: SearchSettings, *, filters: Filters) -> tuple[Hit, ...]:
    """Return the newest passages, the newest day first, whatever they say; passages without a day are left out.

    If there is no place for all, every note first gets one for its beginning. The score of each is 1, because it is all
    that was asked.
    """
    rows = reader.newest(filters, settings.max_results)
    chunks = reader.rows(rows)
    return tuple([_hit(chunks[row], RankedRow(row, 1.0), None) for row in rows if row in chunks])


def _choose(
    reader: Passages, ranked: list[RankedRow], candidates: Candidates, settings: SearchSettings
) -> tuple[list[RankedRow], Mapping[int, StoredChunk]]:
    """Return the hits with their chunks.

    Only chunks tell which hits repeat a better one. They are read as far as hits are chosen from them, a block at a
    time, until every chosen hit has been read.
    """
    rows = [item.row for item in ranked]
    chosen = _first_hits(ranked, (), candidates, settings)
    unread = dict.fromkeys(rows)
    chunks: dict[int, StoredChunk] = {}
    while missing := [item.row for item in chosen if item.row in unread]:
        block = list(dict.fromkeys((*missing, *islice(unread, settings.max_results))))
        chunks |= reader.rows(block)
        for row in block:
            del unread[row]
        chosen = _first_hits(ranked, repeated_rows(rows, chunks), candidates, settings)
    return chosen, chunks


def _first_hits(
    ranked: list[RankedRow], repeated: Collection[int], candidates: Candidates, settings: SearchSettings
) -> list[RankedRow]:
    """Return the hits, best first, as many as there may be.

    A hit gives its place to another, if there is one, when it repeats a better hit (`repeated`), or when its note has
    as many better hits as a note may have.
    """
    limit = max(settings.max_results, 0)
    fresh = [item for item in ranked if item.row not in repeated]
    crowded = set[int]()
    if settings.max_per_note:
        notes = [candidates.scoring_rows[item.row].path for item in fresh]
        crowded = {fresh[at].row for at in beyond(notes, settings.max_per_note)}
        fresh = [item for item in fresh if item.row not in crowded]
    sources = [candidates.scoring_rows[item.row].source for item in fresh]
    chosen = {item.row for item in interleave(fresh, sources, limit)}
    for reserve in (crowded, repeated):
        spare = [item.row for item in ranked if item.row in reserve]
        chosen.update(spare[: limit - len(chosen)])
    return [item for item in ranked if item.row in chosen]


def certainty_of(trace: Trace, *, judged: bool) -> Certainty | None:
    """Return how certain it is that the first hit answers; `judged` if the relevance of the hits is the judge's.

    Words that a passage shares with a question say little about whether it answers, so the nearness in meaning counts
    beside the score, which contains it already. The judge knows more, but is unsure of long logs with several speakers.
    The rule is the same for all notes, languages and models. `scripts/outcome_rule.py` fits it with each family of
    notes left out in turn.

    None if its score alone tells: without vectors, and if the question names something that no passage contains, which
    keeps all scores below those of a match.
    """
    first = next(iter(trace.kept), None)
    candidates = trace.candidates
    if first is None or candidates is None or candidates.has_unknown_name:
        return None
    nearness = _nearness(trace, candidates, first.row)
    if judged and first.reranked is not None:
        engine = first.score + (first.score if nearness is None else nearness)
        return Certainty(engine + LOGIT_WEIGHT * bounded(first.reranked.relevance), JUDGED)
    return None if nearness is None else Certainty(first.score + nearness, UNJUDGED)


def _nearness(trace: Trace, candidates: Candidates, row: int) -> float | None:
    """Return the score of a hit by vectors alone, 0..1. Nearness to a `hyde` line, a supposed answer, says nothing."""
    if not trace.lines:
        return candidates.vector_scores.get(row)
    asked = [line.candidates for line in trace.lines if line.line.kind == "vec"]
    return max((each.vector_scores[row] for each in asked if row in each.vector_scores), default=None)


def outcome_of(hits: tuple[Hit, ...], *, certain: bool = True, certainty: Certainty | None = None) -> Outcome:
    """Return `match` if the certainty exceeds its threshold, else `weak`, or `none` without hits.

    Without a certainty, the best score must be at least `MATCH`. If the search was not `certain` to find the best
    passage, no outcome is better than `weak`.
    """
    if not hits:
        return "none"
    is_match = max([hit.score for hit in hits]) >= MATCH if certainty is None else certainty.value > certainty.threshold
    return "match" if certain and is_match else "weak"


def calibrated(candidates: Candidates, settings: SearchSettings) -> dict[int, float]:
    """Return the absolute score of every candidate, by row.

    If the query names something that no chunk contains, all scores stay below `MATCH`.
    """
    scale = WITH_VECTORS if candidates.has_vector else KEYWORDS_ONLY
    raw_scores = raw_scores_of(candidates, settings)
    scores = {row: scale.calibrate(raw) for row, raw in raw_scores.items()}
    return {row: cap_below_match(score) for row, score in scores.items()} if candidates.has_unknown_name else scores


def raw_scores_of(candidates: Candidates, settings: SearchSettings) -> dict[int, float]:
    """Return the score of every candidate before calibration, by row.

    The weight of the vector score is the one that is set, or else the one that the query needs.
    """
    weight = settings.fixed_weight
    penalty = 0.0
    if weight is None:
        weight = candidates.vector_weight
        penalty = MEANING_PENALTY * (weight - VECTOR_WEIGHT)
    vectors = candidates.vector_scores
    keywords = candidates.keyword_scores
    raw_scores = {
        row: blend(vectors.get(row), keywords.get(row, ZERO_SCORE).value, weight) - penalty
        for row in candidates.scoring_rows
    }
    raw_scores |= {row: raw_scores[row] + NAME_BONUS for row in candidates.named}
    if candidates.has_vector and settings.hybrid:
        for source, itemized in candidates.itemized_shares.items():
            if share := context_share(itemized):
                raw_scores |= _with_context(candidates, raw_scores, source, share)
    return raw_scores


def _with_context(
    candidates: Candidates, raw_scores: Mapping[int, float], source: str, share: float
) -> dict[int, float]:
    """Return the scores of the candidates of a source, with a share of the best score near each in its file.

    Only the part above `CHANCE_CONTEXT` counts, so no score becomes lower.
    """
    rows = candidates.scoring_rows
    steps = [step for step in range(-CONTEXT_DISTANCE, CONTEXT_DISTANCE + 1) if step]
    scores: dict[int, float] = {}
    for row, raw in raw_scores.items():
        if (here := rows[row]).source == source:
            near = [
                raw_scores[row + step] for step in steps if row + step in rows and rows[row + step].path == here.path
            ]
            scores[row] = raw + share * max(0.0, *near, CHANCE_CONTEXT) - share * CHANCE_CONTEXT
    return scores


def _fuse(candidates: Candidates) -> dict[int, float]:
    """Return reciprocal rank fusion scores, as a share of the score of the first place in every ranking."""
    rankings = [ranking for ranking in (_keyword_ranking(candidates), candidates.vector_ranking) if ranking]
    highest = len(rankings) / (RRF_CONSTANT + 1)
    scores: dict[int, float] = {}
    for ranking in rankings:
        for position, row in enumerate(ranking, start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (RRF_CONSTANT + position) / highest
    return {row: score for row, score in scores.items() if row in candidates.scoring_rows}


def _keyword_ranking(candidates: Candidates) -> list[int]:
    """Return the keyword retriever's candidates, sorted by their full keyword scores, best first."""
    return sorted(candidates.keyword_ranking, key=lambda row: -candidates.keyword_scores.get(row, ZERO_SCORE).value)


def apply_decay(
    candidates: Candidates, scores: Mapping[int, float], settings: SearchSettings, now: float
) -> list[RankedRow]:
    """Return the candidates with their scores after decay, in the order of `scores`."""
    half_life = settings.half_life_days
    if half_life is None:
        return [RankedRow(row, score) for row, score in scores.items()]
    factors = {row: _decay_factor(candidates.scoring_rows[row], half_life, now) for row in scores}
    return [RankedRow(row, score * factors[row], factors[row]) for row, score in scores.items()]


def _decay_factor(row: ScoringRow, half_life_days: float, now: float) -> float:
    if row.source == "memory" and is_evergreen(row.path):
        return 1.0
    return decay(age_in_days(start_of(date.fromordinal(abs(row.day))), now), half_life_days)


def sort(candidates: Candidates, ranked: list[RankedRow]) -> list[RankedRow]:
    """Sort best first, and equal scores by path and line, so that CLI, MCP and HTTP return the same order."""
    keys = [(-item.score, candidates.scoring_rows[item.row].path, item.row) for item in ranked]
    return [ranked[at] for at in sorted(range(len(ranked)), key=keys.__getitem__)]


def _diversify(ranked: list[RankedRow], candidates: Candidates, lambda_: float) -> list[RankedRow]:
    term_sets = [members(candidates.scoring_rows[item.row].term_counts) for item in ranked]
    # After a reranking, each candidate has the relevance of the place that it was given.
    relevance = sorted((item.score for item in ranked), reverse=True)
    order = mmr_order(relevance, term_sets, lambda_=lambda_)
    return [ranked[position] for position in order]


def explanation(candidates: Candidates, raw_scores: Mapping[int, float], item: RankedRow) -> Explanation:
    """Return how a candidate came by its score; `raw_scores` are those before calibration, by row."""
    keyword = candidates.keyword_scores.get(item.row, ZERO_SCORE)
    return Explanation(
        cosine=candidates.cosines.get(item.row),
        vector=candidates.vector_scores.get(item.row),
        keyword=keyword.value,
        coverage=keyword.coverage,
        saturation=keyword.saturation,
        neighbours=keyword.neighbours,
        terms=keyword.matched,
        raw=raw_scores[item.row],
        calibrated=item.score / item.decay if item.decay else 0.0,
        decay=item.decay,
        legs=candidates.retrievers(item.row),
        rank=item.reranked and item.reranked.rank,
        reranked=item.reranked and item.reranked.reranked,
        relevance=item.reranked and item.reranked.relevance,
    )


def _hit(stored: StoredChunk, item: RankedRow, explanation: Explanation | None) -> Hit:
    return Hit(
        path=stored.path,
        start_line=stored.chunk.start_line,
        end_line=stored.chunk.end_line,
        score=item.score,
        snippet=snippet(stored.chunk.text),
        source=stored.source,
        heading=stored.chunk.heading,
        explanation=explanation,
        date=date.fromordinal(stored.day) if stored.day > 0 else None,
        changed=date.fromordinal(-stored.day) if stored.day < 0 else None,
        text=stored.chunk.text,
        answer_lines=item.reranked and item.reranked.lines,
    )
