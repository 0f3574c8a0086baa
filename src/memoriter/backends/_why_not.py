"""Why a passage is not among the hits of a query: every stage, and a change that was tried before it is proposed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from memoriter.backends._cited_lines import INDEX, CitedLines, citation_of, locate, lost
from memoriter.backends._context import NOTES_ARE_OFF, TRANSCRIPTS_ARE_OFF
from memoriter.errors import InvalidQuery
from memoriter.filters import days_first
from memoriter.search import RankedQuery, examine
from memoriter.types import Fix, SettingChange, Stage, StageReport, WhyNot
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memoriter.backends._context import BackendContext, Question, Ranking
    from memoriter.backends._protocol import MemoryBackend
    from memoriter.search import Examination, SearchSettings
    from memoriter.store import Snapshot, Store
    from memoriter.types import Query, SearchResult

    _Search = Callable[..., SearchResult]
    _Vary = Callable[[Mapping[str, Any]], AbstractContextManager[MemoryBackend]]

STAGES: tuple[Stage, ...] = get_args(Stage)
FIELDS: Mapping[str, str] = {
    "query.minScore": "min_score",
    "query.maxResults": "max_results",
    "query.maxPerNote": "max_per_note",
    "query.hybrid.enabled": "hybrid",
    "query.hybrid.candidateMultiplier": "candidate_multiplier",
    "query.hybrid.mmr.lambda": "mmr_lambda",
}
"""The fields of `SearchSettings` that a fix may change, by the keys of their settings."""
KEYS = {field: key for key, field in FIELDS.items()}
OPTIONS = {"min_score": "--min-score", "max_results": "-n"}
"""The options of `memoriter search` for the same."""
REWRITE = "Ask with words of the passage, or write words of the question into it."
STALE = "The index holds another text than the file."


def with_changes(settings: SearchSettings, changes: Mapping[str, Any]) -> SearchSettings:
    """Return the settings with values by the keys of `FIELDS`. Raises KeyError for another key."""
    return replace(settings, **{FIELDS[key]: value for key, value in changes.items()})


@dataclass(frozen=True, slots=True)
class _Observed:
    """One search, as it went."""

    result: SearchResult
    index: Store
    question: Question
    ranking: Ranking


def explain_miss(context: BackendContext, search: _Search, vary: _Vary, query: Query, citation: str) -> WhyNot:
    """Return which stage lost a passage, and the smallest change that brings it back.

    Args:
        context: the backend.
        search: its search, whose keyword argument `observe` receives index, question and ranking.
        vary: returns the same backend with other settings of search.
        query: the query; a time that it names plays no part, because it excludes nothing.
        citation: the passage: `path`, `path#L5`, `path#L5-L9` or `path:5`.

    Raises:
        InvalidQuery: the query is empty, or typed.
        UsageError: the citation is empty.
    """
    if query.lines:
        raise InvalidQuery(
            "This query has typed lines, and an explanation follows one question.",
            remedy="Ask with the text of one line, without its type.",
        )
    query = replace(query, time=None, newest=False)
    answer = _explain_once(context, search, vary, query, citation)
    if answer.fix is not None and not answer.fix.verified:  # the index changed between both searches
        answer = _explain_once(context, search, vary, query, citation)
    return answer


def _explain_once(context: BackendContext, search: _Search, vary: _Vary, query: Query, citation: str) -> WhyNot:
    seen: list[tuple[Store, Question, Ranking]] = []

    def observe(index: Store, question: Question, ranking: Ranking) -> None:
        seen.append((index, question, ranking))

    result = search(query, observe=observe)
    observed = _Observed(result, *seen[-1])
    miss, examined = observed.index.at_one_state(partial(_explain, context, observed, citation))
    if miss.found or examined is None:
        return miss
    unsearched = _unsearched_kind(context, query, examined, observed.index)
    fix = None if unsearched else _verified(vary, query, observed.ranking.settings, examined, miss.citation)
    return replace(miss, fix=fix, remedy=unsearched or _remedy(examined, fix))


def _explain(
    context: BackendContext, observed: _Observed, citation: str, index: Snapshot
) -> tuple[WhyNot, Examination | None]:
    """Return the answer without a fix, and what the ranking did with the passage if it came so far."""
    result = observed.result
    ranking = observed.ranking
    located = locate(citation, context.workspace, index, context.settings.sync.chunking)
    place = next((at for at, hit in enumerate(result.hits, start=1) if located.lines.has(hit)), None)
    answer = WhyNot(
        query=observed.question.text,
        citation=str(located.lines),
        passage="",
        place=place,
        hits=len(result.hits),
        stage=None,
        stages=(),
        last_score=result.hits[-1].score if result.hits else None,
        remedy=located.remedy if place is None else "",
        reasons=result.health.reasons,
    )
    if not located.passages:
        return replace(answer, stage=located.lost, stages=_all_stages(located.stages)), None
    question = observed.question
    query = RankedQuery(index, question.text, question.vector, ranking.filters, ranking.now, question.rescoring)
    rows = [passage.id for passage in located.passages]
    if place is not None:
        cited = result.hits[place - 1].start_line, result.hits[place - 1].end_line
        exact = [each.id for each in located.passages if (each.chunk.start_line, each.chunk.end_line) == cited]
        rows = exact or rows
    examined = examine(query, ranking.settings, rows)
    passage = next(each for each in located.passages if each.id == examined.row)
    answer = replace(
        answer,
        passage=citation_of(passage.path, passage.chunk.start_line, passage.chunk.end_line),
        score=examined.score,
        candidacy=examined.candidacy,
        explanation=examined.explanation,
    )
    if place is None and examined.stage is None:
        stages = (*located.stages[:-1], lost("indexed", STALE))
        return replace(answer, stage="indexed", stages=_all_stages(stages), remedy=INDEX), None
    stage = None if place is not None else examined.stage
    is_pending = bool(index.missing(1, of=[passage.id]))
    stages = (*located.stages, *_ranking_stages(observed, examined, stage, place, is_pending=is_pending))
    return replace(answer, stage=stage, stages=_all_stages(stages)), examined


def _all_stages(reports: Sequence[StageReport]) -> tuple[StageReport, ...]:
    """Return the reports up to the stage that lost the passage, and the later stages as not reached.

    Of the later stages, `score` keeps its message: what the passage would have scored.
    """
    ordered = sorted(reports, key=lambda report: STAGES.index(report.stage))
    lost_at = next((at for at, report in enumerate(ordered) if report.status == "lost"), len(ordered) - 1)
    scored = {report.stage: report.message for report in ordered[lost_at + 1 :] if report.stage == "score"}
    later = STAGES[STAGES.index(ordered[lost_at].stage) + 1 :]
    return (*ordered[: lost_at + 1], *(StageReport(stage, "not_reached", scored.get(stage, "")) for stage in later))


def _ranking_stages(
    observed: _Observed, examined: Examination, stage: Stage | None, place: int | None, *, is_pending: bool
) -> list[StageReport]:
    """Return the reports of the stages from `embedded` on."""
    settings = observed.ranking.settings
    hits = len(observed.result.hits)
    messages: dict[Stage, str] = {
        "embedded": _embedded_message(observed, examined, is_pending=is_pending),
        "scope": _scope_message(observed, examined),
        "candidates": _candidates_message(examined, by_meaning=observed.question.vector is not None),
        "score": _score_message(examined, observed.result, is_reached=examined.is_candidate and stage != "scope"),
        "threshold": _threshold_message(examined, settings),
        "diversity": _diversity_message(examined, settings, is_lost=stage == "diversity"),
        "budget": f"It is hit {place} of {hits}." if place is not None else _budget_message(examined, settings),
    }
    reports = [StageReport(each, "lost" if each == stage else "passed", text) for each, text in messages.items()]
    if stage != "embedded" and not examined.has_vector:
        reports[0] = replace(reports[0], status="warned")
    return reports


def _embedded_message(observed: _Observed, examined: Examination, *, is_pending: bool) -> str:
    if observed.question.vector is None:
        return "The search was by words alone."
    if examined.has_vector:
        return "It has a vector."
    return f"{'It has no vector yet' if is_pending else 'The model refused its text'}, so only its words can find it."


def _scope_message(observed: _Observed, examined: Examination) -> str:
    if examined.excluded_by:
        return f"The query leaves it out: {', '.join(part.words for part in examined.excluded_by)}."
    return "The query has no filter." if observed.ranking.filters.empty else "The filters of the query let it pass."


def _candidates_message(examined: Examination, *, by_meaning: bool) -> str:
    candidacy = examined.candidacy
    parts = [
        f"{_ordinal(place)} by {name}" if place else f"not among the first {candidacy.depth:,} by {name}"
        for name, place in (("words", candidacy.keyword), ("meaning", candidacy.vector))
        if name == "words" or by_meaning
    ]
    message = f"It is {' and '.join(parts)}; each retriever proposes {candidacy.limit}."
    if examined.is_candidate and not examined.proposed_by and examined.explanation is not None:
        message += " It is a candidate because it is next to one."
    if candidacy.missing:
        message += f" Words of the query that it does not have: {', '.join(candidacy.missing)}."
    return message


def _ordinal(number: int) -> str:
    """Return a number with its ending.

    >>> [_ordinal(number) for number in (1, 2, 3, 11, 22, 113)]
    ['1st', '2nd', '3rd', '11th', '22nd', '113th']
    """
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _score_message(examined: Examination, result: SearchResult, *, is_reached: bool) -> str:
    if examined.score is None:
        return "It has no score."
    parts = ""
    if (why := examined.explanation) is not None:
        meaning = "no vector" if why.vector is None else f"meaning {why.vector:.3f}"
        parts = f": {meaning}, words {why.keyword:.3f}, blend {why.raw:.3f}"
        parts += f", decay {why.decay:.3f}" if why.decay != 1.0 else ""
    last = f" The last hit has {result.hits[-1].score:.3f}." if result.hits else ""
    return f"Its score {'is' if is_reached else 'would be'} {examined.score:.3f}{parts}.{last}"


def _threshold_message(examined: Examination, settings: SearchSettings) -> str:
    if examined.score is None or examined.score >= settings.min_score:
        return f"The minimum score is {settings.min_score:g}."
    return f"Its score {examined.score:.3f} is below the minimum score, {settings.min_score:g}."


def _diversity_message(examined: Examination, settings: SearchSettings, *, is_lost: bool) -> str:
    if examined.is_repeated:
        return "A better hit has the same text, or it is a heading alone in a note with a better hit."
    if is_lost:
        return f"MMR with lambda {settings.mmr_lambda:g} prefers passages that are less like the better hits."
    return "No better hit repeats it."


def _budget_message(examined: Examination, settings: SearchSettings) -> str:
    if examined.is_crowded:
        return f"Its note has as many better hits as it may have: {settings.max_per_note}."
    if examined.place is None:
        return f"A search returns {settings.max_results} hits."
    return f"It is the {_ordinal(examined.place)} passage in order, and a search returns {settings.max_results}."


def _unsearched_kind(context: BackendContext, query: Query, examined: Examination, index: Store) -> str:
    """Return what to do if the settings exclude the kind of the passage; empty if they do not."""
    kind = index.rows([examined.row])[examined.row].source
    if query.filters.sources is not None or kind in context.settings.sources:
        return ""
    return (TRANSCRIPTS_ARE_OFF if kind == "sessions" else NOTES_ARE_OFF).remedy


def _verified(vary: _Vary, query: Query, settings: SearchSettings, examined: Examination, citation: str) -> Fix | None:
    """Search again with the change that should bring a passage back; None if there is no such change."""
    if not examined.changes and not examined.excluded_by:
        return None
    if examined.changes is None:
        return None
    values = dict(examined.changes)
    changes = tuple(
        SettingChange(KEYS[field], getattr(settings, field), value, f"{OPTIONS[field]} {value:g}")
        if field in OPTIONS
        else SettingChange(KEYS[field], getattr(settings, field), value)
        for field, value in values.items()
    )
    # A value of the query would take the place of the setting that is tried.
    own: dict[str, Any] = {field: value for field, value in values.items() if hasattr(query, field)}
    again = replace(query, update=False, filters=examined.filters, **own)  # the same state of the index
    with vary({change.key: change.value for change in changes}) as other:
        hits = other.search(again).hits
    lines = CitedLines.of(citation)
    place = next((at for at, hit in enumerate(hits, start=1) if lines.has(hit)), None)
    leave_out = tuple(days_first(part.option for part in examined.excluded_by))
    return Fix(changes, leave_out, verified=place is not None, place=place)


def _remedy(examined: Examination, fix: Fix | None) -> str:
    """Return what helps besides a fix, or instead of it."""
    if examined.stage == "embedded":
        return INDEX
    return REWRITE if examined.candidacy.missing or fix is None else ""
