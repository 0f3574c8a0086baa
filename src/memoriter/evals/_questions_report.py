"""What the questions about a workspace say of it: tables, misses, and the same as plain values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memoriter.evals._metrics import auc, mean
from memoriter.evals._table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoriter.evals._questions import QuestionResult
    from memoriter.types import Hit

OUTCOMES = ("match", "weak", "none")
TOP = 3


@dataclass(frozen=True, slots=True)
class QuestionsReport:
    """The figures of one run."""

    answerable: tuple[QuestionResult, ...]
    unanswerable: tuple[QuestionResult, ...]

    @property
    def auc(self) -> float | None:
        """How well the top score tells questions with an answer from those without."""
        return auc([asked.top_score for asked in self.answerable], [asked.top_score for asked in self.unanswerable])

    @property
    def misses(self) -> tuple[QuestionResult, ...]:
        """Questions whose lines are not among the first three hits shown."""
        return tuple(
            asked for asked in self.answerable if not _within(_lines_place(asked), TOP) or not _is_shown(asked)
        )

    def lines(self) -> list[str]:
        """The report for a person."""
        tables = (self._places_table(), self._outcomes_table())
        return [
            *(line for table in tables for line in table.lines()),
            *self._separation_lines(),
            "",
            f"**Lines not among the first {TOP} shown ({len(self.misses)} of {len(self.answerable)})**",
            "",
            *(line for asked in self.misses for line in _miss_lines(asked)),
        ]

    def values(self) -> dict[str, Any]:
        """The report for a program."""
        return {
            "groups": [dict(zip(_COLUMNS, row, strict=True)) for row in self._places_table().rows],
            "outcomes": {
                "answerable": _outcome_counts(self.answerable),
                "unanswerable": _outcome_counts(self.unanswerable),
            },
            "auc": self.auc,
            "questions": [_result_values(asked) for asked in (*self.answerable, *self.unanswerable)],
        }

    def _places_table(self) -> Table:
        rows = [_row("all", self.answerable)]
        for group in (_language, _kind):
            names = sorted({group(asked) for asked in self.answerable})
            rows += [_row(name, [asked for asked in self.answerable if group(asked) == name]) for name in names]
        return Table("Where the answer was found", _COLUMNS, tuple(rows))

    def _outcomes_table(self) -> Table:
        rows: list[tuple[str | int, ...]] = []
        for name, asked in (("answerable", self.answerable), ("unanswerable", self.unanswerable)):
            rows.append((name, *_outcome_counts(asked).values()))
        right = [asked for asked in self.answerable if _within(_lines_place(asked), TOP)]
        rows.append((f"lines in the first {TOP}", *_outcome_counts(right).values()))
        return Table("Outcomes", ("questions", *OUTCOMES), tuple(rows))

    def _separation_lines(self) -> list[str]:
        tops = ", ".join(
            f"{asked.question.id} {asked.top_score:.3f} ({asked.hits[0].citation if asked.hits else 'nothing'})"
            for asked in sorted(self.unanswerable, key=lambda asked: -asked.top_score)
        )
        shown = "-" if self.auc is None else f"{self.auc:.3f}"
        return [
            f"AUC of the top score, answerable against unanswerable: {shown}",
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


def _row(name: str, asked: Sequence[QuestionResult]) -> tuple[str | float | int, ...]:
    counts = [
        sum(_within(place(one), limit) for one in asked)
        for place in (_note_place, _lines_place)
        for limit in (1, TOP, 6)
    ]
    reciprocal = mean([1 / place if (place := one.lines_place) else 0.0 for one in asked])
    shown = sum(_within(_lines_place(one), TOP) and _is_shown(one) for one in asked)
    return (name, len(asked), *counts, reciprocal, shown, mean([one.top_score for one in asked]))


def _language(asked: QuestionResult) -> str:
    return asked.question.lang


def _kind(asked: QuestionResult) -> str:
    return asked.question.kind


def _note_place(asked: QuestionResult) -> int | None:
    return asked.note_place


def _lines_place(asked: QuestionResult) -> int | None:
    return asked.lines_place


def _within(place: int | None, limit: int) -> bool:
    return place is not None and place <= limit


def _is_shown(asked: QuestionResult) -> bool:
    """Is the hit with the right lines over the floor?"""
    place = asked.lines_place
    return place is not None and asked.hits[place - 1].score >= asked.min_score


def _outcome_counts(asked: Sequence[QuestionResult]) -> dict[str, int]:
    found: Counter[str] = Counter(one.outcome for one in asked)
    return {outcome: found[outcome] for outcome in OUTCOMES}


def _miss_lines(asked: QuestionResult) -> list[str]:
    question = asked.question
    wanted = ", ".join(f"{answer.path}#L{answer.start_line}-L{answer.end_line}" for answer in question.answers)
    places = f"note {asked.note_place or '-'}, lines {asked.lines_place or '-'}"
    return [
        f"{question.id} ({question.kind}, {asked.outcome}; {places}): {question.text}",
        f"    wanted {wanted}",
        *(f"    {place}. {_hit_line(hit)}" for place, hit in enumerate(asked.hits[:TOP], start=1)),
    ]


def _hit_line(hit: Hit) -> str:
    told = hit.explanation
    how = (
        f" v {_format_number(told.vector)} k {_format_number(told.keyword)} n {_format_number(told.neighbours)}"
        if told
        else ""
    )
    return f"{hit.score:.3f}{how}  {hit.citation}  {' '.join(hit.snippet.split())[:80]}"


def _format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _result_values(asked: QuestionResult) -> dict[str, Any]:
    question = asked.question
    return {
        "id": question.id,
        "lang": question.lang,
        "kind": question.kind,
        "question": question.text,
        "outcome": asked.outcome,
        "notePlace": asked.note_place,
        "linesPlace": asked.lines_place,
        "topScore": asked.top_score,
        "found": [{"citation": hit.citation, "score": hit.score} for hit in asked.hits],
    }
