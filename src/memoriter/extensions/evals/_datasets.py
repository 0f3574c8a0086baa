"""Sets of documents or notes with questions of known answers: the forms in which they are published, and samples."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from memoriter.errors import UsageError, sentence
from memoriter.questions import (
    EVAL_FILE,
    AnswerLines,
    EvalQuestion,
    Fields,
    fields_of,
    load_questions,
    questions_in,
    read_json,
    rows_of,
)
from memoriter.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

T = TypeVar("T")

SEED = 7
MAX_QUESTIONS = 500


@dataclass(frozen=True, slots=True)
class Document:
    """A paragraph, or one turn of a conversation."""

    id: str
    text: str
    group: str = ""
    session: str = ""
    """The file that contains the document; empty for a file of its own."""


@dataclass(frozen=True, slots=True)
class Need:
    """A question with the ids of the documents that answer it."""

    id: str
    text: str
    relevant: frozenset[str]
    kind: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Pool:
    """Documents that are searched together, and the questions about them."""

    name: str
    documents: tuple[Document, ...]
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """One set. A search in one of its pools never returns documents of another."""

    name: str
    lang: str
    documents: tuple[Document, ...]
    needs: tuple[Need, ...]

    @property
    def pools(self) -> tuple[Pool, ...]:
        """One pool for each group of documents."""
        groups = dict.fromkeys(document.group for document in self.documents)
        return tuple(
            Pool(
                group or self.name,
                tuple(document for document in self.documents if document.group == group),
                tuple(need for need in self.needs if need.group == group),
            )
            for group in groups
        )

    def cut(self, paragraphs: int, questions: int | None = None) -> Dataset:
        """Return a sample with at most so many documents and questions, the same sample each time.

        A question is kept if one of the documents that answer it is kept. A set with groups, such as conversations,
        keeps the documents of every group about which a question is kept.

        Args:
            paragraphs: largest number of documents of a set without groups.
            questions: largest number of questions; None: `MAX_QUESTIONS`, or all of a set with groups.
        """
        if any(document.group for document in self.documents):
            return self if questions is None else self._cut_groups(questions)
        questions = MAX_QUESTIONS if questions is None else questions
        draw = random.Random(SEED)  # noqa: S311 (a repeatable sample, not a secret)
        documents = _sample(self.documents, paragraphs, draw)
        kept = {document.id for document in documents}
        needs = [
            Need(need.id, need.text, need.relevant & kept, need.kind, need.group)
            for need in self.needs
            if need.relevant & kept
        ]
        return Dataset(self.name, self.lang, documents, _sample(needs, questions, draw, always=False))

    def _cut_groups(self, questions: int) -> Dataset:
        needs = _sample(self.needs, questions, random.Random(SEED), always=False)  # noqa: S311 (a repeatable sample)
        groups = {need.group for need in needs}
        documents = tuple(document for document in self.documents if document.group in groups)
        return Dataset(self.name, self.lang, documents, needs)


def _sample(items: Sequence[T], count: int, draw: random.Random, *, always: bool = True) -> tuple[T, ...]:
    """Return a random sample of `count` items in their order.

    With `always`, the generator is used even if there are at most `count` items.
    """
    if len(items) <= count and not always:
        return tuple(items)
    return tuple(items[position] for position in sorted(draw.sample(range(len(items)), min(count, len(items)))))


def parse_dataset(value: Any, file: Path) -> Dataset:
    """Return one set, without the questions that have no relevant document. Raises UsageError: it has another shape."""
    where = file.name
    fields = fields_of(value, "docs", "queries", where=where)
    documents = tuple(_parse_document(row, where) for row in rows_of(fields["docs"], where))
    ids = {document.id for document in documents}
    needs = [_parse_need(row, ids, where) for row in rows_of(fields["queries"], where)]
    name = str(fields.get("name", file.stem))
    lang = str(fields.get("lang", ""))
    return Dataset(name, lang, documents, tuple(need for need in needs if need.relevant))


def _parse_document(row: Any, where: str) -> Document:
    fields = fields_of(row, "id", "text", where=where)
    return Document(
        str(fields["id"]), str(fields["text"]), str(fields.get("group", "")), str(fields.get("session", ""))
    )


def _parse_need(row: Any, ids: Collection[str], where: str) -> Need:
    fields = fields_of(row, "id", "text", "relevant", where=where)
    relevant = frozenset(map(str, rows_of(fields["relevant"], where))) & frozenset(ids)
    kind = str(fields.get("type", ""))
    group = str(fields.get("group", ""))
    return Need(str(fields["id"]), str(fields["text"]), relevant, kind, group)


Format = Literal["set", "notes", "workspace", "longmemeval", "beir"]
FORMATS: tuple[Format, ...] = get_args(Format)
NEAR = "near-miss"
"""Kind of a question about something that the notes mention without answering it."""
FOREIGN = "foreign"
"""Kind of a question about other notes."""
_FAR = frozenset({FOREIGN, "far", "elsewhere", "off-topic", "unrelated"})
_CORPUS = "corpus.jsonl"
_QUERIES = "queries.jsonl"
_QRELS = "qrels"
_SPLITS = ("test", "dev", "train")
"""Judgements of a BEIR folder, in order of preference."""


def is_foreign_kind(kind: str) -> bool:
    """Return whether a question without an answer is about something else than the notes, by the name of its kind."""
    return kind.casefold() in _FAR


class NotASet(UsageError):
    """A file has none of the known forms."""


@dataclass(frozen=True, slots=True)
class NotesSet:
    """Notes as Markdown, and questions with the lines that answer them."""

    name: str
    lang: str
    notes: tuple[tuple[str, str], ...]
    """Path and text of each note."""
    answerable: tuple[EvalQuestion, ...]
    unanswerable: tuple[EvalQuestion, ...]
    folder: Path | None = None
    """The folder with the notes, if they are files; `notes` is empty then."""

    def cut(self, questions: int | None) -> NotesSet:
        """Return the set with the first so many questions with an answer, and without one; None: with all."""
        return replace(self, answerable=self.answerable[:questions], unanswerable=self.unanswerable[:questions])


def is_beir(folder: Path) -> bool:
    """Return whether a folder is a set of BEIR: a corpus, queries and judgements."""
    return (folder / _CORPUS).is_file() and (folder / _QUERIES).is_file()


def load_set(path: Path, form: Format | None = None) -> Dataset | tuple[NotesSet, ...]:
    """Return one set: documents with questions, or workspaces of notes with questions, one for each group of notes.

    Args:
        path: a JSON file, or a folder in the form of BEIR.
        form: the form of the file; None: what it contains decides.

    Raises:
        UsageError: if the path cannot be read or has another form; `NotASet` if it has none of the known forms.
    """
    if form == "beir" or (form is None and path.is_dir()):
        return _load_beir(path)
    value = read_json(path)
    match form or _detect(value, path.name):
        case "notes":
            return _parse_notes(value, path)
        case "workspace":
            return (_parse_workspace(value, path),)
        case "longmemeval":
            return _parse_longmemeval(value, path)
        case "set":
            return parse_dataset(value, path)
        case "beir":
            return _load_beir(path)


def _detect(value: Any, where: str) -> Format:
    match value:
        case [{"haystack_sessions": _}, *_]:
            return "longmemeval"
        case {"docs": _, "queries": [*queries]} if any(
            isinstance(query, dict) and "places" in query for query in queries
        ):
            return "notes"
        case {"workspace": str()}:
            return "workspace"
        case {"docs": _} | {"queries": _}:
            return "set"
        case _:
            raise NotASet(
                f"{where} is not a set: it is neither an object with `docs` and `queries` or with `workspace`, nor "
                "a list of LongMemEval.",
                remedy="See benchmarks/evaluation.md for the forms; a list of questions is given with --questions.",
            )


# Notes with questions


def _parse_notes(value: Any, path: Path) -> tuple[NotesSet, ...]:
    where = path.name
    fields = fields_of(value, "docs", "queries", where=where)
    name = str(fields.get("name", path.stem))
    lang = str(fields.get("lang", "any"))
    notes: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in rows_of(fields["docs"], where):
        doc = fields_of(row, "id", "text", where=where)
        notes[str(doc.get("group", ""))].append((_note_path(str(doc["id"]), where), str(doc["text"])))
    questions: defaultdict[str, list[EvalQuestion]] = defaultdict(list)
    for row in rows_of(fields["queries"], where):
        query = fields_of(row, "id", "text", where=where)
        group = str(query.get("group", ""))
        if group not in notes:
            raise UsageError(
                f"{where}, {query['id']}: no document has the group {group!r}.", remedy="Correct the group."
            )
        questions[group].append(_parse_note_question(query, dict(notes[group]), lang, where))
    return tuple(
        NotesSet(
            f"{name}/{group}" if group else name,
            lang,
            tuple(notes[group]),
            tuple(question for question in questions[group] if question.answers),
            tuple(question for question in questions[group] if not question.answers),
        )
        for group in notes
    )


def _note_path(path: str, where: str) -> str:
    """Return the path of a note below its folder. Raises UsageError if it leads elsewhere."""
    parts = path.split("/")
    if "\\" in path or any(part.strip() in {"", ".", ".."} or part.startswith(".") for part in parts):
        raise UsageError(
            f"{where}: {path!r} is not the path of a note.",
            remedy="Give a path below the folder, with / between parts.",
        )
    return path


def _parse_note_question(query: Fields, notes: Mapping[str, str], lang: str, where: str) -> EvalQuestion:
    name = f"{where}, {query['id']}"
    answers: list[AnswerLines] = []
    for place in rows_of(query.get("places", []), name):
        match place:
            case [str(path), int(first), int(last)] if path in notes and 1 <= first <= last:
                answers.append(AnswerLines(path, first, last))
            case _:
                raise UsageError(
                    f"{name}: {place!r} is not a place in these notes.", remedy="Give [path, first line, last line]."
                )
    if bool(answers) == bool(query.get("unanswerable")):
        fault = "is unanswerable but has places" if answers else "has no places"
        raise UsageError(f"{name} {fault}.", remedy="Give `places`, or `unanswerable: true`.")
    kind = str(query.get("type") or "any")
    if not answers and not is_foreign_kind(kind):
        kind = NEAR
    return EvalQuestion(str(query["id"]), str(query["text"]), str(query.get("lang") or lang), kind, tuple(answers))


def _parse_workspace(value: Any, path: Path) -> NotesSet:
    """Return the set of a folder of notes, whose questions are in other files."""
    fields = fields_of(value, "workspace", where=path.name)
    folder = path.parent / str(fields["workspace"])
    if not folder.is_dir():
        raise UsageError(
            f"{path.name}: there is no folder {str(folder)!r}.", remedy="Give the path from the file's own folder."
        )
    file = path.parent / str(fields["questions"]) if "questions" in fields else folder / EVAL_FILE
    questions = list(questions_in(file, partial(_text_in, folder)))
    if "unanswerable" in fields:
        questions += load_questions(path.parent / str(fields["unanswerable"]))
    return NotesSet(
        str(fields.get("name", path.stem)),
        str(fields.get("lang", "any")),
        (),
        tuple(question for question in questions if question.answers),
        tuple(question for question in questions if not question.answers),
        folder.resolve(),
    )


def _text_in(folder: Path, path: str) -> str | None:
    """Return the text of a note below a folder, or None if there is no such note."""
    file = folder / _note_path(path, folder.name)
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None


# LongMemEval


def _parse_longmemeval(value: Any, path: Path) -> Dataset:
    """Return the turns as documents, with each question searched among its own sessions.

    The turns marked `has_answer` answer a question; if none is, all turns of the sessions that hold the answer.
    Questions whose id ends in `_abs` have no answer and are left out.
    """
    documents: list[Document] = []
    needs: list[Need] = []
    for row in rows_of(value, path.name):
        required = ("question_id", "question", "haystack_sessions", "haystack_session_ids")
        fields = fields_of(row, *required, where=path.name)
        name = str(fields["question_id"])
        if name.endswith("_abs"):
            continue
        turns, marked = _longmemeval_turns(fields, f"{path.name}, {name}")
        wanted = {str(session) for session in rows_of(fields.get("answer_session_ids", []), name)}
        relevant = marked or [turn.id for turn in turns if turn.session.removeprefix(f"{name}/") in wanted]
        documents += turns
        needs.append(
            Need(name, str(fields["question"]), frozenset(relevant), str(fields.get("question_type", "")), name)
        )
    return Dataset(path.stem, "en", tuple(documents), tuple(need for need in needs if need.relevant))


def _longmemeval_turns(fields: Fields, where: str) -> tuple[list[Document], list[str]]:
    """Return the turns of all sessions of a question, and the ids of those that are marked as evidence."""
    name = str(fields["question_id"])
    ids = rows_of(fields["haystack_session_ids"], where)
    sessions = rows_of(fields["haystack_sessions"], where)
    if len(ids) != len(sessions):
        raise UsageError(f"{where}: {len(ids)} session ids for {len(sessions)} sessions.", remedy="Give one for each.")
    turns: list[Document] = []
    marked: list[str] = []
    for session_id, session in zip(ids, sessions, strict=True):
        for number, row in enumerate(rows_of(session, where)):
            turn = fields_of(row, "role", "content", where=where)
            document = f"{name}/{session_id}#{number}"
            turns.append(Document(document, f"{turn['role']}: {turn['content']}", name, f"{name}/{session_id}"))
            marked += [document] if turn.get("has_answer") else []
    return turns, marked


# BEIR


def _load_beir(folder: Path) -> Dataset:
    """Return the set of a folder with `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv`."""
    documents = [
        Document(str(row["_id"]), "\n\n".join(filter(None, (str(row.get("title") or ""), str(row["text"])))))
        for row in _json_lines(folder / _CORPUS, "_id", "text")
    ]
    texts = {str(row["_id"]): str(row["text"]) for row in _json_lines(folder / _QUERIES, "_id", "text")}
    judgements = _read_judgements(folder / _QRELS)
    ids = {document.id for document in documents}
    needs: list[Need] = []
    for query, relevant in judgements.items():
        if query not in texts:
            raise UsageError(
                f"There is no query {query!r} in {_QUERIES}, but {_QRELS} names it.", remedy="Give the set whole."
            )
        needs.append(Need(query, texts[query], frozenset(relevant) & ids))
    return Dataset(folder.name, "", tuple(documents), tuple(need for need in needs if need.relevant))


def _json_lines(file: Path, *required: str) -> Iterator[Fields]:
    """Yield the object of each line. Raises UsageError with the number of the line."""
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield fields_of(json.loads(line), *required, where=f"{file.name}, line {number}")
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{str(file)!r} cannot be read: {sentence(error)}", remedy="Give a file with one JSON object per line."
        ) from error


def _read_judgements(folder: Path) -> dict[str, list[str]]:
    """Return the relevant documents of each query, from the test split if there is one."""
    files = {file.stem: file for file in sorted(folder.glob("*.tsv"))}
    if not files:
        raise UsageError(f"There is no file such as test.tsv in {str(folder)!r}.", remedy="Give the set whole.")
    file = next((files[split] for split in _SPLITS if split in files), next(iter(files.values())))
    judged: defaultdict[str, list[str]] = defaultdict(list)
    for number, line in enumerate(_lines(file), start=1):
        match line.split("\t"):
            case [_, _, score] if number == 1 and not _is_number(score):
                continue  # the names of the columns
            case [query, document, score] if _is_number(score):
                if float(score) > 0:
                    judged[query].append(document)
            case _:
                raise UsageError(
                    f"{str(file)!r}, line {number}: {line[:80]!r} is not a judgement.",
                    remedy="Give the query, the document and the relevance, with tabs between them.",
                )
    return dict(judged)


def _lines(file: Path) -> Sequence[str]:
    try:
        return [line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise UsageError(f"{str(file)!r} cannot be read: {sentence(error)}", remedy="Give text in UTF-8.") from error


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def with_foreign(sets: Sequence[NotesSet]) -> list[NotesSet]:
    """Return the sets, each with the answerable questions of the next one as questions without an answer."""
    if len(sets) < 2:
        return list(sets)
    others = [*sets[1:], sets[0]]
    return [
        replace(
            each,
            unanswerable=(
                *each.unanswerable,
                *(
                    replace(question, id=f"{other.name}:{question.id}", kind=FOREIGN, answers=())
                    for question in other.answerable
                ),
            ),
        )
        for each, other in zip(sets, others, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class LoadedSets:
    """Sets of both kinds, each in the order of its file."""

    documents: tuple[Dataset, ...]
    notes: tuple[NotesSet, ...]
    left_out: tuple[Path, ...] = ()
    """JSON files of the folders that are no sets."""


def load_sets(paths: Sequence[Path], names: Collection[str] = (), form: Format | None = None) -> LoadedSets:
    """Return the sets at several paths: files, folders in the form of BEIR, or folders with sets.

    A JSON file that is found in a folder, and that no name selects, is left out if it has none of the known forms.
    Without names, all sets are returned; without a form, what each set contains decides.

    Raises:
        UsageError: there are none, a name is in no path, or a set cannot be read.
    """
    found = [set_files(path) for path in paths]
    known = sorted({name for files in found for name in files})
    if unknown := sorted(set(names) - set(known)):
        raise UsageError(f"There is no set {unknown[0]!r}.", remedy=f"Choose from: {', '.join(known)}.")
    documents: list[Dataset] = []
    notes: list[NotesSet] = []
    left_out: list[Path] = []
    chosen = dict.fromkeys(
        (file, path)
        for path, files in zip(paths, found, strict=True)
        for name, file in files.items()
        if not names or name in names
    )
    for file, path in chosen:
        try:
            loaded = load_set(file, form)
        except NotASet:
            if file == path or names:
                raise
            left_out.append(file)
            continue
        if isinstance(loaded, tuple):
            notes += loaded
        else:
            documents.append(loaded)
    if not documents and not notes:
        raise UsageError(
            f"None of the JSON files is a set: {', '.join(map(str, left_out[:3]))}.",
            remedy="See benchmarks/evaluation.md for the forms.",
        )
    return LoadedSets(tuple(documents), tuple(notes), tuple(left_out))


def set_files(path: Path) -> dict[str, Path]:
    """Return the files at a path that may be sets, by name. Raises UsageError if there are none.

    They are the JSON files and BEIR folders of a folder and of its subfolders, but not of hidden ones, and no deeper.
    The name is that of the file without `.json`, or that of the folder; the second set of a name in a subfolder is
    called `subfolder/name`.
    """
    if path.is_file() or is_beir(path):
        return {_name(path): path}
    files: dict[str, Path] = {}
    for file in _inside(path):
        name = _name(file)
        files[f"{file.parent.name}/{name}" if name in files else name] = file
    if not files:
        raise UsageError(
            f"There are no JSON files and no BEIR folders in {str(path)!r}.",
            remedy="Give the folder that holds the sets.",
        )
    return files


def _name(path: Path) -> str:
    return path.stem if path.suffix == ".json" else path.name


def _inside(folder: Path) -> Iterator[Path]:
    """Yield the files and BEIR folders in a folder, then those in its subfolders."""
    entries = [entry for entry in sorted(folder.iterdir()) if not entry.name.startswith(".")]
    yield from (entry for entry in entries if _may_be_set(entry))
    for subfolder in entries:
        if subfolder.is_dir() and not is_beir(subfolder):
            yield from (entry for entry in sorted(subfolder.iterdir()) if _may_be_set(entry))


def _may_be_set(entry: Path) -> bool:
    return (entry.suffix == ".json" and entry.is_file()) or (entry.is_dir() and is_beir(entry))
