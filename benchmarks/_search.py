"""Searching in process, without the time to embed the question: the whole, each leg, and each engine."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from benchmarks._command import Failed, environment
from benchmarks._peer import Peer
from benchmarks._report import Row
from benchmarks._searching import ANYWHERE, CANDIDATES, DEPTH, Question
from benchmarks._shelf import Shelf
from benchmarks._timing import Times, paired
from memoriter.index import ENGINES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks._plan import Effort
    from benchmarks._stage import Stage

HYBRID_MS = ((10_000, 3.0), (100_000, 8.0), (1_000_000, 40.0))
RESIDENT_MB = ((100_000, 250.0), (1_000_000, 1_000.0))
RECALL = 0.99
AGAINST_STATEMENT = ((1_000, 3.0), (10_000, 10.0), (100_000, 50.0))
"""Measured 9-15, 43-46 and 103. The first two leave room for noise where all is over in a millisecond, and are far past
what a leg reaches that looks at every row in SQLite; the last is DESIGN's."""
LARGEST = {"exact": 200_000, "sqlite-vec": 200_000}
"""Chunks up to which an engine that reads every vector in full is measured: more would be gigabytes and seconds."""


def warm_search(folder: Path, size: int, effort: Effort) -> Iterator[Row]:
    """The engine that `auto` picks and both legs, then every engine by its name, each in a process of its own."""
    shelf = Shelf.make(folder / "shelf" / "main.sqlite", size, questions=effort.questions)
    chosen = _asked(shelf, "auto", effort, whole=True)
    limit = budget(HYBRID_MS, size)
    yield _row(size, "search.hybrid", "warm hybrid search", chosen["hybrid"], limit)
    yield _row(size, "search.words", "warm search by words only", chosen["words"])
    yield _row(size, "search.fts", "- of it the keyword index", chosen["fts"])
    yield _row(size, "search.vectors", f"- of it the vector leg ({chosen['engine']})", chosen["vectors"])
    title = f"recall@{DEPTH} of the vector leg"
    yield Row("search.recall", title, size, chosen["recall"], "", budget=RECALL, more=True)
    yield Row("search.kept", "hits as without a bound to the keyword leg", size, chosen["kept"], "")
    peak = budget(RESIDENT_MB, size)
    yield Row("search.resident", "resident memory of that process", size, chosen["peak_mb"], "MB", budget=peak)
    for name in ENGINES:
        if name == "auto" or size > LARGEST.get(name, size):
            continue
        figures = _asked(shelf, name, effort, whole=False)
        yield _row(size, f"engine.{name}", f"vector leg, engine {name}", figures["vectors"])
        yield Row(f"engine.{name}.resident", "- resident memory", size, figures["peak_mb"], "MB")


def _asked(shelf: Shelf, engine: str, effort: Effort, *, whole: bool) -> dict[str, Any]:
    told = {"index": str(shelf.path), "engine": engine, "whole": whole, "repeats": effort.repeats}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._searching"],
        input=json.dumps({**told, "questions": shelf.questions}),
        env=environment(None),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise Failed(f"searching with {engine!r} ended with {done.returncode}: {done.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(done.stdout)
    if engine not in ("auto", figures["engine"]):
        raise Failed(f"{engine!r} does not work here")
    return figures


def against_statement(stage: Stage, effort: Effort) -> Iterator[Row]:
    """The nearest passages with their text, from the same rows, by us and by OpenClaw's statement, in turns."""
    with stage.open_index() as index, Peer(stage.folder / "peer.sqlite") as peer:
        index.choose_engine("auto")
        ids = index.all_ids()
        rows = index.rows(ids)
        peer.fill(
            [rows[chunk] for chunk in ids],
            stage.provider.embed([rows[chunk].chunk.contextual for chunk in ids], role="document"),
        )

        def ours(question: Question) -> None:
            index.rows([chunk for chunk, _ in index.vector_search(question[1], limit=CANDIDATES, filters=ANYWHERE)])

        def theirs(question: Question) -> None:
            peer.nearest(question[1], CANDIDATES)

        mine, other, ratio = paired(ours, theirs, stage.questions[: effort.peer_questions])
        engine = index.engine
    yield _row(stage.size, "peer.ours", f"nearest passages, memoriter ({engine})", _seconds(mine))
    yield _row(stage.size, "peer.theirs", "nearest passages, OpenClaw's statement", _seconds(other))
    floor = budget(AGAINST_STATEMENT, stage.size)
    yield Row("peer.ratio", "- times as fast", stage.size, ratio, "x", budget=floor, more=True, ratio=True)


def budget(steps: tuple[tuple[int, float], ...], size: int) -> float | None:
    """The figure of the largest step that is not over `size`, or of the first."""
    return next((figure for upto, figure in reversed(steps) if size >= upto), steps[0][1])


def _seconds(times: Times) -> dict[str, Any]:
    return {"seconds": times.seconds}


def _row(size: int, name: str, title: str, times: dict[str, Any], limit: float | None = None) -> Row:
    taken = Times(tuple(times["seconds"]))
    return Row(name, title, size, taken.p50 * 1000, "ms", taken.p95 * 1000, budget=limit)
