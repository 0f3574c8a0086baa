"""The ranking of a typed query: each line has a list of its own, and the lists are fused by places.

The passages of a list have at least the score `WEAK` for its line. A passage at place p of a list adds
weight / (60 + p) to the sum that orders the hits (reciprocal rank fusion, Cormack, Clarke and Büttcher 2009; k = 60).
The list of the first line weighs 2 and the others 1, as in QMD 2.8.3. Passages in no list come last.

The score of a hit is its best score for a single line: for `lex` as in a search without vectors, for `vec` as for a
question whose words no passage has. Nearness to a hypothetical answer (`hyde`) proves nothing about the notes, so those
scores stay below `MATCH`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memoriter.search._candidates import Candidates, ParsedQuery, RankedLine, gather_by_kind, weigh_query
from memoriter.search._pipeline import (
    MAX_TERMS,
    RRF_CONSTANT,
    RankedRow,
    Trace,
    apply_decay,
    calibrated,
    explanation,
    hits_of,
    raw_scores_of,
    sort,
)
from memoriter.search._score import WEAK, cap_below_match
from memoriter.search._terms import members, query_terms, term_hash
from memoriter.types import LineScore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memoriter.search._pipeline import Rescorer
    from memoriter.search._score import EmbeddedLine, SearchSettings, TypedQuery
    from memoriter.store import Passages
    from memoriter.types import Explanation, Filters, Hit, QueryLine

FIRST_WEIGHT = 2.0
OTHER_WEIGHT = 1.0
"""Weights of the list of the first line, and of the others."""
INTENT_WEIGHT = 0.5
"""By how much of itself the sum of a passage grows if it has all words of the intent. QMD adds as much per word when it
chooses the passage of a document."""


def rank_lines(
    reader: Passages,
    typed: TypedQuery,
    settings: SearchSettings,
    *,
    filters: Filters,
    now: float,
    explain: bool = True,
    trace: Callable[[Trace], None] | None = None,
    rescorer: Rescorer | None = None,
) -> tuple[Hit, ...]:
    """Return the hits for a typed query, best first; the arguments are those of `rank`."""
    numbered = [(number, each) for number, each in enumerate(typed.lines, start=1) if _is_searchable(each)]
    gathered = [(number, each.line, _gather(reader, each, settings, filters)) for number, each in numbered]
    capped = any(candidates.has_unknown_name for _, _, candidates in gathered)
    lines = [_ranked(*each, settings, now, capped=capped) for each in gathered]
    candidates = _union(lines)
    ordered = _order(typed.intent, lines, candidates, settings, now)

    def traced(decisions: Trace) -> None:
        if trace is not None:
            trace(replace(decisions, lines=lines))

    explain_hit = partial(_explanation, lines, settings) if explain and settings.scoring == "calibrated" else None
    return hits_of(reader, candidates, ordered, settings, explain_hit=explain_hit, trace=traced, rescorer=rescorer)


def _is_searchable(each: EmbeddedLine) -> bool:
    return each.line.kind == "lex" or each.vector is not None


def _gather(reader: Passages, each: EmbeddedLine, settings: SearchSettings, filters: Filters) -> Candidates:
    """Return the candidates of a line's retriever, with `has_unknown_name` for the words of a `vec` line too."""
    line = each.line
    terms = query_terms(each.line.text)[:MAX_TERMS]
    within = replace(line.filters, sources=filters.sources)
    if line.kind == "lex":
        query = ParsedQuery(line.text, terms, None)
        return gather_by_kind(reader, query, settings, filters=within, use_keywords=True)
    found = gather_by_kind(
        reader, ParsedQuery(line.text, (), each.vector), settings, filters=within, use_keywords=False
    )
    if line.kind == "hyde":
        return found
    weighted, _ = weigh_query(reader, line.text, terms)
    return replace(found, has_unknown_name=weighted.has_unknown_name)


def _ranked(
    number: int, line: QueryLine, candidates: Candidates, settings: SearchSettings, now: float, *, capped: bool
) -> RankedLine:
    """Return a line with the scores and the places of its candidates. Decay changes places, not which have one."""
    scores = calibrated(candidates, settings)
    if line.kind == "hyde" or (capped and not candidates.has_unknown_name):
        scores = {row: cap_below_match(score) for row, score in scores.items()}
    ordered = sort(candidates, apply_decay(candidates, scores, settings, now))
    listed = [item.row for item in ordered if scores[item.row] >= WEAK]
    places = {row: place for place, row in enumerate(listed, start=1)}
    shares = {row: _weight(number) / (RRF_CONSTANT + place) for row, place in places.items()}
    return RankedLine(number, line, candidates, scores, places, shares)


