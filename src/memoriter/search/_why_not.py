"""Why a ranking left passages out: what each of its stages did with them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import fields, replace
from math import inf
from string import punctuation
from typing import TYPE_CHECKING, Any

from memoriter.filters import split_filters
from memoriter.search._candidates import MIN_CANDIDATES, ParsedQuery, gather_by_kind
from memoriter.search._classic import classic_candidates
from memoriter.search._pipeline import MAX_TERMS
from memoriter.search._smallest_change import MOST_RESULTS, RankedQuery, is_hit, repeated, smallest_change, stage_of
from memoriter.search._terms import classic_terms, members, query_terms, term_hash
from memoriter.types import Candidacy, Filters
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from memoriter.filters import FilterPart
    from memoriter.search._pipeline import Trace
    from memoriter.search._score import SearchSettings
    from memoriter.types import Explanation, Stage

DEPTH = 2_000
"""Places of each retriever that are looked at for a passage that is no candidate."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What a ranking did with some passages of one note."""

    row: int
    """The passage that came farthest."""
    stage: Stage | None
    """The stage that lost them all; None if one is a hit."""
    excluded_by: tuple[FilterPart, ...]
    """The filters that exclude the passage."""
    has_vector: bool
    candidacy: Candidacy
    proposed_by: tuple[str, ...]
    """The retrievers that proposed the passage; empty for a neighbour of a candidate, or no candidate."""
    is_candidate: bool
    score: float | None
    """None if the ranking would not score the passage."""
    explanation: Explanation | None
    place: int | None
    """Place, from 1, among the candidates with the minimum score, after MMR; None if it is not among them."""
    is_repeated: bool
    """Whether a better hit has the same text, or says the same."""
    is_crowded: bool
    """Whether its note has as many better hits as it may have."""
    changes: Mapping[str, Any] | None
    """The smallest change of `SearchSettings`, by field, with which a passage is a hit; None if there is none."""
    filters: Filters
    """The filters of the query without those that exclude the passage."""


def examine(query: RankedQuery, settings: SearchSettings, rows: Sequence[int]) -> Examination:
    """Return what a ranking does with passages, and what would make one of them a hit."""
    excluded_by, reduced = _excluding_filters(query, rows)
    query = replace(query, filters=reduced)
    watched = query.reader.passing(rows, reduced)
    _, trace = query.rank(settings)
    stage = stage_of(query, settings, trace, watched)
    row, alone = _farthest(query, settings, trace, watched)
    ranked = next((item for item in trace.ranked if item.row == row), None)
    score, explanation = alone.get(row, (None, None))
    candidacy = _candidacy(query, settings, row)
    has_vector = bool(query.reader.vectors_at([row])[0]) if query.vector is not None else False
    if stage == "candidates" and query.vector is not None and not has_vector and candidacy.keyword is None:
        stage = "embedded"
    passing = [item.row for item in trace.ranked if item.score >= settings.min_score]
    return Examination(
        row=row,
        stage="scope" if excluded_by else stage,
        excluded_by=excluded_by,
        has_vector=has_vector,
        candidacy=candidacy,
        proposed_by=_proposed_by(trace, row),
        is_candidate=ranked is not None,
        score=ranked.score if ranked else score,
        explanation=explanation,
        place=passing.index(row) + 1 if row in passing else None,
        is_repeated=row in repeated(query, trace, settings),
        is_crowded=stage == "budget" and is_hit(query, replace(settings, max_per_note=None), watched),
        changes=None if stage == "embedded" else smallest_change(query, settings, watched),
        filters=reduced,
    )


def _excluding_filters(query: RankedQuery, rows: Sequence[int]) -> tuple[tuple[FilterPart, ...], Filters]:
    """Return the fewest filters that exclude one of the passages, and the filters without them."""
    if query.reader.passing(rows, query.filters):
        return (), query.filters
    parts = [(part, query.reader.passing(rows, part.filters)) for part in split_filters(query.filters)]
    best = min(rows, key=lambda row: sum(row not in passing for _, passing in parts))
    excluded_by = tuple(part for part, passing in parts if best not in passing)
    reduced = query.filters
    for part in excluded_by:
        reduced = _without(reduced, part.filters)
    return excluded_by, reduced


