"""`memoriter eval`, as it is typed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

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
        "**one: 95 % intervals, differences to calibrated**",
        "**two: 4 questions, 4 documents**",
        "**two: 95 % intervals, differences to calibrated**",
        "**Summary of the sets of documents: calibrated**",
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
    config = tmp_path / "m.json5"
    questions = tmp_path / "questions.json"
    none = tmp_path / "none.json"
    config.write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}', "utf-8")
    row = {"id": "q", "question": "Which database for the ledger?", "path": "MEMORY.md", "lines": [1, 1]}
    questions.write_text(json.dumps([row]), "utf-8")
    none.write_text(json.dumps([{"id": "n", "question": "Xylophone?"}]), "utf-8")
    words = ("--questions", questions, "--unanswerable", none, "-w", tmp_path / "notes", "--config", config)
    report = json.loads(evaluate(*words, "--json").stdout)
    assert [(question["id"], question["linesPlace"]) for question in report["questions"]] == [("q", 1), ("n", None)]
    assert "**Outcomes**" in evaluate(*words).stdout


def notes_with(folder: Path, questions: str) -> tuple[object, ...]:
    """Write notes, their questions and settings, and return the arguments that select them."""
    (folder / "notes" / "memory").mkdir(parents=True)
    (folder / "notes" / "MEMORY.md").write_text("- We chose PostgreSQL for the ledger.\n", "utf-8")
    (folder / "notes" / "memory" / "house.md").write_text("# House\n\n## Roof\n\n- Oye repairs the tiles.\n", "utf-8")
    (folder / "notes" / "eval.md").write_text(questions, "utf-8")
    (folder / "m.json5").write_text('{agents: {defaults: {memorySearch: {provider: "fake"}}}}', "utf-8")
    return "-w", folder / "notes", "--config", folder / "m.json5"


OWN = """\
- Which database for the ledger? → MEMORY.md#L1

## people

- Who repairs the tiles of the roof? → memory/house.md#Roof
- What does the roof cost? → nothing

## foreign

