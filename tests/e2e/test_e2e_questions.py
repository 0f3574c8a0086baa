"""Sixty questions to a year of notes in four languages, and ten that the notes do not answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from indexed_examples import indexed_examples
from memoriter import Memory

if TYPE_CHECKING:
    from memoriter.types import SearchResult

    Row = dict[str, Any]
    Answers = dict[str, SearchResult]

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "workspace"
DRAFT = "memory/drafts/ledger-database-pitch.md"


def rows(name: str) -> list[Row]:
    return cast("list[Row]", json.loads((HERE / name).read_text(encoding="utf-8")))


QUESTIONS = rows("questions.json")
UNANSWERABLE = rows("unanswerable.json")
EVERY = [*QUESTIONS, *UNANSWERABLE]
IDENTIFIERS = [row for row in QUESTIONS if row["kind"] == "identifier"]
TIE = 0.005
"""Scores of one question that differ by less are a tie: processors round vectors differently, and thus the same hit has
scores that differ by up to 0.004 between the two engines of the model, and from one processor to another."""


def opened(provider: str, workspace: Path, home: Path) -> Memory:
    config = home / "config.json5"
    config.write_text(f'{{agents: {{defaults: {{memorySearch: {{provider: "{provider}"}}}}}}}}', encoding="utf-8")
    return Memory.open(workspace, config=config, home=home)


def answers_of(memory: Memory) -> Answers:
    return {row["id"]: memory.search(row["question"]) for row in EVERY}


@pytest.fixture(scope="module")
def by_meaning(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """Every question's answer with the bundled model and no other setting."""
    examples = indexed_examples(tmp_path_factory)
    home = examples.home(tmp_path_factory.mktemp("auto") / "home")
    with opened("auto", examples.workspace, home) as memory:
        memory.sync()
        return answers_of(memory)


@pytest.fixture(scope="module")
def by_words(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    workspace = Path(shutil.copytree(EXAMPLES, tmp_path_factory.mktemp("examples") / "workspace"))
    with opened("none", workspace, tmp_path_factory.mktemp("none")) as memory:
        return answers_of(memory)


def right_notes(row: Row) -> set[str]:
    return {row["path"], *(other["path"] for other in row.get("also", []))}


def misses(questions: list[Row], answers: Answers, tie: float = 0.0) -> list[str]:
    """What was asked in vain: the right note is not among the first three hits.

    Args:
        questions: what is asked.
        answers: the answer to each question by its id.
        tie: how much lower than that of the third hit the score of one among them may be.
    """
    lost: list[str] = []
    for row in questions:
        hits = answers[row["id"]].results
        third = hits[2].score if len(hits) > 2 else 0.0
        first = [hit.path for place, hit in enumerate(hits) if place < 3 or hit.score > third - tie]
        if not right_notes(row) & set(first):
            lost.append(f"{row['id']} ({row['kind']}) {row['question']!r}: {row['path']} is not in {first}")
    return lost


def test_the_right_note_is_among_the_first_three_or_ties_with_them_for_54_of_60_questions(by_meaning: Answers) -> None:
    lost = misses(QUESTIONS, by_meaning, TIE)
    assert len(QUESTIONS) - len(lost) >= 54, "\n".join(lost)
    lost = misses(QUESTIONS, by_meaning)
    assert len(QUESTIONS) - len(lost) >= 53, "\n".join(lost)


def test_nine_of_ten_questions_without_an_answer_are_not_answered_as_if_they_had_one(by_meaning: Answers) -> None:
    sure = [
        f"{row['id']} {row['question']!r}: {answer.results[0].citation} {answer.results[0].score:.2f}"
        for row in UNANSWERABLE
        if (answer := by_meaning[row["id"]]).outcome == "match"
    ]
    assert len(sure) <= 1, "\n".join(sure)


def test_every_identifier_is_found(by_meaning: Answers) -> None:
    assert misses(IDENTIFIERS, by_meaning) == []


def test_words_alone_find_36_of_60_and_say_that_they_are_alone(by_words: Answers) -> None:
    lost = misses(QUESTIONS, by_words)
    assert len(QUESTIONS) - len(lost) >= 36, "\n".join(lost)
    assert {answer.mode for answer in by_words.values()} == {"keyword"}


def test_every_identifier_is_found_by_words_alone(by_words: Answers) -> None:
    assert misses(IDENTIFIERS, by_words) == []


@pytest.mark.parametrize("answers", ["by_meaning", "by_words"])
def test_the_draft_that_is_left_out_never_appears(answers: str, request: pytest.FixtureRequest) -> None:
    found = {hit.path for answer in request.getfixturevalue(answers).values() for hit in answer.results}
    assert len(found) > 20
    assert DRAFT not in found


@pytest.mark.parametrize("answers", ["by_meaning", "by_words"])
def test_every_hit_shows_text_that_stands_where_it_is_cited(answers: str, request: pytest.FixtureRequest) -> None:
    for answer in request.getfixturevalue(answers).values():
        for hit in answer.results:
            lines = (EXAMPLES / hit.path).read_text(encoding="utf-8").split("\n")[hit.start_line - 1 : hit.end_line]
            assert hit.snippet
            assert "\n".join(lines).startswith(hit.snippet.rstrip("\n"))


def test_a_complete_index_answers_in_good_health_by_words_and_meaning(by_meaning: Answers) -> None:
    assert {answer.mode for answer in by_meaning.values()} == {"hybrid"}
    assert {answer.health.ok for answer in by_meaning.values()} == {True}
