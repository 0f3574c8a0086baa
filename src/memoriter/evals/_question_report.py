"""The hits found for questions about a workspace of notes, and the report on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memoriter.evals._metrics import auc, mean
from memoriter.evals._questions import AnswerLines
from memoriter.evals._run import Table
from memoriter.search import outcome_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memoriter.evals._questions import EvalQuestion
    from memoriter.memory import Memory
    from memoriter.sync import Progress
    from memoriter.types import Hit, Outcome

OUTCOMES = ("match", "weak", "none")
TOP = 3
"""Number of first hits in which an answer should be."""


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """A question with the hits of a search for it."""

    question: EvalQuestion
    hits: tuple[Hit, ...]
    """Hits, best first, including those below `min_score`."""
    min_score: float
    """Lowest score of a hit that a search shows."""

    @property
    def shown(self) -> tuple[Hit, ...]:
        return tuple(hit for hit in self.hits if hit.score >= self.min_score)

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.shown)

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

    def _first_place(self, matches: Callable[[AnswerLines, Hit], bool]) -> int | None:
        places = (place for place, hit in enumerate(self.hits, start=1) if self._is_answer(hit, matches))
        return next(places, None)

    def _is_answer(self, hit: Hit, matches: Callable[[AnswerLines, Hit], bool]) -> bool:
        return any(matches(answer, hit) for answer in self.question.answers)


def ask(
    memory: Memory, questions: Iterable[EvalQuestion], *, progress: Callable[[Progress], None] | None = None
) -> tuple[QuestionResult, ...]:
    """Search a workspace for every question with its own settings, but without its minimum score.

    The results therefore include the hits below the minimum score.
    """
    memory.sync(progress=progress)
    min_score = memory.settings.query.min_score
    return tuple(_ask(memory, question, min_score) for question in questions)


def _ask(memory: Memory, question: EvalQuestion, min_score: float) -> QuestionResult:
    hits = memory.search(question.text, min_score=0.0, explain=True).hits
    return QuestionResult(question, tuple(replace(hit, snippet=hit.snippet[:200]) for hit in hits), min_score)


@dataclass(frozen=True, slots=True)
class QuestionsReport:
    """The results of one run, and their figures."""

    answerable: tuple[QuestionResult, ...]
    unanswerable: tuple[QuestionResult, ...]

    @property
    def auc(self) -> float | None:
        """How well the top score separates questions with an answer from questions without one; see `auc`."""
        return auc([result.top_score for result in self.answerable], [result.top_score for result in self.unanswerable])

    @property
    def misses(self) -> tuple[QuestionResult, ...]:
        """Questions whose lines are not among the first three hits, or are below the minimum score."""
        return tuple(
            result for result in self.answerable if not _within(_lines_place(result), TOP) or not _is_shown(result)
        )

    def lines(self) -> list[str]:
        """Return the report as lines of Markdown."""
        tables = (self._places_table(), self._outcomes_table())
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
            "questions": [_result_values(result) for result in (*self.answerable, *self.unanswerable)],
        }

    def _places_table(self) -> Table:
        rows = [_row("all", self.answerable)]
        for group in (_language, _kind):
            names = sorted({group(result) for result in self.answerable})
            rows += [_row(name, [result for result in self.answerable if group(result) == name]) for name in names]
        return Table("Where the answer was found", _COLUMNS, tuple(rows))

    def _outcomes_table(self) -> Table:
        rows: list[tuple[str | int, ...]] = []
        for name, results in (("answerable", self.answerable), ("unanswerable", self.unanswerable)):
            rows.append((name, *_outcome_counts(results).values()))
        with_lines = [result for result in self.answerable if _within(_lines_place(result), TOP)]
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
    "shown@3",
    "top score",
)


def _row(name: str, results: Sequence[QuestionResult]) -> tuple[str | float | int, ...]:
    counts = [
        sum(_within(place(result), limit) for result in results)
        for place in (_note_place, _lines_place)
        for limit in (1, TOP, 6)
    ]
    reciprocal = mean([1 / place if (place := result.lines_place) else 0.0 for result in results])
    shown = sum(_within(_lines_place(result), TOP) and _is_shown(result) for result in results)
    return (name, len(results), *counts, reciprocal, shown, mean([result.top_score for result in results]))


def _language(result: QuestionResult) -> str:
    return result.question.lang


def _kind(result: QuestionResult) -> str:
    return result.question.kind


def _note_place(result: QuestionResult) -> int | None:
    return result.note_place


def _lines_place(result: QuestionResult) -> int | None:
    return result.lines_place


def _within(place: int | None, limit: int) -> bool:
    return place is not None and place <= limit


def _is_shown(result: QuestionResult) -> bool:
    """Return whether the first hit with the right lines has at least the minimum score."""
    place = result.lines_place
    return place is not None and result.hits[place - 1].score >= result.min_score


def _outcome_counts(results: Sequence[QuestionResult]) -> dict[str, int]:
    counts: Counter[str] = Counter(result.outcome for result in results)
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