def _weight(number: int) -> float:
    return FIRST_WEIGHT if number == 1 else OTHER_WEIGHT


def _union(lines: Sequence[RankedLine]) -> Candidates:
    """Return the candidates of all lines together; of a candidate of several lines, the parts of the last one."""
    every = [line.candidates for line in lines]
    return Candidates(
        scoring_rows={row: held for each in every for row, held in each.scoring_rows.items()},
        cosines={row: value for each in every for row, value in each.cosines.items()},
        vector_scores={row: value for each in every for row, value in each.vector_scores.items()},
        keyword_scores={row: value for each in every for row, value in each.keyword_scores.items()},
        keyword_ranking=list(dict.fromkeys(row for each in every for row in each.keyword_ranking)),
        vector_ranking=list(dict.fromkeys(row for each in every for row in each.vector_ranking)),
        best_lines={row: line for each in every for row, line in each.best_lines.items()},
        has_vector=any(each.has_vector for each in every),
        has_unknown_name=any(each.has_unknown_name for each in every),
    )


def _order(
    intent: str,
    lines: Sequence[RankedLine],
    candidates: Candidates,
    settings: SearchSettings,
    now: float,
) -> list[RankedRow]:
    """Return all candidates with their scores, in the order of their sums."""
    best = {row: max(line.scores.get(row, 0.0) for line in lines) for row in candidates.scoring_rows}
    sums = {row: sum(line.shares.get(row, 0.0) for line in lines) for row in best}
    if settings.scoring == "rrf":  # as in a question: a share of the first place in every list
        highest = sum(_weight(line.number) for line in lines) / (RRF_CONSTANT + 1)
        best = {row: value / highest for row, value in sums.items() if value}
    items = sort(candidates, apply_decay(candidates, best, settings, now))
    items.sort(key=lambda item: -sums[item.row])  # stable: equal sums keep the order of their scores
    return _by_intent(intent, items, sums, candidates) if query_terms(intent) else items


def _by_intent(
    intent: str, items: list[RankedRow], sums: Mapping[int, float], candidates: Candidates
) -> list[RankedRow]:
    """Return the passages with those of each note in the order that the intent gives them, at its places."""
    wanted = {term_hash(term) for term in query_terms(intent)[:MAX_TERMS]}

    def value(item: RankedRow) -> float:
        held = members(candidates.scoring_rows[item.row].term_counts)
        return sums[item.row] * (1 + INTENT_WEIGHT * len(wanted & held) / len(wanted))

    of_note: dict[str, list[RankedRow]] = {}
    for item in items:
        of_note.setdefault(candidates.scoring_rows[item.row].path, []).append(item)
    chosen = {path: iter(sorted(own, key=lambda item: -value(item))) for path, own in of_note.items()}
    return [next(chosen[candidates.scoring_rows[item.row].path]) for item in items]


def _explanation(lines: Sequence[RankedLine], settings: SearchSettings, item: RankedRow) -> Explanation:
    """Return how a hit came by its score: the best line of each retriever, and what each line contributed."""
    own = [line for line in lines if item.row in line.scores]
    ordered = sorted(own, key=lambda line: -line.scores[item.row])
    explained = explanation(ordered[0].candidates, raw_scores_of(ordered[0].candidates, settings), item)
    if by_words := next((line.candidates for line in ordered if line.line.kind == "lex"), None):
        words = explanation(by_words, {item.row: 0.0}, item)
        explained = replace(
            explained,
            keyword=words.keyword,
            coverage=words.coverage,
            saturation=words.saturation,
            neighbours=words.neighbours,
            terms=words.terms,
        )
    if by_meaning := next((line.candidates for line in ordered if line.line.kind != "lex"), None):
        row = item.row
        explained = replace(explained, cosine=by_meaning.cosines.get(row), vector=by_meaning.vector_scores.get(row))
    found_by = {leg for line in own for leg in line.candidates.retrievers(item.row)}
    contributions = tuple(_contribution(line, item.row) for line in own)
    return replace(explained, legs=tuple(leg for leg in ("vector", "keyword") if leg in found_by), lines=contributions)


def _contribution(line: RankedLine, row: int) -> LineScore:
    return LineScore(line.number, line.line.kind, line.scores[row], line.places.get(row), line.shares.get(row, 0.0))
