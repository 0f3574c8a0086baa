"""Questions about a workspace: where the answer was found, how sure the answer was, what was missed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from memoriter import Memory
from memoriter.errors import UsageError
from memoriter.extensions.evals._question_report import QuestionResult
from memoriter.extensions.evals.api import QuestionsReport, ask
from memoriter.questions import AnswerLines, EvalQuestion, load_questions
from memoriter.types import Hit

if TYPE_CHECKING:
    from pathlib import Path


def hit(path: str, start: int, end: int, score: float) -> Hit:
    return Hit(path, start, end, score, "snippet", "memory")


def result_of(*hits: Hit, answers: tuple[AnswerLines, ...] = (AnswerLines("a.md", 5, 7),)) -> QuestionResult:
    return QuestionResult(EvalQuestion("q", "?", "en", "lexical", answers), hits, 0.35, "match")


@pytest.mark.parametrize(
    ("found", "note", "lines"),
    [
        (hit("a.md", 5, 7, 0.9), 1, 1),
        (hit("a.md", 7, 12, 0.9), 1, 1),
        (hit("a.md", 1, 5, 0.9), 1, 1),
        (hit("a.md", 1, 4, 0.9), 1, None),
        (hit("a.md", 8, 9, 0.9), 1, None),
        (hit("b.md", 5, 7, 0.9), None, None),
    ],
)
def test_a_hit_answers_by_note_or_by_overlapping_lines(found, note, lines):
    one = result_of(found)
    assert (one.note_place, one.lines_place) == (note, lines)


def test_the_first_place_of_any_answer_counts():
    one = result_of(
        hit("b.md", 1, 2, 0.9), hit("c.md", 3, 3, 0.8), answers=(AnswerLines("a.md", 1, 1), AnswerLines("c.md", 3, 4))
    )
    assert one.lines_place == 2


def test_what_is_under_the_floor_is_found_but_not_shown():
    one = result_of(hit("a.md", 5, 7, 0.2))
    assert (one.lines_place, one.shown, one.outcome, one.top_score) == (1, (), "none", 0.2)
    assert QuestionsReport((one,), ()).misses == (one,)


def test_questions_are_read_with_every_place_that_answers(tmp_path):
    file = tmp_path / "questions.json"
    rows = [
        {
            "id": "en-1",
            "lang": "en",
            "kind": "lexical",
            "question": "what?",
            "path": "a.md",
            "lines": [5, 7],
            "also": [{"path": "b.md", "lines": [1, 1]}],
        },
        {"id": "none-1", "lang": "en", "domain": "near", "question": "who?"},
    ]
    file.write_text(json.dumps(rows), "utf-8")
    assert load_questions(file) == (
        EvalQuestion("en-1", "what?", "en", "lexical", (AnswerLines("a.md", 5, 7), AnswerLines("b.md", 1, 1))),
        EvalQuestion("none-1", "who?", "en", "near"),
    )


@pytest.mark.parametrize("text", ["{}", "[3]", '[{"id": "q"}]', '[{"id": "q", "question": "?", "path": "a.md"}]'])
def test_a_file_of_another_shape_is_refused(tmp_path, text):
    file = tmp_path / "questions.json"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=r"questions\.json"):
        load_questions(file)


@pytest.fixture
def report(tmp_path: Path) -> QuestionsReport:
    notes = tmp_path / "notes" / "memory"
    notes.mkdir(parents=True)
    (notes / "ledger.md").write_text(
        "# Ledger\n\n- We chose PostgreSQL for the ledger.\n\n- Deploys on Tuesday.\n", "utf-8"
    )
    (notes / "garden.md").write_text("# Garden\n\n- The tomatoes need water twice a day.\n", "utf-8")
    config = tmp_path / "memoriter.json5"
    config.write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}', "utf-8")
    answerable = (
        EvalQuestion(
            "en-1",
            "Which database was chosen for the ledger?",
            "en",
            "lexical",
            (AnswerLines("memory/ledger.md", 3, 3),),
        ),
        EvalQuestion(
            "en-2", "How often do tomatoes need water?", "en", "paraphrase", (AnswerLines("memory/garden.md", 3, 3),)
        ),
        EvalQuestion("en-3", "Zebra crossing?", "en", "paraphrase", (AnswerLines("memory/nowhere.md", 1, 1),)),
    )
    unanswerable = (EvalQuestion("none-1", "Xylophone lessons?", "en", "far"),)
    with Memory.open(tmp_path / "notes", config=config, home=tmp_path / "home") as memory:
        return QuestionsReport(ask(memory, answerable), ask(memory, unanswerable))


def test_a_workspace_is_asked_through_its_own_memory(report):
    assert [one.lines_place for one in report.answerable] == [1, 1, None]
    assert [one.question.id for one in report.misses] == ["en-3"]


def test_the_report_counts_by_language_and_kind_and_lists_the_misses(report):
    text = "\n".join(report.lines())
    lines = [line.split("|") for line in text.splitlines()]
    rows = {cells[1].strip(): cells for cells in lines if len(cells) > 8}
    assert [rows[name][2].strip() for name in ("all", "en", "lexical", "paraphrase")] == ["3", "3", "1", "2"]
    assert "AUC of the top score" in text
    assert "en-3 (paraphrase" in text
    assert "en-1 (lexical" not in text


def test_the_report_as_values_is_json(report):
    values = json.loads(json.dumps(report.values()))
    assert [group["questions"] for group in values["groups"]] == ["all", "en", "lexical", "paraphrase"]
    assert sum(values["outcomes"]["answerable"].values()) == 3
    assert [question["id"] for question in values["questions"]] == ["en-1", "en-2", "en-3", "none-1"]
    assert values["questions"][0]["found"][0]["citation"].startswith("memory/ledger.md#L1")
