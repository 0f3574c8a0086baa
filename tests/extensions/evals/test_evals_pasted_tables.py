"""The tables of reports are copied into the page of results."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

from memoriter.extensions.evals.api import Table

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "paste_tables.py"


def table(title: str, value: float) -> str:
    return "\n".join(Table(title, ("system", "note@3"), (("memoriter", value),)).lines())


def test_a_table_replaces_the_one_with_its_title_and_other_numbers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{table('w1: 38 questions', 0.5)}\nText.\n\n{table('w2: 38 questions', 0.5)}\n", "utf-8")
    for name, tables in (
        ("one", [table("w1: 40 questions", 0.6), table("Twice", 0.1), table("Twice", 0.2)]),
        ("two", [table("w1: 40 questions", 0.75)]),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.md").write_text("\n".join(["# Answer quality", "", *tables]), "utf-8")
    command = [sys.executable, SCRIPT, page, tmp_path / "one", tmp_path / "two"]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    text = page.read_text("utf-8")
    assert text == f"# Page\n\n{table('w1: 40 questions', 0.75)}\nText.\n\n{table('w2: 38 questions', 0.5)}\n"
    assert done.stderr == "No report has this table, or one has it twice: w2: 38 questions\n"


def test_every_table_of_the_page_of_results_can_be_replaced_by_its_title():
    script = runpy.run_path(str(SCRIPT))
    titles = [
        match["title"] for match in script["TABLE"].finditer((ROOT / "benchmarks" / "results.md").read_text("utf-8"))
    ]
    keys = list(map(script["key_of"], titles))
    assert "w#: programs" not in keys
    assert len(set(keys)) == len(keys) > 10
