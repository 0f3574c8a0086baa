"""Why a ranking left passages out: what each of its stages did with them, and the smallest change that keeps one.

There is no second ranking here. A stage lost a passage if the trace of `rank` says so, and a change of settings helps
if `rank` keeps the passage with it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import fields, replace
from math import floor, inf
from string import punctuation
from typing import TYPE_CHECKING, Any

from memoriter.filters import split_filters
from memoriter.search._candidates import MIN_CANDIDATES, ParsedQuery, gather_by_kind
from memoriter.search._classic import classic_candidates
from memoriter.search._hits import repeated_rows
from memoriter.search._pipeline import MAX_TERMS, rank
from memoriter.search._terms import classic_terms, members, query_terms, term_hash
from memoriter.types import Candidacy, Filters
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.filters import FilterPart
    from memoriter.search._pipeline import RankedRow, Rescorer, Trace
    from memoriter.search._score import SearchSettings
    from memoriter.store import Passages
    from memoriter.types import Explanation, Hit, Stage


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
        proposed_by=trace.candidates.retrievers(row) if trace.candidates else (),
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


MOST_RESULTS = 1_000
"""The most hits that a search may return."""
MOST_CANDIDATES = 200
"""The most chunks that the settings let each retriever propose."""
MOST_CHANGES = 12
"""Changes after which the search for a fix ends; each one gets the passage past one stage."""
MOST_RANKINGS = 400
"""Rankings after which the search for a fix ends."""


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """The inputs of a ranking in one state of the index, except its settings."""

    reader: Passages
    text: str
    """As `clean_query` returns it."""
    vector: NDArray[np.float32] | None
    """(dims,), or None to search by keywords only."""
    filters: Filters
    now: float
    """Seconds since 1970."""
    rescorer: Rescorer | None = None
    """The reranker's scores, as far as they are known; other candidates keep the engine's order."""

    def rank(self, settings: SearchSettings, *, filters: Filters | None = None) -> tuple[tuple[Hit, ...], Trace]:
        """Return the hits and the decisions of the ranking with these settings."""
        traces: list[Trace] = []
        within = self.filters if filters is None else filters
        hits = rank(
            self.reader,
            self.text,
            self.vector,
            settings,
            filters=within,
            now=self.now,
            trace=traces.append,
            rescorer=self.rescorer,
        )
        return hits, traces[-1]


def stage_of(query: RankedQuery, settings: SearchSettings, trace: Trace, watched: AbstractSet[int]) -> Stage | None:
    """Return the stage of a ranking that lost all of the passages; None if it kept one."""
    if any(item.row in watched for item in trace.kept):
        return None
    ranked = [item for item in trace.ranked if item.row in watched]
    if not ranked:
        return "candidates"
    passing = {item.row for item in ranked if item.score >= settings.min_score}
    if not passing:
        return "threshold"
    without_mmr = replace(settings, mmr_lambda=None)
    spread = settings.mmr_lambda is not None and is_hit(query, without_mmr, watched)
    return "diversity" if spread or passing <= repeated(query, trace, settings) else "budget"


def is_hit(query: RankedQuery, settings: SearchSettings, watched: AbstractSet[int]) -> bool:
    return any(item.row in watched for item in query.rank(settings)[1].kept)


def repeated(query: RankedQuery, trace: Trace, settings: SearchSettings) -> set[int]:
    """Return the candidates that repeat a better one; classic scoring keeps them."""
    passing = [item.row for item in trace.ranked if item.score >= settings.min_score]
    return set() if trace.candidates is None else repeated_rows(passing, query.reader.rows(passing))


@dataclass(slots=True)
class _Trials:
    """Rankings with other settings, at most `MOST_RANKINGS`."""

    query: RankedQuery
    watched: AbstractSet[int]
    left: int = field(default=MOST_RANKINGS)

    def stage(self, settings: SearchSettings) -> Stage | None:
        """Return the stage that loses the passages with these settings; None if one is a hit."""
        self.left -= 1
        return stage_of(self.query, settings, self.query.rank(settings)[1], self.watched)

    def first_past(self, stage: Stage, ways: Iterable[SearchSettings]) -> SearchSettings | None:
        """Return the first of these settings with which the stage does not lose the passages."""
        for settings in ways:
            if self.left <= 0:
                return None
            if self.stage(settings) != stage:
                return settings
        return None


def smallest_change(query: RankedQuery, settings: SearchSettings, watched: AbstractSet[int]) -> dict[str, Any] | None:
    """Return the smallest change of the settings, by field, with which one of the passages is a hit.

    Each stage that loses the passages gets the nearest value of its setting with which it does not. In the end, as much
    as a later change made unnecessary is taken back.
    """
    trials = _Trials(query, watched)
    reached = settings
    for _ in range(MOST_CHANGES):
        stage = trials.stage(reached)
        if stage is None:
            break
        changed = _past(stage, trials, reached)
        if changed is None:
            return None
        reached = changed
    else:
        return None
    for name in _changed_fields(settings, reached):
        reverted = replace(reached, **{name: getattr(settings, name)})
        if trials.stage(reverted) is None:
            reached = reverted
    for name in _changed_fields(settings, reached):
        while name in _COUNTS and trials.left > 0 and getattr(reached, name) > getattr(settings, name) + 1:
            fewer = replace(reached, **{name: getattr(reached, name) - 1})
            if trials.stage(fewer) is not None:
                break
            reached = fewer
    return {name: getattr(reached, name) for name in _changed_fields(settings, reached)}


_FIELDS = ("hybrid", "candidate_multiplier", "max_results", "min_score", "mmr_lambda", "max_per_note")
_COUNTS = ("candidate_multiplier", "max_results")


def _changed_fields(before: SearchSettings, after: SearchSettings) -> list[str]:
    return [name for name in _FIELDS if getattr(before, name) != getattr(after, name)]


def _past(stage: Stage, trials: _Trials, settings: SearchSettings) -> SearchSettings | None:
    """Return the nearest settings with which a stage does not lose the passages; None if there are none."""
    match stage:
        case "candidates":
            return trials.first_past(stage, _with_more_candidates(settings, has_vector=trials.query.vector is not None))
        case "threshold":
            _, trace = trials.query.rank(settings)
            score = max(item.score for item in trace.ranked if item.row in trials.watched)
            return replace(settings, min_score=_hundredth_below(score)) if score >= 0 else None
        case "diversity":
            return trials.first_past(stage, _with_less_diversity(settings)) or _with_more_results(trials, settings)
        case _:
            limit = settings.max_per_note
            if limit is not None:
                ways = (replace(settings, max_per_note=more) for more in range(limit + 1, settings.max_results))
                if is_hit(trials.query, replace(settings, max_per_note=None), trials.watched):
                    return trials.first_past(stage, ways) or replace(settings, max_per_note=None)
            return _with_more_results(trials, settings)


def _hundredth_below(score: float) -> float:
    """Return the greatest hundredth that is not above the score."""
    return max(step / 100 for step in (floor(score * 100), floor(score * 100) + 1) if step / 100 <= score)


def _with_more_candidates(settings: SearchSettings, *, has_vector: bool) -> Iterator[SearchSettings]:
    """Yield settings with more and more candidates: with the words first, then a higher multiple, then more results."""
    if not settings.hybrid and has_vector:
        yield replace(settings, hybrid=True)
    before = settings.candidates
    for multiplier in range(settings.candidate_multiplier + 1, 21):
        way = replace(settings, candidate_multiplier=multiplier)
        if way.candidates > max(before, MIN_CANDIDATES if settings.scoring != "classic" else 0):
            before = way.candidates
            yield way
    for results in range(settings.max_results + 1, MOST_CANDIDATES + 1):
        way = replace(settings, candidate_multiplier=20, max_results=results)
        if way.candidates <= before:
            return
        before = way.candidates
        yield way


def _with_less_diversity(settings: SearchSettings) -> Iterator[SearchSettings]:
    """Yield settings in which MMR looks more and more at relevance alone."""
    if settings.mmr_lambda is not None:
        steps = range(floor(settings.mmr_lambda * 20) + 1, 21)
        yield from (replace(settings, mmr_lambda=step / 20) for step in steps)


def _with_more_results(trials: _Trials, settings: SearchSettings) -> SearchSettings | None:
    """Return the settings with the fewest hits among which one of the passages is."""
    results = settings.max_results
    while results < MOST_RESULTS and trials.left > 0:
        results += 1
        trials.left -= 1
        way = replace(settings, max_results=results)
        _, trace = trials.query.rank(way)
        if any(item.row in trials.watched for item in trace.kept):
            return way
        if len(trace.kept) < results:  # all candidates are hits
            return None
        results = max(results, _fewest(trials, way, trace) - 1)
    return None


def _fewest(trials: _Trials, settings: SearchSettings, trace: Trace) -> int:
    """Return a number of hits below which none of the passages can be one."""
    if len(settings.kinds) > 1 or settings.max_per_note:
        return 0  # a passage may be a hit before better ones
    passing: list[RankedRow] = [item for item in trace.ranked if item.score >= settings.min_score]
    repeating = repeated(trials.query, trace, settings)
    fresh = [item.row for item in passing if item.row not in repeating]
    places = [at for at, row in enumerate(fresh, start=1) if row in trials.watched]
    return min(places, default=len(fresh))
