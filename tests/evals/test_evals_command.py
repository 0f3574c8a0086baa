"""`memoriter eval`, as it is typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from memoriter.cli import main

if TYPE_CHECKING:
    from pathlib import Path

TOWNS = ("Lisbon", "Oslo", "Kyoto", "Quito")


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORITER_HOME", str(tmp_path / "home"))
    return lambda *words: CliRunner().invoke(main, ["eval", *map(str, words)])


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    folder = tmp_path / "sets"
    folder.mkdir()
    docs = [{"id": f"p{n}", "text": f"The harbour of {town} opens at dawn."} for n, town in enumerate(TOWNS)]
    queries = [
        {"id": f"q{n}", "text": f"When does {town} open?", "type": "simple", "relevant": [f"p{n}"]}
        for n, town in enumerate(TOWNS)
    ]
    for name in ("one", "two"):
        (folder / f"{name}.json").write_text(json.dumps({"name": name, "docs": docs, "queries": queries}), "utf-8")
    return folder


@pytest.mark.slow
def test_every_set_of_a_folder_gives_a_table(evaluate, sets):
    done = evaluate(sets, "--provider", "fake")
    assert done.exit_code == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("**")] == [
        "**one: 4 questions, 4 documents**",
        "**two: 4 questions, 4 documents**",
    ]


def test_json_has_the_same_figures_and_nothing_else(evaluate, sets):
    done = evaluate(sets, "--provider", "fake", "--sets", "two", "--limit-paragraphs", "2", "--json")
    (one,) = json.loads(done.stdout)["sets"]
    assert (one["name"], one["documents"]) == ("two", 2)
    assert [system["quality"]["questions"] for system in one["systems"]] == [2, 2, 2, 2]


@pytest.mark.slow
def test_types_of_questions_are_told_apart_on_demand(evaluate, sets):
    done = evaluate(sets, "--provider", "fake", "--sets", "one", "--by-type")
    assert "**one by type**" in done.stdout


@pytest.mark.slow
def test_vectors_are_kept_where_it_is_told_to(evaluate, sets, tmp_path):
    evaluate(sets, "--provider", "fake", "--cache", tmp_path / "kept")
    assert [file.suffix for file in (tmp_path / "kept").iterdir()] == [".npz"]


@pytest.mark.slow
def test_the_sets_themselves_are_left_as_they_are(evaluate, sets):
    before = {file: file.read_bytes() for file in sets.iterdir()}
    evaluate(sets, "--provider", "fake")
    assert {file: file.read_bytes() for file in sets.iterdir()} == before


def test_a_workspace_is_asked_its_questions(evaluate, tmp_path):
    (tmp_path / "notes" / "memory").mkdir(parents=True)
    (tmp_path / "notes" / "MEMORY.md").write_text("- We chose PostgreSQL for the ledger.\n", "utf-8")
    config, questions, none = tmp_path / "m.json5", tmp_path / "questions.json", tmp_path / "none.json"
    config.write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}', "utf-8")
    row = {"id": "q", "question": "Which database for the ledger?", "path": "MEMORY.md", "lines": [1, 1]}
    questions.write_text(json.dumps([row]), "utf-8")
    none.write_text(json.dumps([{"id": "n", "question": "Xylophone?"}]), "utf-8")
    words = ("--questions", questions, "--unanswerable", none, "-w", tmp_path / "notes", "--config", config)
    report = json.loads(evaluate(*words, "--json").stdout)
    assert [(question["id"], question["linesPlace"]) for question in report["questions"]] == [("q", 1), ("n", None)]
    assert "**Outcomes**" in evaluate(*words).stdout


def test_it_asks_for_a_folder_or_questions(evaluate, sets, tmp_path):
    assert evaluate().exit_code == 2
    assert evaluate(sets, "--questions", next(sets.iterdir())).exit_code == 2
    assert evaluate(tmp_path / "nowhere").exit_code == 2


def test_a_set_that_is_not_there_is_refused(evaluate, sets):
    done = evaluate(sets, "--sets", "three", "--json")
    assert done.exit_code == 2
    assert "three" in json.loads(done.stdout)["error"]["message"]
