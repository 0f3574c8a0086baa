"""The smallest change of settings with which a ranking does not leave a passage out.

There is no second ranking here. A stage lost a passage if the trace of `rank` says so, and a change helps if `rank`
keeps the passage with it.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor
from typing import TYPE_CHECKING, Any

from memoriter.search._candidates import MIN_CANDIDATES
from memoriter.search._hits import repeated_rows
from memoriter.search._pipeline import rank
from memoriter.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray

    from memoriter.search._pipeline import RankedRow, Trace
    from memoriter.search._rerank import Rescorer
    from memoriter.search._score import SearchSettings
    from memoriter.store import Passages
    from memoriter.types import Filters, Hit, Stage

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