def _without(filters: Filters, part: Filters) -> Filters:
    """Return the filters without those of a part."""
    changed: dict[str, Any] = {}
    for each in fields(Filters):  # type: ignore[arg-type]
        value = getattr(part, each.name)
        if isinstance(value, tuple):
            texts: tuple[str, ...] = getattr(filters, each.name)
            changed[each.name] = tuple(text for text in texts if text not in value)
        elif value is not None:
            changed[each.name] = None
    return replace(filters, **changed)


def _farthest(
    query: RankedQuery, settings: SearchSettings, trace: Trace, watched: AbstractSet[int]
) -> tuple[int, Mapping[int, tuple[float, Explanation | None]]]:
    """Return the passage that came farthest, and the scores of passages of its note."""
    path = next(iter(query.reader.rows(watched).values())).path
    wide = replace(settings, max_results=MOST_RESULTS, min_score=-inf, mmr_lambda=None, max_per_note=None)
    hits, alone = query.rank(wide, filters=Filters(path=path))
    scores = {item.row: (item.score, hit.explanation) for item, hit in zip(alone.kept, hits, strict=True)}
    if settings.scoring == "rrf":  # a score by places means nothing in another ranking
        scores = {}
    for items in (trace.kept, trace.ranked):
        if (row := next((item.row for item in items if item.row in watched), None)) is not None:
            return row, scores
    return max(sorted(watched), key=lambda row: scores.get(row, (-inf, None))[0]), scores


def _candidacy(query: RankedQuery, settings: SearchSettings, row: int) -> Candidacy:
    """Return the place of a passage in the order of each retriever."""
    limit = settings.candidates if settings.scoring == "classic" else max(settings.candidates, MIN_CANDIDATES)
    terms_of = classic_terms if settings.scoring == "classic" else query_terms
    held = members(query.reader.rows([row])[row].term_counts)
    return Candidacy(
        limit=limit,
        keyword=_keyword_place(query, settings, row, limit),
        vector=_place(_orders(query, settings, DEPTH)[1], row),
        depth=DEPTH,
        missing=_missing_words(query.text, terms_of, held),
    )


def _missing_words(text: str, terms_of: Callable[[str], Sequence[str]], held: AbstractSet[int]) -> tuple[str, ...]:
    """Return the words of a query of which a passage has no term; of a word that is not ASCII, the terms.

    Args:
        text: the query.
        terms_of: returns the terms of a text.
        held: hashes of the passage's terms.
    """
    wanted = set(terms_of(text)[:MAX_TERMS])
    missing = list[str]()
    for word in text.split():
        own = [term for term in terms_of(word) if term in wanted]
        absent = [term for term in own if term_hash(term) not in held]
        if absent and len(absent) == len(own) and word.isascii():
            missing.append(word.strip(punctuation))
        elif not word.isascii():
            missing += absent
    return tuple(dict.fromkeys(missing))


def _place(rows: Sequence[int], row: int) -> int | None:
    return rows.index(row) + 1 if row in rows else None


def _keyword_place(query: RankedQuery, settings: SearchSettings, row: int, limit: int) -> int | None:
    """Return the place of a passage in the order of the keyword retriever.

    Passages with the same words have an order only as far as the retriever must choose among them. The place of one
    that it does not propose is the least number of candidates with which it would.
    """
    if (place := _place(_orders(query, settings, limit)[0], row)) is not None:
        return place
    if row not in _orders(query, settings, DEPTH)[0]:
        return None
    most = range(limit + 1, DEPTH + 1)
    return most[bisect_left(most, True, key=lambda number: row in _orders(query, settings, number)[0])]


def _orders(query: RankedQuery, settings: SearchSettings, limit: int) -> tuple[list[int], list[int]]:
    """Return up to `limit` passages of both retrievers, best first: by words, and by meaning."""
    if settings.scoring == "classic":
        nearest, matches = classic_candidates(
            query.reader, query.text, query.vector, settings, filters=query.filters, limit=limit
        )
        return [row for row, _ in matches], [row for row, _ in nearest]
    parsed = ParsedQuery(query.text, query_terms(query.text)[:MAX_TERMS], query.vector)
    use_keywords = settings.hybrid or query.vector is None
    candidates = gather_by_kind(
        query.reader, parsed, settings, filters=query.filters, use_keywords=use_keywords, limit=limit
    )
    return list(candidates.keyword_ranking), list(candidates.vector_ranking)


def _proposed_by(trace: Trace, row: int) -> tuple[str, ...]:
    return () if trace.candidates is None else trace.candidates.retrievers(row)
