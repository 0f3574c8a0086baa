"""The owner's questions about the notes, in Markdown or JSON: read, locate and add them, and compare settings."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from memoriter.errors import UsageError, sentence
from memoriter.search import script_of
from memoriter.types import Query
from memoriter.values import dataclass
from memoriter.workspace import append, scan_blocks
from memoriter.workspace.chunking import plain_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from memoriter.memory import Memory
    from memoriter.types import Hit, SearchResult

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


EVAL_FILE = "eval.md"
"""Name of the file in the workspace."""
NOTHING = "nothing"
"""The answer to a question that the notes cannot answer."""
TITLE = "# Questions about these notes\n\n"
LAST_LINE = 1 << 30
"""Last line of an answer that is a whole note."""
FORM = "`- QUESTION → path.md#L3-L5`, `→ path.md#Heading`, `→ path.md`, or `→ nothing`"
MAX_FAULTS = 5
"""Faults that one error message lists."""

_MARKER = re.compile(r"[ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t]+")
_ARROW = re.compile(r"[ \t]*(?:→|->|=>)[ \t]*")
_LINES = re.compile(r"L(?P<first>\d+)(?:-L?(?P<last>\d+))?")
_PLACE = re.compile(r"`(?P<quoted>[^`]+)`|(?P<plain>[^,`]+)")


def read_eval_file(file: Path) -> tuple[EvalQuestion, ...]:
    """Return the questions of a Markdown file.

    Each list item is one question, with `→` (or `->`, `=>`) before its answer:

        ## paraphrase

        - Which database did we choose? → memory/ledger.md#L3-L5
        - Who repairs the roof? → memory/house.md#Roof
        - What did the first offer cost? → memory/2026-02-10.md, memory/2026-03-01.md#L7
        - What is the blood type of the cat? → nothing

    An answer is lines of a note, everything below a heading of it, or the whole note. Several answers are separated by
    commas; each of them counts. A path or heading with a comma stands in backticks. The nearest heading of the second
    level or lower names the `kind` of the questions below it. Indented lines continue an item. All other text is
    ignored, also list items in fences and comments. Two items with one question are one question with all answers.

    The `id` of a question is `L` and the line of its item, and its `lang` is its script: `latin`, `hangul`, `kana`,
    `han` and so on. An answer that is a heading has no lines until `locate` finds them.

    Raises:
        UsageError: if the file cannot be read, has no questions, or an item has another form; the message has the
            numbers of the lines.
    """
    if not (questions := _read(file)):
        raise UsageError(f"{str(file)!r} has no questions.", remedy=f"Write list items such as {FORM}.")
    return questions


def questions_in(file: Path, read: Callable[[str], str | None]) -> tuple[EvalQuestion, ...]:
    """Return the questions of a file in Markdown or JSON, with the lines of every answer.

    The file is JSON if its name ends in `.json`. `read` returns the text of a note by its path, or None if there is no
    such note.

    Raises:
        UsageError: if the file cannot be used, or an answer in Markdown names a place that does not exist.
    """
    if file.suffix == ".json":
        return load_questions(file)
    return locate(read_eval_file(file), read, file=file.name)


@dataclass(frozen=True, slots=True)
class OwnQuestions:
    """The questions that the owner wrote about a workspace."""

    file: Path
    questions: tuple[EvalQuestion, ...]
    left_out: str | None
    """Path of the file if it is a note itself: then its hits do not count."""

    @property
    def answerable(self) -> tuple[EvalQuestion, ...]:
        return tuple(question for question in self.questions if question.answers)

    @property
    def unanswerable(self) -> tuple[EvalQuestion, ...]:
        return tuple(question for question in self.questions if not question.answers)


def questions_about(memory: Memory, file: Path | None = None, more: Path | None = None) -> OwnQuestions:
    """Return the owner's questions about a workspace.

    Without a file, they are in `eval.md` in the folder of notes; `more` are further questions in JSON.

    Raises:
        UsageError: if a file is missing or cannot be used, or an answer names a place that does not exist.
    """
    folder = memory.place.workspace
    chosen = file or folder / EVAL_FILE
    if not chosen.is_file():
        raise UsageError(
            f"There is no file {str(file)!r}." if file else f"There is no {EVAL_FILE} in {str(folder)!r}.",
            remedy="Write one, with list items such as `- QUESTION → memory/house.md#L3-L5`, or give a folder of sets.",
        )

    def read(path: str) -> str | None:
        note = memory.file_of(path)
        return note.read_text(encoding="utf-8", errors="replace") if note and note.is_file() else None

    questions = (*questions_in(chosen, read), *(load_questions(more) if more else ()))
    left_out = next((source.path for source in memory.sources() if source.file == chosen.absolute()), None)
    return OwnQuestions(chosen, questions, left_out)


def append_question(file: Path, text: str, answers: Iterable[AnswerLines] = ()) -> bool:
    """Add a question to the end of a Markdown file, which is created if it is missing; return whether it was added.

    It is not if the file already has it with all of these answers; no answers: the notes have none. Line breaks of the
    question become spaces.

    Raises:
        UsageError: if the question is empty, a path cannot be written, or the file is JSON or has another form.
        WriteError: if the file cannot be written; it is as it was.
    """
    question = " ".join(text.split())
    added = tuple(answers)
    if not question:
        raise UsageError("The question is empty.", remedy="Give a question.")
    if file.suffix == ".json":
        raise UsageError(f"A question cannot be added to {str(file)!r}: it is JSON.", remedy="Give a Markdown file.")
    places = ", ".join(map(place_of, added)) or NOTHING
    if file.exists():
        known = {each.text: each for each in _read(file)}.get(question)
        if known and set(added) <= set(known.answers) and bool(added) == bool(known.answers):
            return False
        if known and bool(added) != bool(known.answers):
            raise UsageError(
                f"{str(file)!r} has the question already, on line {known.id[1:]}, with another answer.",
                remedy="Change that line.",
            )
    append(file, f"{'' if file.exists() else TITLE}- {question} → {places}\n")
    return True


def _read(file: Path) -> tuple[EvalQuestion, ...]:
    """Return the questions of a file, which may have none. Raises UsageError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{str(file)!r} cannot be read: {sentence(error)}", remedy="Give a Markdown file in UTF-8."
        ) from error
    questions: dict[str, EvalQuestion] = {}
    faults: list[str] = []
    for line, item, kind in _items(text.splitlines()):
        try:
            question = _parse_item(item, line, kind)
            earlier = questions.get(question.text)
            questions[question.text] = _merge(earlier, question) if earlier else question
        except ValueError as fault:
            faults.append(f"line {line}: {fault}")
    if faults:
        raise UsageError(f"{str(file)!r} cannot be used: {_joined(faults)}.", remedy=f"Write each question as {FORM}.")
    return tuple(questions.values())


