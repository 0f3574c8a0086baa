"""Questions about a workspace of notes: their texts, their answers' lines, and the hits found for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memoriter.evals._json import fields_of, read_json, rows_of
from memoriter.search import outcome_of
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from memoriter.memory import Memory
    from memoriter.sync import Progress
    from memoriter.types import Hit, Outcome


@dataclass(frozen=True, slots=True)
class AnswerLines:
    """Lines of a note that answer a question."""

    path: str
    start_line: int
    end_line: int

    def is_in_note(self, hit: Hit) -> bool:
        """Return whether the hit is in the same note."""
        return hit.path == self.path

    def overlaps(self, hit: Hit) -> bool:
        """Return whether the hit's lines overlap these lines."""
        return hit.path == self.path and hit.start_line <= self.end_line and self.start_line <= hit.end_line


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A question with every place that answers it, or without answers."""

    id: str
    text: str
    lang: str
    kind: str
    """`identifier`, `paraphrase` …; for a question without an answer, `near` or `far` from the topics of the notes."""
    answers: tuple[AnswerLines, ...] = ()


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


def load_questions(file: Path) -> tuple[EvalQuestion, ...]:
    """Return the questions of a file.

    Raises:
        UsageError: if the file cannot be read or has another shape.
    """
    return tuple(_parse_question(row, str(file)) for row in rows_of(read_json(file), str(file)))


def _parse_question(row: Any, where: str) -> EvalQuestion:
    fields = fields_of(row, "id", "question", where=where)
    rows = [fields, *rows_of(fields.get("also", []), where)] if "path" in fields else []
    kind = fields.get("kind") or fields.get("domain") or "any"
    answers = tuple(_parse_answer(answer, f"{where}, {fields['id']}") for answer in rows)
    return EvalQuestion(str(fields["id"]), str(fields["question"]), str(fields.get("lang", "any")), str(kind), answers)


def _parse_answer(row: Any, where: str) -> AnswerLines:
    fields = fields_of(row, "path", "lines", where=where)
    start, end = map(int, rows_of(fields["lines"], where))
    return AnswerLines(str(fields["path"]), start, end)


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
