"""Questions about a workspace of notes, with the lines that answer them, read from JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import UsageError, sentence
from memoriter.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from memoriter.types import Hit


Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AnswerLines:
    """Lines of a note that answer a question."""

    path: str
    start_line: int
    end_line: int
    heading: str = ""
    """Heading above the lines, if a question names it instead of lines."""

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


def read_json(file: Path) -> Any:
    """Return the value in a JSON file.

    Raises:
        UsageError: if the file cannot be read or is not JSON.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{str(file)!r} cannot be read: {sentence(error)}", remedy="Give a JSON file in UTF-8."
        ) from error


def fields_of(value: Any, *required: str, where: str) -> Fields:
    """Return the value as an object with the required fields.

    Raises:
        UsageError: if it is not an object, or a field is missing.
    """
    if not isinstance(value, dict):
        raise UsageError(f"{where}: {value!r} is not an object.", remedy="See benchmarks/evaluation.md for the shape.")
    fields = cast("Fields", value)
    if missing := [name for name in required if name not in fields]:
        raise UsageError(
            f"{where}: {', '.join(missing)} is missing in {sorted(fields)}.",
            remedy="See benchmarks/evaluation.md for the shape.",
        )
    return fields


def rows_of(value: Any, where: str) -> list[Any]:
    """Return the value as a list.

    Raises:
        UsageError: if it is not a list.
    """
    if not isinstance(value, list):
        raise UsageError(f"{where} is not a list.", remedy="See benchmarks/evaluation.md for the shape.")
    return cast("list[Any]", value)