def _joined(faults: Sequence[str]) -> str:
    rest = len(faults) - MAX_FAULTS
    return "; ".join(faults[:MAX_FAULTS]) + (f"; and {rest} more" if rest > 0 else "")


def place_of(answer: AnswerLines) -> str:
    """Return an answer as `read_eval_file` reads it.

    Raises:
        UsageError: if the path or heading has a backtick or a line break.
    """
    end = f"-L{answer.end_line}" if answer.end_line > answer.start_line else ""
    lines = "" if answer.end_line == LAST_LINE else f"#L{answer.start_line}{end}"
    place = f"{answer.path}#{answer.heading}" if answer.heading else f"{answer.path}{lines}"
    if re.search(r"[`\r\n]", place):
        raise UsageError(
            f"{place!r} cannot be an answer: it has a backtick or a line break.", remedy="Rename the note."
        )
    return f"`{place}`" if re.search(r",|→|->|=>|^\s|\s$", place) else place


def locate(
    questions: Iterable[EvalQuestion], read: Callable[[str], str | None], *, file: str = EVAL_FILE
) -> tuple[EvalQuestion, ...]:
    """Return the questions with the lines of every heading that is an answer.

    Raises:
        UsageError: if an answer names a note or a heading that does not exist, or a line after the end of its note.
    """
    texts: dict[str, list[str] | None] = {}
    faults: list[str] = []
    located: list[EvalQuestion] = []
    for question in questions:
        answers: list[AnswerLines] = []
        for answer in question.answers:
            if answer.path not in texts:
                text = read(answer.path)
                texts[answer.path] = None if text is None else text.splitlines()
            try:
                answers += _find_lines(answer, texts[answer.path])
            except ValueError as fault:
                faults.append(f"line {question.id.removeprefix('L')}: {fault}")
        located.append(replace(question, answers=tuple(answers)))
    if faults:
        raise UsageError(f"{file!r}, {_joined(faults)}.", remedy="Correct the path, the lines or the heading.")
    return tuple(located)


