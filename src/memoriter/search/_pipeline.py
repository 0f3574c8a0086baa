"""The ranking pipeline: both retrievers propose chunks, which are scored, decayed, reranked, diversified and cut.

The score of a candidate stays the engine's own after a reranking, because it means the same for every question. The
judge of memoriter says something about single lines, and its relevance is added to the scores; the scales of other
rerankers are unknown, so they decide the order alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from memoriter.errors import InvalidQuery
from memoriter.search._candidates import Candidates, ParsedQuery, RankedLine, gather_by_kind
from memoriter.search._hits import beyond, interleave, mmr_order, repeated_rows, snippet
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
    age_in_days,
    blend,
    cap_below_match,
    context_share,
    decay,
    is_evergreen,
    start_of,
)
from memoriter.search._terms import analyse, members, query_terms
from memoriter.types import ORIGIN, Certainty, Explanation, Hit
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.records import ScoringRow, StoredChunk
    from memoriter.search._score import SearchSettings
    from memoriter.store import Passages
    from memoriter.types import Chunk, Filters, Outcome


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