- Xylophone lessons? → nothing
"""


def test_the_owners_questions_are_asked_without_any_argument(evaluate, tmp_path):
    where = notes_with(tmp_path, OWN)
    found = json.loads(evaluate(*where, "--json").stdout)
    assert [(each["id"], each["linesPlace"]) for each in found["questions"]] == [
        ("L1", 1),
        ("L5", 1),
        ("L6", None),
        ("L10", None),
    ]
    assert [row["questions"] for row in found["groups"]] == ["all", "latin", "any", "people"]
    assert found["figures"]["lines@3"] == {"value": 1.0, "low": 1.0, "high": 1.0, "n": 2}
    assert found["figures"]["near-misses called match"]["n"] == 1
    assert found["figures"]["foreign questions called match"]["value"] == 0


@pytest.mark.slow
def test_simple_searches_are_compared_in_the_same_run(evaluate, tmp_path):
    found = json.loads(evaluate("run", *notes_with(tmp_path, OWN), "--baselines", "--json").stdout)
    systems = {each["system"]: each for each in found["systems"]}
    assert list(systems) == ["memoriter", "grep", "BM25 AND", "BM25 OR", "vectors", "RRF", "classic"]
    assert systems["BM25 AND"]["figures"]["lines@3"]["n"] == 2
    assert systems["grep"]["figures"].get("recall of match") is None
    assert systems["memoriter"]["difference"]["nDCG@10"] == [0, 0, 0]
    # The measurement leaves the index and its settings as a search makes them.
    assert json.loads(evaluate(*notes_with(tmp_path / "again", OWN), "--json").stdout)["figures"] == found["figures"]


def test_questions_that_are_themselves_a_note_are_not_found(evaluate, tmp_path):
    where = notes_with(tmp_path, OWN)
    (tmp_path / "m.json5").write_text(
        '{memory: {layout: "notes"}, agents: {defaults: {memorySearch: {provider: "fake"}}}}', "utf-8"
    )
    done = evaluate(*where, "--json")
    found = json.loads(done.stdout)
    assert {hit["citation"].partition("#")[0] for each in found["questions"] for hit in each["found"]} == {
        "MEMORY.md",
        "memory/house.md",
    }
    assert ".memoryignore" in done.stderr


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ("- Which? → MEMORY.md#L9", "'eval.md', line 1: 'MEMORY.md' has 1 lines, not 9"),
        ("\n- Which? → gone.md", "'eval.md', line 2: 'gone.md' is not a note"),
        ("- Which?", "line 1: 'Which?' has no →"),
    ],
)
def test_a_wrong_line_of_the_owners_questions_is_named(evaluate, tmp_path, questions, message):
    done = evaluate(*notes_with(tmp_path, questions), "--json")
    assert done.exit_code == 2
    assert message in json.loads(done.stdout)["error"]["message"]


@pytest.mark.slow
def test_sets_of_notes_ask_each_other_and_are_counted_together(evaluate, tmp_path):
    for name, animal in (("farm", "goat"), ("ship", "parrot")):
        docs = [{"id": "memory/a.md", "text": f"# Animals\n\n- The {animal} sleeps at noon.\n"}]
        queries = [
            {"id": "q", "text": f"When does the {animal} sleep?", "places": [["memory/a.md", 3, 3]], "type": "time"},
            {"id": "u", "text": f"What does the {animal} weigh?", "unanswerable": True},
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps({"docs": docs, "queries": queries}), "utf-8")
    words = (tmp_path / "farm.json", tmp_path / "ship.json", "--provider", "fake")
    found = json.loads(evaluate(*words, "--json").stdout)
    assert [each["name"] for each in found["workspaces"]] == ["farm", "ship"]
    assert found["together"]["figures"]["lines@1"]["n"] == 2
    assert found["together"]["figures"]["near-misses called match"]["n"] == 2
    assert found["together"]["figures"]["foreign questions called match"]["n"] == 2
    assert "**all sets: 2 questions, 4 without an answer, 2 notes**" in evaluate(*words).stdout


@pytest.mark.slow
def test_sets_of_every_kind_in_one_folder_are_measured_in_one_run(evaluate, sets, tmp_path):
    (sets / "notes").mkdir()
    for name, animal in (("farm", "goat"), ("ship", "parrot")):
        docs = [{"id": "memory/a.md", "text": f"# Animals\n\n- The {animal} sleeps at noon.\n"}]
        kind = "cross-language" if name == "farm" else "paraphrase"
        place = ["memory/a.md", 3, 3]
        queries = [{"id": "q", "text": f"When does the {animal} sleep?", "places": [place], "type": kind}]
        (sets / "notes" / f"{name}.json").write_text(json.dumps({"docs": docs, "queries": queries}), "utf-8")
    notes_with(tmp_path, OWN)
    (sets / "mine.json").write_text(json.dumps({"workspace": str(tmp_path / "notes")}), "utf-8")
    (sets / "package.json").write_text("{}", "utf-8")
    words = (sets, "--provider", "fake", "--together", "farm,mine", "--report", tmp_path / "report")
    done = evaluate(*words)
    assert done.exit_code == 0, done.output
    assert "Left out, because they are no sets: " in done.stderr
    tables = done.stdout.partition("**Summary of the sets of documents: calibrated**")[2]
    documents, notes = tables.split("**Summary of the notes: memoriter**")
    assert [line.split()[1] for line in documents.splitlines() if line.startswith("| ")] == ["set", "one", "two"]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in notes.splitlines() if line.startswith("| ")]
    assert [(row[0], row[1]) for row in rows] == [
        ("notes", "n"),
        ("mine", "2"),
        ("farm", "1"),
        ("ship", "1"),
        ("farm, mine", "3"),
        ("all sets", "4"),
    ]
    share = rows[0].index("cross-language note@3")
    assert [row[share] for row in rows[1:]] == ["-", "1.000", "-", "1.000", "1.000"]
    figures = json.loads((tmp_path / "report" / "results.json").read_text("utf-8"))
    assert [each["name"] for each in figures["groups"]] == ["farm, mine"]
    assert figures["groups"][0]["figures"]["cross-language note@3"]["n"] == 1
    refused = evaluate(sets, "--provider", "fake", "--together", "one")
    assert refused.exit_code == 2
    assert "There is no set of notes 'one' to count with others." in refused.stderr
    assert "Choose from: mine, farm, ship." in refused.stderr


@pytest.mark.slow
def test_documents_are_searched_simply_too(evaluate, sets):
    found = json.loads(evaluate(sets, "--sets", "one", "--provider", "fake", "--baselines", "--json").stdout)
    systems = {each["system"]: each for each in found["sets"][0]["systems"]}
    assert {"grep", "BM25 AND", "BM25 OR", "vector alone", "RRF", "classic", "calibrated"} <= systems.keys()
    assert systems["grep"]["quality"]["mrr"] == 1
    assert systems["grep"]["ndcg_10_difference"]["n"] == len(TOWNS)


@pytest.mark.slow
def test_the_report_is_written_with_charts(evaluate, tmp_path):
    folder = tmp_path / "report" / "today"
    done = evaluate(*notes_with(tmp_path, OWN), "--baselines", "--report", folder)
    assert done.exit_code == 0, done.output
    text = (folder / "report.md").read_text("utf-8")
    assert done.stdout.strip() in text
    assert re.search(r"\nMeasured in \d+ s; memoriter itself used \d+ s of it\.\n$", text)
    pictures = re.findall(r"!\[.*\]\((.*)\)", text)
    assert {"notes-lines-at-3.svg", "notes-what-the-answers-claim.svg"} <= set(pictures)
    for picture in pictures:
        drawing = ET.parse(folder / picture).getroot()
        words = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
        assert "grep" in words or "precision of match" in words
    figures = json.loads((folder / "results.json").read_text("utf-8"))
    assert [each["system"] for each in figures["systems"]][:2] == ["memoriter", "grep"]


def test_a_report_that_cannot_be_written_is_a_failure_with_a_reason(evaluate, tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    done = evaluate(*notes_with(tmp_path, OWN), "--report", tmp_path / "file" / "below", "-q")
    assert done.exit_code == 1
    assert "The report cannot be written" in done.stderr


def test_it_asks_for_sets_or_questions(evaluate, sets, tmp_path):
    (tmp_path / "empty").mkdir()
    done = evaluate("-w", tmp_path / "empty", "--json")
    assert done.exit_code == 2
    assert "There is no eval.md" in json.loads(done.stdout)["error"]["message"]
    assert evaluate(sets, "--questions", next(sets.iterdir())).exit_code == 2
    assert evaluate(tmp_path / "nowhere").exit_code == 2


def test_a_set_that_is_not_there_is_refused(evaluate, sets):
    done = evaluate(sets, "--sets", "three", "--json")
    assert done.exit_code == 2
    assert "three" in json.loads(done.stdout)["error"]["message"]
