"""The hits found for questions about a workspace of notes, and the report on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from memoriter.extensions.evals._datasets import is_foreign_kind
from memoriter.extensions.evals._metrics import (
    Estimate,
    Table,
    auc,
    estimate,
    estimate_auc,
    estimate_cells,
    mean,
    ndcg,
    quality,
    recall,
)
from memoriter.questions import AnswerLines
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memoriter.memory import Memory
    from memoriter.questions import EvalQuestion
    from memoriter.sync import Progress
    from memoriter.types import Hit, Outcome, SearchResult

OUTCOMES = ("match", "weak", "none")
TOP = 3
"""Number of first hits in which an answer should be."""
DEPTH = 10
"""Number of hits that are judged."""
OURS = "memoriter"
CROSS_LANGUAGE = "cross-language"
"""Kind of a question in another language than its note."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """A question with the hits of a search for it."""

    question: EvalQuestion
    hits: tuple[Hit, ...]
    """Hits, best first, including those below `min_score`."""
    min_score: float
    """Lowest score of a hit that a search shows."""
    certainty: Outcome | None = None
    """What the search says about its answer; None if the system says nothing of the kind."""
    seconds: float = 0.0
    """How long the search took."""
    deep: tuple[Hit, ...] | None = None
    """The first ten hits, if `hits` are as many as a search of these settings returns; they may differ in order."""

    @property
    def shown(self) -> tuple[Hit, ...]:
        return tuple(hit for hit in self.hits if hit.score >= self.min_score)

    @property
    def outcome(self) -> Outcome | None:
        """What a search with the minimum score says: `match`, `weak` or `none`; None if the system says nothing."""
        return self.certainty if self.shown or self.certainty is None else "none"

    @property
    def top_score(self) -> float:
        return max((hit.score for hit in self.hits), default=0.0)

    @property
    def note_place(self) -> int | None:
        """Place, from 1, of the first hit in a note with an answer; None without such a hit."""
        return self._first_place(AnswerLines.is_in_note)

    @property
    def lines_place(self) -> int | None:
        """Place, from 1, of the first hit whose lines overlap an answer; None without such a hit."""
        return self._first_place(AnswerLines.overlaps)

    @property
    def is_right(self) -> bool:
        """Whether lines with an answer are among the first three hits."""
        return _within(self.lines_place, TOP)

    @property
    def answer_ranking(self) -> tuple[list[str], set[str]]:
        """The hits as keys of the answers that each adds, best first, and the keys of all answers, for metrics."""
        answers = self.question.answers
        keys = list[str]()
        for place, hit in enumerate(self.hits if self.deep is None else self.deep):
            new = [str(at) for at, answer in enumerate(answers) if answer.overlaps(hit) and str(at) not in keys]
            keys += new or [f"other {place}"]
        return keys, {str(at) for at in range(len(answers))}

    def _first_place(self, matches: Callable[[AnswerLines, Hit], bool]) -> int | None:
        answers = self.question.answers
        for place, hit in enumerate(self.hits, start=1):
            if any(matches(answer, hit) for answer in answers):
                return place
        return None


def ask(
    memory: Memory,
    questions: Iterable[EvalQuestion],
    *,
    left_out: str | None = None,
    deep: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[QuestionResult, ...]:
    """Search a workspace for every question with its own settings, but without its minimum score.

    The results therefore include the hits below the minimum score. Hits of the note `left_out` do not count, because it
    contains the questions. With `deep`, a search whose settings say fewer than ten hits is repeated for ten.
    """
    memory.sync(progress=progress)
    query = memory.settings.query
    results: list[QuestionResult] = []

    def kept(found: SearchResult) -> tuple[Hit, ...]:
        return tuple(shortened(hit) for hit in found.hits if hit.path != left_out)

    for question in questions:
        begun = perf_counter()
        found = memory.search(question.text, min_score=0.0, explain=True)
        seconds = perf_counter() - begun
        result = QuestionResult(question, kept(found), query.min_score, found.outcome, seconds)
        if deep and query.max_results < DEPTH:
            more = memory.search(question.text, min_score=0.0, max_results=DEPTH)
            result = replace(result, deep=kept(more))
        results.append(result)
    return tuple(results)


def shortened(hit: Hit) -> Hit:
    """Return a hit with as much of its text as a report shows."""
    return replace(hit, snippet=hit.snippet[:200], text=hit.text[:200])


@dataclass(frozen=True, slots=True)
class QuestionsReport:
    """The results of one run, and their figures."""

    answerable: tuple[QuestionResult, ...]
    unanswerable: tuple[QuestionResult, ...]
    system: str = OURS

    @property
    def auc(self) -> float | None:
        """How well the top score separates questions with an answer from questions without one; see `auc`."""
        return auc([result.top_score for result in self.answerable], [result.top_score for result in self.unanswerable])

    @property
    def misses(self) -> tuple[QuestionResult, ...]:
        """Questions whose lines are not among the first three hits, or are below the minimum score."""
        return tuple(result for result in self.answerable if not result.is_right or not _is_shown(result))

    def lines(self) -> list[str]:
        """Return the report as lines of Markdown."""
        tables = (self._places_table(), self._outcomes_table(), figures_table(self))
        return [
            *(line for table in tables for line in table.lines()),
            *self._separation_lines(),
            "",
            f"**Lines not among the first {TOP} shown ({len(self.misses)} of {len(self.answerable)})**",
            "",
            *(line for result in self.misses for line in _miss_lines(result)),
        ]

    def values(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "groups": [dict(zip(_COLUMNS, row, strict=True)) for row in self._places_table().rows],
            "outcomes": {
                "answerable": _outcome_counts(self.answerable),
                "unanswerable": _outcome_counts(self.unanswerable),
            },
            "auc": self.auc,
            "figures": figure_values(self),
            "questions": [_result_values(result) for result in (*self.answerable, *self.unanswerable)],
        }

    def _places_table(self) -> Table:
        rows = [_row("all", self.answerable)]
        for groups in (
            [(result.question.lang, result) for result in self.answerable],
            [(result.question.kind, result) for result in self.answerable],
        ):
            names = sorted({group for group, _ in groups})
            rows += [_row(name, [result for group, result in groups if group == name]) for name in names]
        return Table("Where the answer was found", _COLUMNS, tuple(rows))

    def _outcomes_table(self) -> Table:
        rows: list[tuple[str | int, ...]] = []
        for name, results in (("answerable", self.answerable), ("unanswerable", self.unanswerable)):
            rows.append((name, *_outcome_counts(results).values()))
        with_lines = [result for result in self.answerable if result.is_right]
        rows.append((f"lines in the first {TOP}", *_outcome_counts(with_lines).values()))
        return Table("Outcomes", ("questions", *OUTCOMES), tuple(rows))

    def _separation_lines(self) -> list[str]:
        tops = ", ".join(
            f"{result.question.id} {result.top_score:.3f} ({result.hits[0].citation if result.hits else 'nothing'})"
            for result in sorted(self.unanswerable, key=lambda result: -result.top_score)
        )
        auc_text = "-" if self.auc is None else f"{self.auc:.3f}"
        return [
            f"AUC of the top score, answerable against unanswerable: {auc_text}",
            f"Top scores without an answer: {tops}",
        ]


_COLUMNS = (
    "questions",
    "n",
    "note@1",
    "note@3",
    "note@6",
    "lines@1",
    "lines@3",
    "lines@6",
    "mrr",
    "nDCG@10",
    "recall@10",
    "shown@3",
    "top score",
)


def _row(name: str, results: Sequence[QuestionResult]) -> tuple[str | float | int, ...]:
    in_notes = [result.note_place for result in results]
    in_lines = [result.lines_place for result in results]
    counts = [
        sum(_within(place, limit) for place in places) for places in (in_notes, in_lines) for limit in (1, TOP, 6)
    ]
    reciprocal = mean([1 / place if place else 0.0 for place in in_lines])
    found = quality([result.answer_ranking for result in results])
    shown = sum(result.is_right and _is_shown(result) for result in results)
    top_score = mean([result.top_score for result in results])
    return (name, len(results), *counts, reciprocal, found.ndcg_10, found.recall_10, shown, top_score)


def _within(place: int | None, limit: int) -> bool:
    return place is not None and place <= limit


def _is_shown(result: QuestionResult) -> bool:
    """Return whether the first hit with the right lines has at least the minimum score."""
    place = result.lines_place
    return place is not None and result.hits[place - 1].score >= result.min_score


def _outcome_counts(results: Sequence[QuestionResult]) -> dict[str, int]:
    counts = Counter(result.outcome for result in results)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def _miss_lines(result: QuestionResult) -> list[str]:
    question = result.question
    wanted = ", ".join(f"{answer.path}#L{answer.start_line}-L{answer.end_line}" for answer in question.answers)
    places = f"note {result.note_place or '-'}, lines {result.lines_place or '-'}"
    return [
        f"{question.id} ({question.kind}, {result.outcome}; {places}): {question.text}",
        f"    wanted {wanted}",
        *(f"    {place}. {_hit_line(hit)}" for place, hit in enumerate(result.hits[:TOP], start=1)),
    ]


def _hit_line(hit: Hit) -> str:
    why = hit.explanation
    details = (
        f" v {_format_number(why.vector)} k {_format_number(why.keyword)} n {_format_number(why.neighbours)}"
        if why
        else ""
    )
    return f"{hit.score:.3f}{details}  {hit.citation}  {' '.join(hit.snippet.split())[:80]}"


def _format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _result_values(result: QuestionResult) -> dict[str, Any]:
    question = result.question
    return {
        "id": question.id,
        "lang": question.lang,
        "kind": question.kind,
        "question": question.text,
        "outcome": result.outcome,
        "notePlace": result.note_place,
        "linesPlace": result.lines_place,
        "topScore": result.top_score,
        "found": [{"citation": hit.citation, "score": hit.score} for hit in result.hits],
    }


# figures with their intervals


def figures_of(report: QuestionsReport) -> dict[str, Estimate | None]:
    """Return the figures of a report with their 95 % intervals; None where there is nothing to count."""
    shares = shares_of(report)
    figures = {name: estimate(values) for name, values in shares.items()}
    across = [float(result.question.kind == CROSS_LANGUAGE) for result in report.answerable]
    found = [share * is_across for share, is_across in zip(shares[f"note@{TOP}"], across, strict=True)]
    figures[f"{CROSS_LANGUAGE} note@{TOP}"] = estimate(found, across)
    if any(result.certainty is None for result in (*report.answerable, *report.unanswerable)):
        return figures
    every = (*report.answerable, *report.unanswerable)
    matches = [float(result.outcome == "match") for result in every]
    right = [float(result.is_right) for result in every]
    figures["precision of match"] = estimate([one * other for one, other in zip(matches, right, strict=True)], matches)
    figures["recall of match"] = estimate([one * other for one, other in zip(matches, right, strict=True)], right)
    top = [result.top_score for result in report.answerable]
    for name, foreign in (("near-misses", False), ("foreign questions", True)):
        asked = [result for result in report.unanswerable if is_foreign_kind(result.question.kind) == foreign]
        figures[f"{name} called match"] = estimate([float(result.outcome == "match") for result in asked])
        figures[f"AUC against {name}"] = estimate_auc(top, [result.top_score for result in asked])
    return figures


def shares_of(report: QuestionsReport) -> dict[str, list[float]]:
    """Return the values of each answerable question by figure, which two systems have in common."""
    results = report.answerable
    rankings = [result.answer_ranking for result in results]
    return {
        "note@1": [float(_within(result.note_place, 1)) for result in results],
        f"note@{TOP}": [float(_within(result.note_place, TOP)) for result in results],
        "lines@1": [float(_within(result.lines_place, 1)) for result in results],
        f"lines@{TOP}": [float(result.is_right) for result in results],
        f"nDCG@{DEPTH}": [ndcg(keys, answers, at=DEPTH) for keys, answers in rankings],
        f"recall@{DEPTH}": [recall(keys, answers, at=DEPTH) for keys, answers in rankings],
    }


def figures_table(report: QuestionsReport) -> Table:
    """Return the figures of a report, with their intervals and the number of questions that each is of."""
    rows = [(name, *estimate_cells(each), each.n if each else 0) for name, each in figures_of(report).items()]
    return Table("Figures with 95 % intervals", ("figure", "value", "from", "to", "n"), tuple(rows))


def figure_values(report: QuestionsReport) -> dict[str, Any]:
    """Return the figures as JSON values."""
    return {name: asdict(each) if each else None for name, each in figures_of(report).items()}
