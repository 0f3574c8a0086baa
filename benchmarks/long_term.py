"""`python -m benchmarks.long_term`: long-term memories one by one, and by the hundred thousand.

Without options, memories are stored by calls of their own, as agents do: fragments, versions, size and memory of the
process must not grow with the number of calls. With `--sizes` or `--bucket-sizes`, tables of these sizes are filled and
measured on the disk and on a local S3 server, and `benchmarks/scale.md` is printed. `--json` keeps the figures;
what the file has is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import _long_term_scale as scale
from benchmarks._long_term_page import MOST_GROWTH, grown_by, page
from benchmarks._machine import describe
from benchmarks._s3_server import BUCKET, s3_server
from memoriter.extensions.longterm.api import LanceStore

FRAGMENTS = 100
VERSIONS = 2_500
"""The most fragments and versions at any time."""
MARKS = (1_000, 5_000, 10_000)


def main() -> int:
    """Return 0, or 1 if a bound does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upserts", type=int, default=10_000)
    parser.add_argument("--sizes", type=_sizes, default=[], help="memories on the disk, such as 10000,100000")
    parser.add_argument("--bucket-sizes", type=_sizes, default=[], help="memories on a local S3 server")
    parser.add_argument("--json", type=Path, help="a file that keeps the figures")
    parser.add_argument("--date", default="", help="the date of the results")
    parser.add_argument("--folder", type=Path, help="where the tables are written; without it, a temporary folder")
    parser.add_argument("--upserts-here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.upserts_here:
        print(json.dumps(_upserts(given.upserts, given.folder)))
        return 0
    figures = _known(given.json)
    with tempfile.TemporaryDirectory(prefix="memoriter-long-term-", dir=given.folder) as folder, ExitStack() as opened:
        if figures.get("upserts", [{}])[-1].get("count") != given.upserts:
            figures["upserts"] = _upserts_in_process(given.upserts, folder)
            _keep(given.json, figures, given.date)
        scales = figures.setdefault("scales", [])
        endpoint = opened.enter_context(s3_server(Path(folder))) if given.bucket_sizes else ""
        wanted = [*(("disk", each) for each in given.sizes), *(("S3", each) for each in given.bucket_sizes)]
        for place, size in wanted:
            if any((each["place"], each["size"]) == (place, size) for each in scales):
                continue
            where = f"{folder}/{size}" if place == "disk" else f"s3://{BUCKET}/{size}"
            found = scale.measure(where, size, Path(folder), endpoint if place == "S3" else "")
            scales.append({"place": place, "load": os.getloadavg()[1], **asdict(found)})
            _keep(given.json, figures, given.date)
    print(page(figures))
    last = figures["upserts"][-1]
    return int(last["fragments"] > FRAGMENTS or last["versions"] > VERSIONS or grown_by(figures) > MOST_GROWTH)


def _sizes(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def _known(file: Path | None) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8")) if file and file.exists() else {}


def _keep(file: Path | None, figures: dict[str, Any], date: str) -> None:
    figures["date"] = date or figures.get("date", "")
    figures["machine"] = describe()
    if file:
        file.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _upserts_in_process(count: int, folder: str) -> list[dict[str, Any]]:
    """Store memories in a process of its own, whose memory nothing else uses."""
    command = [sys.executable, "-m", "benchmarks.long_term", "--upserts-here", "--upserts", str(count)]
    done = subprocess.run([*command, "--folder", folder], stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _upserts(count: int, folder: Path) -> list[dict[str, Any]]:
    """Store memories one by one, and return figures at a few of them."""
    store = LanceStore(str(folder / "lancedb"), model="benchmark", dimensions=scale.DIMENSIONS)
    vectors = scale.vectors(count, 4)
    marks = list[dict[str, Any]]()
    fragments = versions = size = 0
    held = 0.0
    began = time.process_time()
    for number in range(1, count + 1):
        store.store([scale.memory(number)], [vectors[number - 1]])
        if number % 50 == 0 or number == count:
            state = store.state()
            fragments = max(fragments, state.fragments)
            versions = max(versions, state.versions)
            size = max(size, state.bytes or 0)
            held = max(held, scale.resident())
        if number == count or number in MARKS:
            marks.append(
                {
                    "count": number,
                    "fragments": fragments,
                    "versions": versions,
                    "disk": size / 1e6,
                    "resident": held,
                    "peak": scale.peak(),
                    "cpu": 1000 * (time.process_time() - began) / number,
                }
            )
    if store.state().memories != count:
        raise SystemExit(f"{count} memories were stored, and the table has {store.state().memories}.")
    return marks


if __name__ == "__main__":
    sys.exit(main())
