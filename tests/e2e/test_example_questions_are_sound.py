"""The example workspace and its questions agree: a wrong line here would make every measured figure wrong."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import pathspec
import pytest

HERE = Path(__file__).parent
WORKSPACE = HERE.parents[1] / "examples" / "workspace"

Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    return cast("list[Row]", json.loads((HERE / name).read_text(encoding="utf-8")))


QUESTIONS = rows("questions.json")
UNANSWERABLE = rows("unanswerable.json")
ANSWERS = [
    pytest.param(answer, id=f"{row['id']}-{n}")
    for row in QUESTIONS
    for n, answer in enumerate([row, *row.get("also", [])])
]
HANGUL = re.compile(r"[가-힣]")
KANA = re.compile(r"[ぁ-ゖァ-ヺ]")
HAN = re.compile(r"[一-鿿]")


def ignored() -> pathspec.GitIgnoreSpec:
    lines = (WORKSPACE / ".memoryignore").read_text(encoding="utf-8").splitlines()
    return pathspec.GitIgnoreSpec.from_lines(lines)


def notes() -> list[str]:
    """Paths of the notes that are memory, relative to the workspace."""
    found = [path.relative_to(WORKSPACE).as_posix() for path in WORKSPACE.rglob("*.md")]
    return sorted(path for path in found if not ignored().match_file(path))


def passage(answer: Row) -> str:
    start, end = answer["lines"]
    lines = (WORKSPACE / answer["path"]).read_text(encoding="utf-8").splitlines()
    assert 1 <= start <= end <= len(lines)
    return "\n".join(lines[start - 1 : end])


def language(text: str) -> str:
    if HANGUL.search(text):
        return "ko"
    if KANA.search(text):
        return "ja"
    return "zh" if HAN.search(text) else "en"


@pytest.mark.matrix
@pytest.mark.parametrize("answer", ANSWERS)
def test_the_evidence_stands_in_the_lines_that_are_named(answer: Row) -> None:
    assert answer["path"] in notes()
    assert answer["evidence"] in passage(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_lines_of_an_answer_begin_and_end_with_text(answer: Row) -> None:
    lines = passage(answer).split("\n")
    assert lines[0].strip()
    assert lines[-1].strip()


def test_no_line_is_named_twice_as_an_answer_to_one_question() -> None:
    for row in QUESTIONS:
        for one, other in combinations([row, *row.get("also", [])], 2):
            apart = one["lines"][1] < other["lines"][0] or other["lines"][1] < one["lines"][0]
            assert one["path"] != other["path"] or apart, row["id"]


def test_sixty_questions_are_asked_in_four_languages_and_five_kinds() -> None:
    assert Counter(row["lang"] for row in QUESTIONS) == {"en": 24, "ko": 16, "zh": 10, "ja": 10}
    assert Counter(row["kind"] for row in QUESTIONS) == {
        "paraphrase": 24,
        "cross-language": 12,
        "identifier": 11,
        "lexical": 8,
        "temporal-detail": 5,
    }


def test_ten_questions_have_no_answer_and_half_of_them_are_near_the_domain() -> None:
    assert Counter(row["lang"] for row in UNANSWERABLE) == {"en": 4, "ko": 3, "zh": 2, "ja": 1}
    assert Counter(row["domain"] for row in UNANSWERABLE) == {"near": 5, "far": 5}


def test_ids_and_wordings_are_unique() -> None:
    everything = [*QUESTIONS, *UNANSWERABLE]
    assert len({row["id"] for row in everything}) == len(everything)
    assert len({row["question"] for row in everything}) == len(everything)


@pytest.mark.parametrize("row", [*QUESTIONS, *UNANSWERABLE], ids=lambda row: row["id"])
def test_a_question_is_in_the_language_it_claims(row: Row) -> None:
    assert language(row["question"]) == row["lang"]


@pytest.mark.parametrize("row", [row for row in QUESTIONS if row["kind"] == "identifier"], ids=lambda row: row["id"])
def test_an_identifier_is_written_in_the_answer_as_in_the_question(row: Row) -> None:
    names = [n for n in re.findall(r"[A-Za-z0-9_.-]+", row["question"]) if re.search(r"[0-9_.]", n)]
    assert names
    assert all(name in passage(row) for name in names)


@pytest.mark.parametrize(
    "row", [row for row in QUESTIONS if row["kind"] == "cross-language"], ids=lambda row: row["id"]
)
def test_a_cross_language_answer_is_written_in_another_language(row: Row) -> None:
    assert language(row["evidence"]) != row["lang"]


def test_the_workspace_is_a_year_of_notes_in_four_languages() -> None:
    paths = notes()
    daily = [path for path in paths if re.fullmatch(r"memory/\d{4}-\d\d-\d\d(-[a-z-]+)?\.md", path)]
    assert len(paths) >= 44
    assert (min(daily)[7:14], max(daily)[7:14]) == ("2025-03", "2026-02")
    assert {language((WORKSPACE / path).read_text(encoding="utf-8")) for path in paths} == {"en", "ko", "zh", "ja"}


def test_note_names_are_composed_unicode_so_that_they_are_the_same_on_every_system() -> None:
    assert [path for path in notes() if unicodedata.normalize("NFC", path) != path] == []


def test_only_the_draft_that_answers_wrongly_is_left_out() -> None:
    every = {path.relative_to(WORKSPACE).as_posix() for path in WORKSPACE.rglob("*.md")}
    draft = "memory/drafts/ledger-database-pitch.md"
    assert every - set(notes()) == {draft}
    assert "We settled on CockroachDB for the ledger" in (WORKSPACE / draft).read_text(encoding="utf-8")