def _items(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the line from 1, the text and the kind of each list item."""
    kind = "any"
    for block in scan_blocks(lines):
        if block.kind == "heading" and block.level > 1:
            kind = plain_title(block.title) or "any"
        elif block.kind == "item":
            text = " ".join(line.strip() for line in lines[block.start : block.end])
            yield block.start + 1, text[marker.end() :] if (marker := _MARKER.match(text)) else text, kind


def _parse_item(item: str, line: int, kind: str) -> EvalQuestion:
    """Return the question of a list item. Raises ValueError with the fault."""
    arrows = [arrow for arrow in _ARROW.finditer(item) if not item.count("`", arrow.end()) % 2]
    if not arrows:
        raise ValueError(f"{item[:60]!r} has no →")
    arrow = arrows[-1]
    text = " ".join(item[: arrow.start()].split())
    places = item[arrow.end() :].strip()
    if not text:
        raise ValueError("there is no question before the →")
    if not places:
        raise ValueError(f"there is no answer after the →; write {NOTHING!r} if there is none")
    answers = () if places.lower() == NOTHING else tuple(map(_parse_place, _split_places(places)))
    return EvalQuestion(f"L{line}", text, script_of(text), kind, answers)


def _split_places(text: str) -> list[str]:
    """Split answers at commas outside backticks."""
    places = [(match["quoted"] or match["plain"]).strip() for match in _PLACE.finditer(text)]
    return [place for place in places if place]


def _parse_place(text: str) -> AnswerLines:
    path, _, part = text.partition("#")
    path = path.strip()
    part = part.strip()
    if not path or path.lower() == NOTHING:
        raise ValueError(f"{text!r} names no note")
    if not part:
        return AnswerLines(path, 1, LAST_LINE)
    if not (lines := _LINES.fullmatch(part)):
        return AnswerLines(path, 1, LAST_LINE, part)
    first = int(lines["first"])
    last = int(lines["last"] or first)
    if first < 1 or last < first:
        raise ValueError(f"{text!r} has no lines: they count from 1, and the first comes first")
    return AnswerLines(path, first, last)


def _merge(earlier: EvalQuestion, later: EvalQuestion) -> EvalQuestion:
    """Return one question with the answers of both. Raises ValueError if only one has answers."""
    if bool(earlier.answers) != bool(later.answers):
        raise ValueError(f"line {earlier.id[1:]} gives another answer to the same question")
    return replace(earlier, answers=tuple(dict.fromkeys((*earlier.answers, *later.answers))))


def _find_lines(answer: AnswerLines, lines: Sequence[str] | None) -> list[AnswerLines]:
    """Return the lines of an answer in its note, of each heading with the wanted title. Raises ValueError."""
    if lines is None:
        raise ValueError(f"{answer.path!r} is not a note of this workspace")
    if not answer.heading:
        if answer.end_line != LAST_LINE and answer.end_line > len(lines):
            raise ValueError(f"{answer.path!r} has {len(lines)} lines, not {answer.end_line}")
        return [answer]
    blocks = scan_blocks(lines)
    wanted = _folded(answer.heading)
    found = list[AnswerLines]()
    headings = [block for block in blocks if block.kind == "heading"]
    for at, block in enumerate(headings):
        if _folded(plain_title(block.title)) == wanted or _folded(block.title) == wanted:
            after = (other.start for other in headings[at + 1 :] if other.level <= block.level)
            found.append(AnswerLines(answer.path, block.start + 1, next(after, len(lines)), answer.heading))
    if not found:
        raise ValueError(f"{answer.path!r} has no heading {answer.heading!r}")
    return found


def _folded(title: str) -> str:
    return " ".join(title.split()).casefold()


@dataclass(frozen=True, slots=True)
class SettingEffect:
    """How many questions are answered with the settings in force, and which ones a change gains or loses.

    A question with answers is answered if one of the hits has lines of an answer. A question without an answer is
    answered if the search calls no hit a match.
    """

    questions: int
    answered: int
    """Questions that are answered with the settings in force."""
    gained: tuple[EvalQuestion, ...]
    lost: tuple[EvalQuestion, ...]


def setting_effect(
    memory: Memory, changes: Mapping[str, Any], questions: Iterable[EvalQuestion], *, left_out: str | None = None
) -> SettingEffect:
    """Search for every question with the settings in force and with a change, and compare.

    `changes` are values by the key of the setting, such as `query.minScore`. Answers that are headings have lines. The
    hits of the note `left_out` do not count, because it contains the questions.
    """
    gained: list[EvalQuestion] = []
    lost: list[EvalQuestion] = []
    count = answered = 0
    with memory.backend.varied(changes) as changed:
        for question in questions:
            query = Query(question.text)
            before, after = (
                _is_answered(question, backend.search(query), left_out) for backend in (memory.backend, changed)
            )
            count += 1
            answered += before
            if before != after:
                (gained if after else lost).append(question)
    return SettingEffect(count, answered, tuple(gained), tuple(lost))


def _is_answered(question: EvalQuestion, result: SearchResult, left_out: str | None) -> bool:
    if not question.answers:
        return result.outcome != "match"
    hits = [hit for hit in result.hits if hit.path != left_out]
    return any(answer.overlaps(hit) for answer in question.answers for hit in hits)
