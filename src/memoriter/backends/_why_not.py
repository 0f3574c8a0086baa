"""Why a passage is not among the hits of a query: every stage, and a change that was tried before it is proposed.

A citation leads to the passages of the index with its lines, or to what happened to lines that no passage has.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Any, get_args

from memoriter.backends._context import NOTES_ARE_OFF, TRANSCRIPTS_ARE_OFF
from memoriter.errors import InvalidQuery, PathRefused, UsageError, sentence
from memoriter.filters import days_first
from memoriter.layout import OTHER_SUFFIXES
from memoriter.search import RankedQuery, examine
from memoriter.sync import note_of
from memoriter.types import Fix, SettingChange, Stage, StageReport, WhyNot
from memoriter.values import dataclass
from memoriter.workspace import ignoring_line, noisy_lines, read_front_matter, split_citation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memoriter.backends._context import BackendContext, Question, Ranking
    from memoriter.backends._protocol import MemoryBackend
    from memoriter.codes import SkipReason
    from memoriter.records import StoredChunk
    from memoriter.search import Examination, SearchSettings
    from memoriter.store import Snapshot, Store
    from memoriter.sync import ChunkingSettings
    from memoriter.types import Chunk, Hit, Query, SearchResult, Source
    from memoriter.workspace import Workspace

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
    if examined.changes is None or not (examined.changes or examined.excluded_by):
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


SHOWN = 60
"""Characters of a line that a message quotes."""
LAST_LINE = 1 << 30
_LINES = re.compile(r"#L\d{1,9}(?:-L?\d{1,9})?\Z")
INDEX = "Run `memoriter index`."


@dataclass(frozen=True, slots=True)
class CitedLines:
    """Lines of a memory file, as a citation names them."""

    path: str
    """As cited."""
    first: int
    """1-based."""
    last: int
    """Inclusive; `LAST_LINE` for the whole file."""

    @classmethod
    def of(cls, citation: str) -> CitedLines:
        """Return the lines of a citation. Raises UsageError if it is empty."""
        path, first, count = split_citation(citation)
        if not path.strip():
            raise UsageError("The path of the passage is empty.", remedy="Give one, such as MEMORY.md#L4.")
        if first is None:  # a file that cannot be memory
            path = _LINES.sub("", path)
        return cls(path, first or 1, LAST_LINE if first is None or count is None else first + count - 1)

    @property
    def whole(self) -> bool:
        return self.last == LAST_LINE

    def overlap(self, path: str, first: int, last: int) -> bool:
        """Return whether lines of a file are among these."""
        return path == self.path and first <= self.last and self.first <= last

    def has(self, hit: Hit) -> bool:
        """Return whether a hit has some of the lines."""
        return self.overlap(hit.path, hit.start_line, hit.end_line)

    def __str__(self) -> str:
        return self.path if self.whole else citation_of(self.path, self.first, self.last)


def citation_of(path: str, first: int, last: int) -> str:
    """Return `path#L3-L7`, or `path#L3` for a single line."""
    return f"{path}#L{first}" + (f"-L{last}" if last != first else "")


@dataclass(frozen=True, slots=True)
class Located:
    """The passages with the lines of a citation, or the stage before the ranking that lost them."""

    lines: CitedLines
    passages: tuple[StoredChunk, ...] = ()
    stages: tuple[StageReport, ...] = ()
    remedy: str = ""

    @property
    def lost(self) -> Stage | None:
        return next((report.stage for report in self.stages if report.status == "lost"), None)


def passed(stage: Stage, message: str) -> StageReport:
    return StageReport(stage, "passed", message)


def lost(stage: Stage, message: str) -> StageReport:
    return StageReport(stage, "lost", message)


def locate(citation: str, workspace: Workspace, index: Snapshot, cutting: ChunkingSettings) -> Located:
    """Return the passages of an index that have the lines of a citation.

    Raises:
        UsageError: the citation is empty.
    """
    lines = CitedLines.of(citation)
    entry = workspace.find(lines.path)
    path, source = entry or (lines.path, None)
    lines = CitedLines(path, lines.first, lines.last)
    if source is None:
        return _left_out(lines, workspace)
    text = _text_of(lines, source, workspace)
    if isinstance(text, Located):
        return text
    rows = text.split("\n") if text else []
    rows = rows[:-1] if rows and not rows[-1] else rows
    stages = [_written(lines, rows)]
    if stages[0].status == "lost":
        return Located(lines, stages=tuple(stages), remedy="Look for its text with `memoriter search WORDS`.")
    stages.append(passed("scanned", "The file is memory."))
    stored = index.rows(index.ids_at(path)).values()
    passages = tuple(row for row in stored if lines.overlap(path, row.chunk.start_line, row.chunk.end_line))
    if source.kind == "memory":
        note = note_of(path, text, cutting)
        chunks = [chunk for chunk in note.chunks if lines.overlap(path, chunk.start_line, chunk.end_line)]
        if not chunks:
            stages.append(lost("chunked", _why_no_passage(lines, rows)))
            return Located(lines, stages=tuple(stages), remedy="Ask about a line with text of its own.")
        stages.append(passed("chunked", _chunked(path, chunks)))
    if not passages:
        message = "The index does not have it yet." if source.kind == "memory" else "The index has no message of it."
        return Located(lines, stages=(*stages, lost("indexed", message)), remedy=INDEX)
    if source.kind == "sessions":
        stages.append(passed("chunked", _chunked(path, [passage.chunk for passage in passages])))
    return Located(lines, passages, (*stages, passed("indexed", "The index has it.")))


def _text_of(lines: CitedLines, source: Source, workspace: Workspace) -> str | Located:
    """Return the text of the file; of a transcript, only the messages in the cited lines, after as many empty lines."""
    try:
        if source.kind == "sessions":
            count = None if lines.whole else lines.last - lines.first + 1
            text = workspace.read(lines.path, start=lines.first, lines=count).text
            return "\n" * (lines.first - 1) + text if text else ""
        return workspace.peek(source).text
    except PathRefused as error:
        return Located(lines, stages=(lost("written", error.message),), remedy=error.remedy)


def _written(lines: CitedLines, rows: Sequence[str]) -> StageReport:
    count = f"{len(rows)} line{'' if len(rows) == 1 else 's'}"
    if not rows:
        return lost("written", "There is no text." if lines.whole else "There is no text in these lines.")
    if lines.whole:
        return passed("written", f"The file has {count}.")
    if lines.first > len(rows):
        return lost("written", f"The file has {count}, so there is no line {lines.first}.")
    line = rows[lines.first - 1].strip()
    shown = line if len(line) <= SHOWN else f"{line[:SHOWN].rstrip()} …"
    return passed("written", f"Line {lines.first} is {shown!r}." if shown else f"Line {lines.first} is blank.")


def _chunked(path: str, chunks: Sequence[Chunk]) -> str:
    first = chunks[0]
    if len(chunks) > 1:
        return f"{len(chunks)} passages have these lines."
    below = f", below {' › '.join(first.heading)!r}" if first.heading else ""
    return f"The passage is {citation_of(path, first.start_line, first.end_line)}{below}."


def _why_no_passage(lines: CitedLines, rows: Sequence[str]) -> str:
    """Return why no passage has any of the lines."""
    front = read_front_matter("\n".join(rows))
    cited = range(lines.first - 1, min(lines.last, len(rows)))
    if not any(rows[at].strip() for at in cited):
        return "The lines are blank." if len(cited) > 1 else "The line is blank."
    if front and cited[-1] in front.lines:
        return "The line is front matter, whose values find the beginning of the note."
    noise = noisy_lines(rows)
    if all(at in noise or not rows[at].strip() for at in cited):
        return (
            "The line means nothing to a search: it is encoded data, or nothing but links to other notes or into "
            "the same note."
        )
    return "No passage begins or ends there: the line holds only a mark or white space."


def _left_out(lines: CitedLines, workspace: Workspace) -> Located:
    """Return why a path is not memory now."""
    file = os.path.join(workspace.root, lines.path)  # noqa: PTH118 - an absolute path stays what it is
    if not os.path.lexists(file):
        names = [source.path for source in workspace.scan().sources]
        similar = get_close_matches(lines.path, names, n=1)
        remedy = f"Perhaps you mean {similar[0]}." if similar else "See the notes with `memoriter status -v`."
        return Located(lines, stages=(lost("written", f"There is no file {lines.path!r}."),), remedy=remedy)
    refusal = workspace.refusal(lines.path)
    skipped = {skip.path: skip for skip in workspace.scan().skipped}
    names = lines.path.split("/")
    above = ["/".join(names[:depth]) for depth in range(len(names), 0, -1)]
    refusal = refusal or next((skipped[path] for path in above if path in skipped), None)
    reason: SkipReason = refusal.reason if refusal else "special"
    message = sentence(f"{refusal.message[:1].upper()}{refusal.message[1:]}") if refusal else "It is not a plain file."
    rule = ignoring_line(str(workspace.root), names) if reason == "ignored" else None
    if rule:
        message = f"Line {rule[1]} of {rule[0]} leaves it out: {rule[2]!r}."
    remedy = f"Change line {rule[1]} of {rule[0]}." if rule else _scan_remedy(reason, lines.path, workspace)
    return Located(lines, stages=(passed("written", "The file is there."), lost("scanned", message)), remedy=remedy)


def _scan_remedy(reason: SkipReason, path: str, workspace: Workspace) -> str:
    suffix = next((each for each in OTHER_SUFFIXES if path.endswith(each)), None)
    match reason:
        case "not_markdown" if suffix:
            return f"Run `memoriter config set memory.extraSuffixes {suffix}`, or give it a name that ends in .md."
        case "not_markdown":
            return "Give it a name that ends in .md."
        case "ignored":
            return "Rename the file or its folder."
        case "symlink":
            return "Replace the link with the file, or name its target in extraPaths."
        case "too_large":
            return "Split the file."
        case "outside" if path.endswith(".jsonl"):
            return "To search transcripts, see memorySearch.sources and experimental.sessionMemory."
        case "outside" if workspace.layout == "openclaw" and not path.startswith(("../", "/")):
            root = quote(str(workspace.root))
            return f"Run `memoriter init -w {root} --layout=notes`, or name it in extraPaths."
        case "outside":
            return "Name it in extraPaths."
        case _:
            return "See docs/reference/errors.md, or put a plain file there that can be read."
