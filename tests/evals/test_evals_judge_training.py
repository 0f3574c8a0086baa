"""The training set of the judge in research/judge holds near-misses, and nothing that the judge is measured on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PREPARE = Path(__file__).parents[2] / "research" / "judge" / "prepare.py"
HARBOUR = "The harbour of Lisbon opens at dawn. Ships pay 40 coins for a berth. Its lighthouse was built in 1865."
BRIDGE = "The bridge of Porto was finished in 1886. It carries trains and people. An engineer from Seville designed it."
SECRET = "The archive of Braga keeps nine letters of a queen who never ruled. They are sealed until 2040."


def question(text: str, answer: str, context: str, *, impossible: bool = False) -> dict:
    found = [{"text": answer, "answer_start": context.index(answer)}]
    answers = {"plausible_answers": found, "answers": []} if impossible else {"answers": found}
    return {"id": text, "question": text, "is_impossible": impossible, **answers}


def article(title: str, context: str, *questions: dict) -> dict:
    return {"title": title, "paragraphs": [{"context": context, "qas": list(questions)}]}


def prepared(tmp_path: Path, *articles: dict, exclude: str = "") -> list[dict]:
    sources, out, excluded = tmp_path / "sources", tmp_path / "train.jsonl", tmp_path / "evaluation.json"
    sources.mkdir()
    (sources / "squad.json").write_text(json.dumps({"data": list(articles)}), encoding="utf-8")
    excluded.write_text(json.dumps({"docs": [{"id": "d", "text": exclude}], "queries": []}), encoding="utf-8")
    paths = ["--sources", sources, "--exclude", excluded, "--out", out]
    subprocess.run([sys.executable, PREPARE, *paths], check=True, capture_output=True)
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def test_near_misses_are_of_the_same_paragraph_and_do_not_hold_the_answer(tmp_path):
    lines = prepared(
        tmp_path,
        article("Lisbon", HARBOUR, question("When does the harbour of Lisbon open?", "at dawn", HARBOUR)),
        article("Porto", BRIDGE, question("Who paid for the bridge of Porto?", "An engineer", BRIDGE, impossible=True)),
    )
    asked = {line["question"]: line["passages"] for line in lines}
    right, *others = asked["When does the harbour of Lisbon open?"]
    start, end = right["answer"]
    assert (right["label"], right["text"][start:end]) == (1, "at dawn")
    assert others
    assert all(each["label"] == 0 and "at dawn" not in each["text"] for each in others)
    assert any(each["text"] in HARBOUR for each in others)
    assert {each["label"] for each in asked["Who paid for the bridge of Porto?"]} == {0}


def test_a_paragraph_of_an_evaluation_set_and_a_held_out_article_are_not_trained_on(tmp_path):
    lines = prepared(
        tmp_path,
        article("Braga", SECRET, question("How many letters does the archive keep?", "nine", SECRET)),
        article("Normans", BRIDGE, question("When was the bridge finished?", "1886", BRIDGE)),
        article("Lisbon", HARBOUR, question("When does the harbour of Lisbon open?", "at dawn", HARBOUR)),
        exclude=f"Something else. {SECRET}",
    )
    assert {line["question"] for line in lines} == {"When does the harbour of Lisbon open?"}
    texts = " ".join(passage["text"] for line in lines for passage in line["passages"])
    assert "queen" not in texts
    assert "bridge" not in texts


def test_a_folder_without_a_set_is_an_error_that_names_the_files(tmp_path):
    paths = ["--sources", tmp_path, "--exclude", "--out", tmp_path / "train.jsonl"]
    (tmp_path / "evaluation.json").write_text('{"docs": []}', encoding="utf-8")
    paths[3:3] = [tmp_path / "evaluation.json"]
    found = subprocess.run([sys.executable, PREPARE, *paths], capture_output=True, text=True)
    assert found.returncode == 1
    assert "contains none of squad.json" in found.stderr
    assert "Traceback" not in found.stderr
