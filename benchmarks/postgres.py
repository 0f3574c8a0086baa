"""`python -m benchmarks.postgres`: the index on PostgreSQL beside the one of SQLite, with the same passages.

Both stores are filled in turns and searched by 1, 16 and 64 processes, so that both meet the same load of the machine.
Two replicas are made of the server of one size. `--json` keeps the figures; what the file has is not measured again.
The page `benchmarks/scale.md` is written by `python -m benchmarks.scale_page`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import _postgres_replicas as replicas
from benchmarks._command import Failed, environment
from benchmarks._machine import describe
from benchmarks._postgres_clients import FOLDER
from benchmarks._postgres_fill import KINDS, exact_cosines, fill
from benchmarks._postgres_page import MEASURED_SIZES
from benchmarks._postgres_servers import SETTINGS, LocalServer
from benchmarks._prepared_notes import questions
from benchmarks._search_process import DEPTH
from benchmarks._timing import quantile

CLIENTS = (1, 16, 64)
QUESTIONS = 50
REPLICATED = 100_000
"""The size whose server is copied; with smaller sizes only, the largest of them."""
PATIENCE_SECONDS = 120.0
"""How long questions are asked one by one of each store; what is left of them then is not asked."""
ROUND_SECONDS = 240.0
"""The most that one search of every client may need of all cores."""
MEMORY_SHARE = 0.6
"""The share of the machine's memory that the clients of one measurement may need."""


def main() -> int:
    """Return 0, or 1 if an answer of a replica differs from the primary's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=_numbers, default=MEASURED_SIZES, help="passages, such as 10000,100000")
    parser.add_argument("--clients", type=_numbers, default=CLIENTS, help="processes that search, such as 1,16")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each number of clients searches")
    parser.add_argument("--questions", type=int, default=QUESTIONS, help="how many different questions are asked")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="10,000 passages, 1 and 4 clients, one second each; the figures are only printed",
    )
    parser.add_argument("--json", type=Path, help="a file that keeps the figures")
    parser.add_argument("--date", default="", help="the date of the results")
    parser.add_argument("--notes", type=Path, help="a folder that keeps the prepared notes for the next run")
    parser.add_argument("--folder", type=Path, help="where the stores are made; without it, a temporary folder")
    given = parser.parse_args()
    if given.quick:
        given.sizes = (10_000,)
        given.clients = (1, 4)
        given.seconds = 1.0
        given.json = None
    figures: dict[str, Any] = _known(given.json)
    known = {each["size"] for each in figures.setdefault("sizes", [])}
    for size in given.sizes:
        if size in known:
            continue
        with tempfile.TemporaryDirectory(prefix="memoriter-postgres-", dir=given.folder) as scratch:
            measured = _measure(Path(scratch), size, given)
        figures["sizes"].append(measured)
        figures["date"] = given.date or figures.get("date", "")
        figures["machine"] = describe()
        figures["settings"] = dict(SETTINGS)
        if given.json:
            given.json.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if not given.json:
        print(json.dumps(figures, indent=1, sort_keys=True))
    differing = [each for each in figures["sizes"] if (copied := each.get("replicas")) and not _equal(copied)]
    return int(bool(differing))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


def _known(file: Path | None) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8")) if file is not None and file.exists() else {}


def _equal(copied: dict[str, Any]) -> bool:
    return set(copied["equal_before"] + copied["equal_after"]) == {copied["questions"]}


def _measure(scratch: Path, size: int, given: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one size."""
    scratch.chmod(0o755)
    (stores := scratch / "sqlite").mkdir()
    notes = given.notes or scratch / "notes"
    server = LocalServer.primary(scratch)
    try:
        figures: dict[str, Any] = {"size": size, **fill(notes, size, stores, server)}
        asked = questions(given.questions)
        import numpy as np

        vectors = np.array([vector for _, vector in asked])
        floors = exact_cosines(notes, size, vectors, DEPTH, ("", FOLDER))
        places = {"sqlite": str(stores), "postgres": server.dsn}
        hits = dict[str, Any]()
        for kind in KINDS:
            request = {"kind": kind, "place": places[kind], "name": str(size), "questions": given.questions}
            alone = _process({**request, "clients": 0, "floors": floors, "patience": PATIENCE_SECONDS})
            hits[kind] = alone["hits"]
            figures[kind] |= {part: alone[part] for part in ("recall", "filtered_recall", "engine")}
            figures[kind] |= {part: _summary(alone[part]) for part in ("vectors", "filtered", "words")}
        figures["same_hits"] = _same_hits(hits["sqlite"], hits["postgres"])
        for kind in KINDS:
            figures[kind]["clients"] = []
        for clients in given.clients:
            for kind in KINDS:
                request = {"kind": kind, "place": places[kind], "name": str(size), "questions": given.questions}
                first = figures[kind]["clients"][0] if figures[kind]["clients"] else None
                found = _searches({**request, "clients": clients, "seconds": given.seconds}, first, server)
                figures[kind]["clients"].append({"clients": clients, **found})
        if size == _replicated(given.sizes):
            figures["replicas"] = replicas.measure(
                notes, size, scratch, server, seconds=given.seconds, asked=given.questions
            )
        figures["load"] = os.getloadavg()[1]
    finally:
        server.stop()
    return figures


