"""Searches in one process, without the time to embed the query: whole searches, each retriever, each engine."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from benchmarks._command import Failed, environment
from benchmarks._filled_index import FilledIndex
from benchmarks._openclaw import OpenClawTables
from benchmarks._report import Row
from benchmarks._search_process import ANYWHERE, CANDIDATES, DEPTH, Question
from benchmarks._timing import Times, paired
from memoriter.index import ENGINES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks._effort import Effort
    from benchmarks._workspace import BenchWorkspace

HYBRID_MS = ((10_000, 3.0), (100_000, 8.0), (1_000_000, 40.0))
RESIDENT_MB = ((100_000, 250.0), (1_000_000, 1_000.0))
RECALL = 0.99
AGAINST_STATEMENT = ((1_000, 3.0), (10_000, 10.0), (100_000, 50.0))
"""Measured 9-15, 43-46 and 103. The first two limits leave room for noise, because these searches take a millisecond;
a retriever that reads every row in SQLite is still far below them."""
LARGEST = {"exact": 200_000}
"""Largest number of chunks for engines that read every vector in full: more would take gigabytes and seconds."""


def warm_search(folder: Path, size: int, effort: Effort) -> Iterator[Row]:
    """Yield the rows of the engine that `auto` selects and both retrievers, then of every engine, each in a process."""
    filled = FilledIndex.make(folder / "search" / "main.sqlite", size, questions=effort.questions)
    chosen = _measure_engine(filled, "auto", effort, whole=True)
    limit = budget(HYBRID_MS, size)
    yield _row(size, "search.hybrid", "warm hybrid search", chosen["hybrid"], limit)
    yield _row(size, "search.words", "warm keyword-only search", chosen["words"])
    yield _row(size, "search.fts", "- keyword retriever", chosen["fts"])
    yield _row(size, "search.vectors", f"- vector retriever ({chosen['engine']})", chosen["vectors"])
    title = f"recall@{DEPTH} of the vector retriever"
    yield Row("search.recall", title, size, chosen["recall"], "", budget=RECALL, more=True)
    yield Row("search.kept", "hits equal to those of unbounded keyword search", size, chosen["kept"], "")
    peak = budget(RESIDENT_MB, size)
    yield Row("search.resident", "resident memory of this process", size, chosen["peak_mb"], "MB", budget=peak)
    for name in ENGINES:
        if name == "auto" or size > LARGEST.get(name, size):
            continue
        figures = _measure_engine(filled, name, effort, whole=False)
        yield _row(size, f"engine.{name}", f"vector retriever, engine {name}", figures["vectors"])
        yield Row(f"engine.{name}.resident", "- resident memory", size, figures["peak_mb"], "MB")


def _measure_engine(filled: FilledIndex, engine: str, effort: Effort, *, whole: bool) -> dict[str, Any]:
    request = {"index": str(filled.path), "engine": engine, "whole": whole, "repeats": effort.repeats}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._search_process"],
        input=json.dumps({**request, "questions": filled.questions}),
        env=environment(None),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise Failed(f"searching with {engine!r} ended with {done.returncode}: {done.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(done.stdout)
    if engine not in ("auto", figures["engine"]):
        raise Failed(f"the engine {engine!r} is not available")
    return figures


def against_statement(workspace: BenchWorkspace, effort: Effort) -> Iterator[Row]:
    """Yield the rows of memoriter's and OpenClaw's vector query, which alternate on the same rows."""
    with workspace.open_index() as index, OpenClawTables(workspace.folder / "peer.sqlite") as peer:
        index.choose_engine("auto")
        ids = index.all_ids()
        rows = index.rows(ids)
        peer.fill(
            [rows[chunk] for chunk in ids],
            workspace.provider.embed([rows[chunk].chunk.contextual for chunk in ids], role="document"),
        )

        def ours(question: Question) -> None:
            index.rows([chunk for chunk, _ in index.vector_search(question[1], limit=CANDIDATES, filters=ANYWHERE)])

        def theirs(question: Question) -> None:
            peer.nearest(question[1], CANDIDATES)

        mine, other, ratio = paired(ours, theirs, workspace.questions[: effort.peer_questions])
        engine = index.engine
    yield _row(workspace.size, "peer.ours", f"vector query, memoriter ({engine})", _seconds(mine))
    yield _row(workspace.size, "peer.theirs", "vector query, OpenClaw", _seconds(other))
    floor = budget(AGAINST_STATEMENT, workspace.size)
    yield Row("peer.ratio", "- speedup", workspace.size, ratio, "x", budget=floor, more=True, ratio=True)


def budget(steps: tuple[tuple[int, float], ...], size: int) -> float | None:
    """Return the figure of the largest step up to `size`, or of the first step."""
    return next((figure for upto, figure in reversed(steps) if size >= upto), steps[0][1])


def _seconds(times: Times) -> dict[str, Any]:
    return {"seconds": times.seconds}


def _row(size: int, name: str, title: str, times: dict[str, Any], limit: float | None = None) -> Row:
    taken = Times(tuple(times["seconds"]))
    return Row(name, title, size, taken.p50 * 1000, "ms", taken.p95 * 1000, budget=limit)