def _replicated(sizes: tuple[int, ...]) -> int:
    return max((each for each in sizes if each <= REPLICATED), default=min(sizes))


def _searches(request: dict[str, Any], first: dict[str, Any] | None, server: LocalServer) -> dict[str, Any]:
    """Return the figures of clients that search together; of too many for this machine, what they would need.

    Args:
        request: the store, the clients, the seconds.
        first: the figures of the smallest number of clients; None: these are they.
        server: the server.
    """
    machine = describe()
    if first is not None:
        needed_mb = first["peak_mb"] * request["clients"]
        needed_seconds = first["cpu_ms"] / 1000 * request["clients"] / machine["cores"]
        if needed_mb > MEMORY_SHARE * (machine["memory_gb"] or 0.0) * 1024 > 0:
            return {"needed_mb": needed_mb}
        if needed_seconds > ROUND_SECONDS:
            return {"needed_seconds": needed_seconds}
    before = server.cpu_seconds()
    found = _process(request)
    searches = len(found["ms"])
    served = 1000 * (server.cpu_seconds() - before) / searches if request["kind"] == "postgres" else 0.0
    return {
        **_summary(found["ms"]),
        "searches": searches,
        "per_second": found["per_second"],
        "cpu_ms": found["cpu_ms"] + served,
        "server_cpu_ms": served,
        "peak_mb": found["peak_mb"],
    }


def _summary(times: list[float]) -> dict[str, float]:
    return {"p50": quantile(times, 0.5), "p99": quantile(times, 0.99)}


def _same_hits(ours: list[list[Any]], theirs: list[list[Any]]) -> dict[str, Any]:
    """Compare the hits of both stores: questions with the same places in the same order, and the largest difference."""
    same = 0
    difference = 0.0
    for left, right in zip(ours, theirs, strict=True):
        same += [hit[:2] for hit in left] == [hit[:2] for hit in right]
        scores = {tuple(hit[:2]): hit[2] for hit in right}
        common = [abs(hit[2] - scores[tuple(hit[:2])]) for hit in left if tuple(hit[:2]) in scores]
        difference = max([difference, *common])
    return {"same": same, "questions": len(ours), "largest_score_difference": difference}


def _process(request: dict[str, Any]) -> dict[str, Any]:
    """Run `_postgres_clients`."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._postgres_clients"],
        input=json.dumps(request),
        env=environment(None),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise Failed(f"clients of {request['kind']} ended with {done.returncode}: {done.stderr[:3000]}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
